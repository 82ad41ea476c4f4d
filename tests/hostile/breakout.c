/* Runs where the launcher of rooms runs (sandbox/images/init.c), with its rights and then with those of its maker and of a
 * room's root, and tries what would reach the host. Each try that succeeds is a line "BREACH: WHO: WHAT"; the last line is
 * "tried: N". Nothing is changed: what could be written is opened only. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char told[64 * 1024];
static int tried, line;

static void tell(const char *who, const char *what, int reached) {
    tried++;
    if (reached) snprintf(told + strlen(told), sizeof told - strlen(told), "BREACH: %s: %s\n", who, what);
}

static int writable(const char *path) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static int device(const char *where, mode_t kind, dev_t number) {
    unlink(where);
    int reached = mknod(where, kind | 0600, number) == 0 && open(where, O_RDONLY | O_CLOEXEC) >= 0;
    unlink(where);
    return reached;
}

static void try_all(const char *who) {
    static const char *const files[] = {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
        "/proc/sys/vm/drop_caches", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/release_agent",
        "/sys/fs/cgroup/devices/release_agent", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs",
        "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/judge", "/play/complete", "/complete"};
    static const char *const kinds[] = {"proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "bpf", "devtmpfs",
        "efivarfs", "configfs", "nfsd"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) tell(who, files[i], writable(files[i]));
    mkdir("/tmp/mounted", 0700);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int mounted = mount(kinds[i], "/tmp/mounted", kinds[i], 0, strcmp(kinds[i], "cgroup") ? NULL : "memory") == 0;
        tell(who, kinds[i], mounted);
        if (mounted) umount2("/tmp/mounted", MNT_DETACH);
    }
    tell(who, "a file made in the host's folder", close(open("/judge/made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0);
    tell(who, "the host's folder, writable", mount(NULL, "/judge", NULL, MS_REMOUNT | MS_BIND, NULL) == 0);
    tell(who, "the tree, writable", mount(NULL, "/play", NULL, MS_REMOUNT | MS_BIND, NULL) == 0);
    tell(who, "proc, writable", mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL) == 0);
    tell(who, "what proc hides", umount2("/proc/kcore", MNT_DETACH) == 0 || umount2("/proc/sys", MNT_DETACH) == 0);
    tell(who, "the first disk", device("/tmp/disk", S_IFBLK, makedev(254, 0)) || device("/tmp/disk", S_IFBLK, makedev(8, 0)));
    tell(who, "memory", device("/tmp/mem", S_IFCHR, makedev(1, 1)));
    tell(who, "a network socket", socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    tell(who, "a raw socket", socket(AF_PACKET, SOCK_RAW, 0) >= 0 || socket(AF_VSOCK, SOCK_STREAM, 0) >= 0);
    tell(who, "a module", syscall(SYS_init_module, told, 0UL, "") == 0 || errno == ENOEXEC);
    tell(who, "bpf", syscall(SYS_bpf, 0, NULL, 0) >= 0 || (errno != EPERM && errno != ENOSYS));
    tell(who, "the kernel's log", syscall(SYS_syslog, 10, NULL, 0) >= 0);
    tell(who, "keys", syscall(SYS_keyctl, 0, -3, 0) >= 0);
    tell(who, "a handle", syscall(SYS_open_by_handle_at, AT_FDCWD, "", 0) >= 0 || (errno != EPERM && errno != ENOSYS));
    tell(who, "ptrace", ptrace(PTRACE_ATTACH, 1, NULL, NULL) == 0);
    tell(who, "unshare", unshare(CLONE_NEWUTS) == 0);
    tell(who, "a name", sethostname("host", 4) == 0);
    tell(who, "the clock", syscall(SYS_settimeofday, NULL, NULL) == 0);
}

static void map(pid_t of, const char *text) {
    char path[64];
    const char *files[] = {"uid_map", "gid_map"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)of, files[i]);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, text, strlen(text)) < 0) snprintf(told + strlen(told), 200, "FAILED: %s\n", path);
        close(fd);
    }
}

/* Runs `act` in namespaces of its own, as their root with every right there is in them, and adds what it tells. */
static void as_root_of(uint64_t spaces, const char *users, void (*act)(void)) {
    int go[2], back[2];
    char byte;
    if (pipe(go) != 0 || pipe(back) != 0) exit(1);
    struct clone_args asked = {.flags = spaces | CLONE_NEWUSER, .exit_signal = SIGCHLD};
    pid_t child = (pid_t)syscall(SYS_clone3, &asked, sizeof asked);
    if (child == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) != 1 || setgid(0) != 0 || setuid(0) != 0) _exit(1);
        told[0] = '\0';
        tried = 0;
        act();
        if (write(back[1], &tried, sizeof tried) < 0 || write(back[1], told, strlen(told)) < 0) _exit(1);
        _exit(0);
    }
    if (child < 0) snprintf(told + strlen(told), 200, "FAILED: clone3: %s\n", strerror(errno));
    if (child > 0) {
        int count = 0;
        map(child, users);
        if (write(go[1], "", 1) != 1) exit(1);
        close(back[1]);
        if (read(back[0], &count, sizeof count) == sizeof count) tried += count;
        size_t at = strlen(told);
        for (ssize_t got; (got = read(back[0], told + at, sizeof told - 1 - at)) > 0; at += (size_t)got) {}
        told[at] = '\0';
        waitpid(child, NULL, 0);
    }
}

static int try_control_file(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about;
    (void)where;
    if (kind == FTW_F) tell("a maker among control groups", path, writable(path));
    return 0;
}

/* Only who may call clone3 gets to see control groups: its own and those below. */
static void as_reader(void) {
    static const char *const options[] = {"memory", "pids", "cpu,cpuacct", "cpuset", "freezer", "devices", NULL};
    mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
    mkdir("/tmp/mounted", 0700);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (mount("none", "/tmp/mounted", options[i] ? "cgroup" : "cgroup2", 0, options[i]) != 0) continue;
        nftw("/tmp/mounted", try_control_file, 16, FTW_PHYS);
        tell("a maker among control groups", "a group", mkdir("/tmp/mounted/made", 0700) == 0 && rmdir("/tmp/mounted/made") == 0);
        umount2("/tmp/mounted", MNT_DETACH);
    }
}

static void as_room(void) { try_all("a room's root"); }

static void as_maker(void) {
    try_all("the maker");
    if (mount("/play", "/play", NULL, MS_BIND | MS_REC, NULL) == 0 && chdir("/play") == 0 &&
        syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0) {
        mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
        try_all("the maker in the tree");
    } else {
        snprintf(told + strlen(told), 200, "FAILED: pivot: %s\n", strerror(errno));
    }
}

int main(int count, char **words) {
    char users[64];
    struct sockaddr_un host = {AF_UNIX, "/judge/line"};
    if (count != 2) return 1;
    line = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(line, (struct sockaddr *)&host, sizeof host) != 0) return 1;
    if (read(line, told, 1) != 1) return 1; /* the host knows us now */
    told[0] = 0;
    snprintf(users, sizeof users, "0 %s 1\n", words[1]);
    try_all("the launcher");
    as_root_of(CLONE_NEWNS, users, as_maker);
    as_root_of(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET, users, as_room);
    as_root_of(CLONE_NEWNS | CLONE_NEWCGROUP, users, as_reader);
    snprintf(told + strlen(told), 64, "tried: %d\n", tried);
    return write(line, told, strlen(told)) < 0;
}
