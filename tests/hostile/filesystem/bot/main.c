/* Writes where it must not: the system, its own program, control groups, kernel settings, the judge's pipes. */
#include "probe.h"
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/xattr.h>

#define NEW (O_WRONLY | O_CREAT)

static int made_and_removed(const char *path) {
    if (!opens(path, NEW | O_EXCL)) return 0;
    unlink(path);
    return 1;
}

static int directory_made_and_removed(const char *path) {
    if (mkdir(path, 0700) != 0) return 0;
    rmdir(path);
    return 1;
}

static int unnamed_file_in(const char *folder) { return opens(folder, O_TMPFILE | O_RDWR); }

static int renamed(const char *from, const char *to) {
    if (rename(from, to) != 0) return 0;
    rename(to, from);
    return 1;
}

static int linked(const char *from, const char *to) {
    if (link(from, to) != 0) return 0;
    unlink(to);
    return 1;
}

static int given_an_attribute(const char *path) { return setxattr(path, "user.note", "x", 1, 0) == 0; }

static int given_flags(const char *path) {
    int flags = FS_NODUMP_FL, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int answer = ioctl(fd, FS_IOC_SETFLAGS, &flags);
    int why = errno;
    close(fd);
    errno = why;
    return answer == 0;
}

/* A program of its own making in /tmp, so that what was uploaded need not be what runs. */
static int runs_from_tmp(void) {
    static const char script[] = "#!/bin/true\n";
    int fd = open("/tmp/script", NEW | O_TRUNC | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, script, sizeof script - 1) != sizeof script - 1) return 0;
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        execl("/tmp/script", "script", (char *)NULL);
        _exit(errno + 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    unlink("/tmp/script");
    if (WEXITSTATUS(status) > 1) errno = WEXITSTATUS(status) - 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int runs_memory_of_tmp(void) {
    int fd = open("/tmp/code", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
    if (fd < 0 || ftruncate(fd, 4096) != 0) return 0;
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    int why = errno;
    close(fd);
    unlink("/tmp/code");
    errno = why;
    return code != MAP_FAILED;
}

/* A tmpfs that may take more than it should. */
static int tmp_is_larger_than(long long bytes) {
    struct statfs system;
    return statfs("/tmp", &system) == 0 && (long long)system.f_blocks * system.f_bsize > bytes;
}

static void probe(void) {
    TRY("a file in /", made_and_removed("/new"));
    TRY("a directory in /", directory_made_and_removed("/new"));
    TRY("a file in /etc", made_and_removed("/etc/new"));
    TRY("the users' list", opens("/etc/passwd", O_WRONLY));
    TRY("the hosts' list", opens("/etc/hosts", O_WRONLY));
    TRY("the resolver's settings", opens("/etc/resolv.conf", O_WRONLY));
    TRY("preloaded libraries", made_and_removed("/etc/ld.so.preload"));
    TRY("a file in /usr/bin", made_and_removed("/usr/bin/new"));
    TRY("a program of the system", opens("/usr/bin/tar", O_WRONLY));
    TRY("Python's modules", made_and_removed("/usr/lib/python3/dist-packages/new.py"));
    TRY("a file in /var/tmp", made_and_removed("/var/tmp/new"));
    TRY("a file in /run/lock", made_and_removed("/run/lock/new"));
    TRY("a file in /var/mail", made_and_removed("/var/mail/new"));
    TRY("a file in /dev", made_and_removed("/dev/new"));
    TRY("a file in /dev/mqueue", made_and_removed("/dev/mqueue/new"));
    TRY("an unnamed file in /", unnamed_file_in("/"));
    TRY("an unnamed file in /bot", unnamed_file_in("/bot"));
    TRY("an unnamed file in /dev", unnamed_file_in("/dev"));

    TRY("a file beside its program", made_and_removed("/bot/new"));
    TRY("its program", opens("/bot/main.c", O_WRONLY) || opens("/bot/bot", O_WRONLY));
    TRY("its program's mode", chmod("/bot/bot", 0777) == 0);
    TRY("its program's owner", chown("/bot/bot", getuid(), getgid()) == 0);
    TRY("its program's times", utimes("/bot/bot", NULL) == 0);
    TRY("its program's name", renamed("/bot/bot", "/bot/renamed"));
    TRY("a link to its program", linked("/bot/bot", "/bot/linked"));
    TRY("its program's attributes", given_an_attribute("/bot/bot"));
    TRY("its program's flags", given_flags("/bot/bot"));

    TRY("the judge's pipes, listed", opens("/judge", O_RDONLY | O_DIRECTORY));
    TRY("the judge's orders", opens("/judge/ctl", O_WRONLY));
    TRY("init's answers", opens("/judge/ack", O_RDWR));
    TRY("its own input, opened again", opens("/judge/in", O_RDWR));
    TRY("its own output, opened again", opens("/judge/out", O_RDWR));
    TRY("its own input, by its number", opens("/proc/self/fd/0", O_RDWR));
    TRY("its own output, by its number", opens("/proc/self/fd/1", O_RDWR));
    TRY("a file among the pipes", made_and_removed("/judge/new"));

    TRY("its memory limit", opens("/sys/fs/cgroup/memory/memory.limit_in_bytes", O_WRONLY) ||
                                opens("/sys/fs/cgroup/memory.max", O_WRONLY));
    TRY("its processors", opens("/sys/fs/cgroup/cpuset/cpuset.cpus", O_WRONLY) ||
                              opens("/sys/fs/cgroup/cpuset.cpus", O_WRONLY));
    TRY("its number of processes", opens("/sys/fs/cgroup/pids/pids.max", O_WRONLY) ||
                                       opens("/sys/fs/cgroup/pids.max", O_WRONLY));
    TRY("its devices", opens("/sys/fs/cgroup/devices/devices.allow", O_WRONLY));
    TRY("who is in its control group", opens("/sys/fs/cgroup/memory/cgroup.procs", O_WRONLY) ||
                                           opens("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
    TRY("a control group of its own", directory_made_and_removed("/sys/fs/cgroup/memory/new") ||
                                          directory_made_and_removed("/sys/fs/cgroup/new"));

    TRY("where crashes go", opens("/proc/sys/kernel/core_pattern", O_WRONLY));
    TRY("the host's name", opens("/proc/sys/kernel/hostname", O_WRONLY));
    TRY("the loader of modules", opens("/proc/sys/kernel/modprobe", O_WRONLY));
    TRY("the helper for hotplugging", opens("/sys/kernel/uevent_helper", O_WRONLY));
    TRY("foreign binary formats", opens("/proc/sys/fs/binfmt_misc/register", O_WRONLY));
    TRY("the kernel's swappiness", opens("/proc/sys/vm/swappiness", O_WRONLY));
    TRY("the kernel's caches", opens("/proc/sys/vm/drop_caches", O_WRONLY));
    TRY("the kernel's emergency key", opens("/proc/sysrq-trigger", O_WRONLY));
    TRY("where interrupts go", opens("/proc/irq/default_smp_affinity", O_WRONLY));
    TRY("the processors that are on", opens("/sys/devices/system/cpu/cpu1/online", O_WRONLY));
    TRY("the machine's sleep", opens("/sys/power/state", O_WRONLY));
    TRY("the kernel's tracing", opens("/sys/kernel/tracing/tracing_on", O_WRONLY));

    TRY("a program in /tmp", runs_from_tmp());
    TRY("code in /tmp", runs_memory_of_tmp());
    TRY("a /tmp of more than 64 MiB", tmp_is_larger_than(64LL << 20));
    TRY("root's home", opens("/root", O_RDONLY | O_DIRECTORY));
}

PLAY(probe)
