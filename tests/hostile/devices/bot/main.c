/* Makes and opens devices: memory, disks, terminals, the hypervisor. A watchdog is left alone: opening one is enough to
 * restart a machine that this bot should ever reach.
 */
#include "probe.h"
#include <dirent.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

static int made(mode_t kind, unsigned major, unsigned minor) {
    if (mknod("/tmp/device", kind | 0666, makedev(major, minor)) != 0) return 0;
    unlink("/tmp/device");
    return 1;
}

static int readable_or_writable(const char *path) { return opens(path, O_RDONLY) || opens(path, O_WRONLY); }

/* Anything in /dev but what every program may use. */
static int unusual_device(void) {
    static const char *const usual[] = {"full", "null", "random", "tty", "urandom", "zero"};
    int unusual = 0;
    DIR *devices = opendir("/dev");
    for (struct dirent *entry; devices && (entry = readdir(devices)) != NULL;) {
        if (entry->d_type != DT_CHR && entry->d_type != DT_BLK) continue;
        int known = 0;
        for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) known |= strcmp(entry->d_name, usual[i]) == 0;
        unusual += !known;
    }
    if (devices) closedir(devices);
    errno = 0;
    return unusual;
}

/* Puts a character into a terminal's input, as if somebody had typed it. */
static int types_into(int fd) {
    char character = ' ';
    return ioctl(fd, TIOCSTI, &character) == 0;
}

static int types_into_terminal_of_others(void) {
    int fd = open("/dev/pts/0", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return 0;
    int typed = types_into(fd), why = errno;
    close(fd);
    errno = why;
    return typed;
}

/* Whoever had a terminal here before. */
static int others_have_terminals(void) {
    int others = 0;
    DIR *terminals = opendir("/dev/pts");
    for (struct dirent *entry; terminals && (entry = readdir(terminals)) != NULL;)
        others += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    if (terminals) closedir(terminals);
    errno = 0;
    return others;
}

static int random_numbers_are_emptied(void) {
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int answer = ioctl(fd, RNDRESEEDCRNG);
    int why = errno;
    close(fd);
    errno = why;
    return answer == 0;
}

static void probe(void) {
    TRY("the memory, made", made(S_IFCHR, 1, 1));
    TRY("the ports, made", made(S_IFCHR, 1, 4));
    TRY("the kernel's log, made", made(S_IFCHR, 1, 11));
    TRY("a disk, made", made(S_IFBLK, 8, 0));
    TRY("a virtual disk, made", made(S_IFBLK, 254, 0));
    TRY("a loop device, made", made(S_IFBLK, 7, 0));
    TRY("the hypervisor, made", made(S_IFCHR, 10, 232));
    TRY("even the null device, made", made(S_IFCHR, 1, 3));
    TRY("a device that nobody knows", unusual_device());
    TRY("the memory", readable_or_writable("/dev/mem") || readable_or_writable("/dev/kmem"));
    TRY("the ports", readable_or_writable("/dev/port"));
    TRY("the kernel's log", readable_or_writable("/dev/kmsg"));
    TRY("the hypervisor", readable_or_writable("/dev/kvm"));
    TRY("a disk", readable_or_writable("/dev/sda") || readable_or_writable("/dev/vda") ||
                      readable_or_writable("/dev/nvme0n1"));
    TRY("loop devices", readable_or_writable("/dev/loop-control") || readable_or_writable("/dev/loop0"));
    TRY("mapped disks", readable_or_writable("/dev/mapper/control"));
    TRY("a network of its own", readable_or_writable("/dev/net/tun"));
    TRY("the hypervisor's sockets", readable_or_writable("/dev/vsock") || readable_or_writable("/dev/vhost-vsock") ||
                                        readable_or_writable("/dev/vhost-net"));
    TRY("page faults", readable_or_writable("/dev/userfaultfd"));
    TRY("the machine's sleep states", readable_or_writable("/dev/cpu_dma_latency"));
    TRY("the processors' registers", readable_or_writable("/dev/cpu/0/msr"));
    TRY("the clock", readable_or_writable("/dev/rtc0") || readable_or_writable("/dev/hpet"));
    TRY("the screen", readable_or_writable("/dev/fb0") || readable_or_writable("/dev/dri/card0"));
    TRY("the keyboard", readable_or_writable("/dev/input/event0") || readable_or_writable("/dev/uinput"));
    TRY("a serial line", readable_or_writable("/dev/ttyS0"));
    TRY("the console", readable_or_writable("/dev/console") || readable_or_writable("/dev/tty0"));
    TRY("a terminal that it has", readable_or_writable("/dev/tty"));
    TRY("terminals of others", others_have_terminals());
    TRY("typing into a terminal of others", types_into_terminal_of_others());
    TRY("a terminal of its own", opens("/dev/ptmx", O_RDWR) || opens("/dev/pts/ptmx", O_RDWR));
    TRY("random numbers", random_numbers_are_emptied());
}

PLAY(probe)
