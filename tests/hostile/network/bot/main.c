/* Looks for a network: every family of sockets, this machine, its neighbours, names, and what clouds tell their guests. */
#include "probe.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int has_socket(int family, int kind, int protocol) {
    int fd = socket(family, kind | SOCK_CLOEXEC, protocol);
    if (fd < 0) return 0;
    close(fd);
    return 1;
}

/* Any answer but the refusal of the socket itself means that there is a network to ask. */
static int asks(const char *address, uint16_t port, int kind) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int fd = socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return 0;
    connect(fd, (struct sockaddr *)&to, sizeof to);
    close(fd);
    return 1;
}

static int asks_its_hypervisor(void) {
    struct sockaddr_vm to = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = 1};
    int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return 0;
    connect(fd, (struct sockaddr *)&to, sizeof to);
    close(fd);
    return 1;
}

/* All families but local ones; the kinds and protocols under which each is known to exist somewhere. */
static int any_family(void) {
    static const int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET};
    for (int family = 0; family < 64; family++)
        for (size_t i = 0; family != AF_UNIX && i < sizeof kinds / sizeof *kinds; i++)
            for (int protocol = 0; protocol < 8; protocol++)
                if (has_socket(family, kinds[i], protocol)) return 1;
    return 0;
}

static int any_pair(void) {
    int ends[2];
    for (int family = 2; family < 64; family++)
        for (int kind = 1; kind < 6; kind++)
            if (socketpair(family, kind, 0, ends) == 0 || errno == EOPNOTSUPP) return 1;
    return 0;
}

static int knows_a_name(const char *name) {
    struct addrinfo *found = NULL;
    int answer = getaddrinfo(name, "80", NULL, &found);
    if (answer == 0) freeaddrinfo(found);
    errno = 0;
    return answer == 0;
}

static int other_interfaces(void) {
    int others = 0;
    DIR *interfaces = opendir("/sys/class/net");
    for (struct dirent *entry; interfaces && (entry = readdir(interfaces)) != NULL;)
        others += entry->d_name[0] != '.' && strcmp(entry->d_name, "lo") != 0;
    if (interfaces) closedir(interfaces);
    errno = 0;
    return others;
}

static int routes(void) {
    char line[256];
    int found = -1; /* the first line is a heading */
    FILE *table = fopen("/proc/net/route", "re");
    while (table && fgets(line, sizeof line, table)) found++;
    if (table) fclose(table);
    errno = 0;
    return found > 0;
}

static int interfaces_by_call(void) {
    struct ifaddrs *all = NULL;
    int answer = getifaddrs(&all);
    if (answer == 0) freeifaddrs(all);
    return answer == 0;
}

static int settings_by_local_socket(void) {
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return 0;
    request.ifr_flags = IFF_UP;
    int answer = ioctl(fd, SIOCSIFFLAGS, &request);
    int why = errno;
    close(fd);
    errno = why;
    return answer == 0;
}

static void probe(void) {
    TRY("TCP", has_socket(AF_INET, SOCK_STREAM, 0));
    TRY("UDP", has_socket(AF_INET, SOCK_DGRAM, 0));
    TRY("ICMP", has_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) || has_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    TRY("raw packets", has_socket(AF_INET, SOCK_RAW, IPPROTO_RAW));
    TRY("IPv6", has_socket(AF_INET6, SOCK_STREAM, 0) || has_socket(AF_INET6, SOCK_DGRAM, 0));
    TRY("raw IPv6", has_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
    TRY("frames", has_socket(AF_PACKET, SOCK_RAW, 0) || has_socket(AF_PACKET, SOCK_DGRAM, 0));
    TRY("netlink", has_socket(AF_NETLINK, SOCK_RAW, 0) || has_socket(AF_NETLINK, SOCK_DGRAM, 15));
    TRY("the hypervisor", asks_its_hypervisor());
    TRY("the kernel's ciphers", has_socket(AF_ALG, SOCK_SEQPACKET, 0));
    TRY("fast packets", has_socket(AF_XDP, SOCK_RAW, 0));
    TRY("Bluetooth", has_socket(AF_BLUETOOTH, SOCK_RAW, 1));
    TRY("a vehicle's bus", has_socket(AF_CAN, SOCK_RAW, 1));
    TRY("a cluster", has_socket(AF_TIPC, SOCK_RDM, 0) || has_socket(AF_RDS, SOCK_SEQPACKET, 0));
    TRY("old families", has_socket(AF_X25, SOCK_SEQPACKET, 0) || has_socket(AF_APPLETALK, SOCK_DGRAM, 0) ||
                            has_socket(AF_IPX, SOCK_DGRAM, 0));
    TRY("any family at all", any_family());
    TRY("a pair of any family", any_pair());
    TRY("the judge's API", asks("127.0.0.1", 8000, SOCK_STREAM) || asks("127.0.0.1", 80, SOCK_STREAM));
    TRY("the judge's queue", asks("127.0.0.1", 6379, SOCK_STREAM));
    TRY("the judge's database", asks("127.0.0.1", 5432, SOCK_STREAM));
    TRY("the engine over TCP", asks("127.0.0.1", 2375, SOCK_STREAM));
    TRY("what a cloud tells its guests", asks("169.254.169.254", 80, SOCK_STREAM));
    TRY("the engine's bridge", asks("172.17.0.1", 22, SOCK_STREAM));
    TRY("a resolver", asks("127.0.0.53", 53, SOCK_DGRAM) || asks("1.1.1.1", 53, SOCK_DGRAM));
    TRY("names of hosts", knows_a_name("example.org"));
    TRY("this host by its name", knows_a_name("localhost"));
    TRY("interfaces", other_interfaces());
    TRY("interfaces, asked for", interfaces_by_call());
    TRY("routes", routes());
    TRY("an interface's settings", settings_by_local_socket());
}

PLAY(probe)
