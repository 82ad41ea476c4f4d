/* Makes what could outlive a match, be met by a bot in another box, or use up what all boxes share. */
#include "probe.h"
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static int has_segment(void) {
    int id = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    return id >= 0 && shmctl(id, IPC_RMID, NULL) == 0;
}

static int has_queue(void) {
    int id = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
    return id >= 0 && msgctl(id, IPC_RMID, NULL) == 0;
}

static int has_semaphore(void) {
    int id = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);
    return id >= 0 && semctl(id, 0, IPC_RMID) == 0;
}

static int has_posix_queue(void) {
    struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 1};
    mqd_t queue = mq_open("/of-a-bot", O_RDWR | O_CREAT, 0600, &small);
    if (queue < 0) return 0;
    mq_close(queue);
    mq_unlink("/of-a-bot");
    return 1;
}

static int has_posix_segment(void) {
    int fd = shm_open("/of-a-bot", O_RDWR | O_CREAT, 0600);
    if (fd < 0) return 0;
    close(fd);
    shm_unlink("/of-a-bot");
    return 1;
}

static int made(const char *path) {
    if (!opens(path, O_WRONLY | O_CREAT)) return 0;
    unlink(path);
    return 1;
}

/* The host has one budget for all; it used to be 65,536 events. */
static int uses_up_asynchronous_io(void) {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 4096, &context) != 0) return 0;
    syscall(SYS_io_destroy, context);
    return 1;
}

/* The host has 4096 of them, and their number can be read by everybody. */
static int uses_up_terminals(void) {
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return 0;
    close(fd);
    return 1;
}

static int holds_memory(void) {
    void *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int answer = mlock(page, 1 << 20), why = errno;
    munmap(page, 1 << 20);
    errno = why;
    return answer == 0;
}

static int has_huge_pages(void) {
    int fd = (int)syscall(SYS_memfd_create, "of a bot", 4 /* MFD_HUGETLB */);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* A pipe as large as root's would be. */
static int has_large_pipe(void) {
    int ends[2];
    if (pipe(ends) != 0) return 0;
    int answer = fcntl(ends[1], F_SETPIPE_SZ, 64 << 20), why = errno;
    close(ends[0]);
    close(ends[1]);
    errno = why;
    return answer > 0;
}

/* With numbers that are counted over the whole host, a bot can count in front of another. */
static int is_told(const char *path) {
    char text[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    errno = 0;
    return got > 0;
}

static void probe(void) {
    TRY("a System V segment", has_segment());
    TRY("a System V queue", has_queue());
    TRY("a System V semaphore", has_semaphore());
    TRY("a POSIX queue", has_posix_queue());
    TRY("a POSIX segment", has_posix_segment());
    TRY("a file in /dev/shm", made("/dev/shm/of-a-bot"));
    TRY("a file in /dev/mqueue", made("/dev/mqueue/of-a-bot"));
    DOOR("a lock on a file", flock(0, LOCK_SH | LOCK_NB));
    DOOR("a lock on a byte", fcntl(eventfd(0, EFD_CLOEXEC), F_SETLK, &(struct flock){.l_type = F_WRLCK, .l_len = 1}));
    DOOR("a lock on a byte of an open file", fcntl(eventfd(0, EFD_CLOEXEC), F_OFD_SETLK,
                                                   &(struct flock){.l_type = F_WRLCK, .l_len = 1}));
    DOOR("a lock on a byte, by a larger number", syscall(SYS_fcntl, eventfd(0, EFD_CLOEXEC), 1L << 32 | F_SETLK,
                                                         &(struct flock){.l_type = F_WRLCK, .l_len = 1}));
    DOOR("watching files", syscall(SYS_inotify_init1, 0));
    TRY("asynchronous I/O", uses_up_asynchronous_io());
    TRY("a terminal", uses_up_terminals());
    TRY("memory that stays", holds_memory());
    TRY("huge pages", has_huge_pages());
    TRY("a very large pipe", has_large_pipe());
    TRY("everybody's locks", is_told("/proc/locks"));
    TRY("everybody's keys", is_told("/proc/key-users"));
    TRY("everybody's number of files", is_told("/proc/sys/fs/file-nr"));
    TRY("everybody's number of inodes", is_told("/proc/sys/fs/inode-nr") || is_told("/proc/sys/fs/inode-state"));
    TRY("everybody's number of names", is_told("/proc/sys/fs/dentry-state"));
    TRY("everybody's asynchronous I/O", is_told("/proc/sys/fs/aio-nr"));
    TRY("everybody's number of terminals", is_told("/proc/sys/kernel/pty/nr"));
    TRY("everybody's waiting", is_told("/proc/pressure/cpu"));
    TRY("everybody's interrupts", is_told("/proc/interrupts") || is_told("/proc/softirqs"));
    TRY("everybody's turns on the processors", is_told("/proc/schedstat"));
    TRY("everybody's use of the disks", is_told("/proc/diskstats"));
    TRY("everybody's memory", is_told("/proc/vmstat") || is_told("/proc/zoneinfo") || is_told("/proc/buddyinfo"));
}

PLAY(probe)
