/* Looks for what boxes share beside files: policies and huge pages of the tree that all of them play in, the disk and
 * the account behind the pipes, numbers of mounts; and for timers with which one interrupt walks all who wait. */
#include "probe.h"
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <time.h>

#define PAGE 4096
#define MPOL_DEFAULT 0
#define MPOL_F_ADDR 2
#define COLLAPSE 25
#define MOUNT_NUMBERS (0x1000 | 0x4000)

static void *shared_page(void) {
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return page;
}

static long numbers_of_mounts(void) {
    struct statx found;
    return syscall(SYS_statx, AT_FDCWD, "/tmp", 0, MOUNT_NUMBERS, &found);
}

static long a_posix_timer(void) {
    int timer;
    struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
    long answer = syscall(SYS_timer_create, CLOCK_MONOTONIC, &nothing, &timer);
    if (answer == 0) syscall(SYS_timer_delete, timer);
    return answer;
}

static long closed(int fd) {
    if (fd >= 0) close(fd);
    return fd;
}

static void probe(void) {
    void *page = shared_page();
    int mode;
    sigset_t none;
    struct statfs system;
    sigemptyset(&none);
    DOOR("the policy of a shared page", syscall(SYS_mbind, page, PAGE, MPOL_DEFAULT, NULL, 0, 0));
    DOOR("whoever set that policy", syscall(SYS_get_mempolicy, &mode, NULL, 0, page, MPOL_F_ADDR));
    DOOR("a policy of its own", syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0));
    DOOR("a huge page for all", madvise(page, PAGE, COLLAPSE));
    DOOR("the disk behind its pipes", fstatfs(0, &system));
    DOOR("the account of its pipes", fcntl(0, F_SETPIPE_SZ, 2 * PAGE));
    DOOR("numbers of mounts", numbers_of_mounts());
    DOOR("a timer that is a descriptor", closed(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)));
    DOOR("signals from a descriptor", closed(signalfd(-1, &none, SFD_CLOEXEC)));
    DOOR("a timer of its process", a_posix_timer());
}

PLAY(probe)
