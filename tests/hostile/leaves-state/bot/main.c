/* Every match of a series begins as the first one did. */
#include "player.h"
#include <dirent.h>
#include <stddef.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { KEY = 7, PIPE_BYTES = 64 * 1024 };

static const struct sockaddr_un abstract = {AF_UNIX, "\0state"};
static const socklen_t abstract_size = offsetof(struct sockaddr_un, sun_path) + 6;

static int entries(const char *path) {
    int count = 0;
    DIR *directory = opendir(path);
    if (directory == NULL) return 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

static int exists(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0;
}

static void look(void) {
    struct stat tmp, out;
    struct rlimit files;
    mode_t mask = umask(0);
    stat("/tmp", &tmp);
    fstat(1, &out);
    getrlimit(RLIMIT_NOFILE, &files);
    found("files in /tmp", entries("/tmp") != 0);
    found("files in home", entries(getenv("HOME")) != 0);
    found("time of /tmp", tmp.st_mtime != 0 || tmp.st_atime != 0);
    found("files beside the program", exists("/bot/state"));
    found("files elsewhere", exists("/dev/shm/state") || exists("/var/tmp/state") || exists("/run/state") || exists("/state"));
    found("message queue", exists("/dev/mqueue/state"));
    found("shared memory", shmget(KEY, 0, 0) >= 0 || msgget(KEY, 0) >= 0 || semget(KEY, 0, 0) >= 0);
    found("abstract socket", connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&abstract, abstract_size) == 0);
    found("key", syscall(SYS_request_key, "user", "state", NULL, -3) >= 0);
    found("environment", getenv("STATE") != NULL);
    found("file mode mask", mask != 022);
    found("priority", getpriority(PRIO_PROCESS, 0) != 0);
    found("limits", files.rlim_cur != 256);
    found("process", kill(-1, 0) == 0);
    found("size of the input's pipe", fcntl(0, F_GETPIPE_SZ) != PIPE_BYTES);
    found("size of the output's pipe", fcntl(1, F_GETPIPE_SZ) != PIPE_BYTES);
    found("time of the output", out.st_mtime != 0);
}

static void touch(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    write(fd, "state", 5);
    close(fd);
}

/* A socket that listens, in flight in a queue of its own: nobody's, and collected by the kernel some time later. */
static void leave_socket(void) {
    char byte = 0, room[CMSG_SPACE(2 * sizeof(int))];
    int pair[2], listening = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listening, (void *)&abstract, abstract_size);
    listen(listening, 9);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), (int[]){listening, pair[1]}, 2 * sizeof(int));
    sendmsg(pair[0], &message, 0);
}

static void leave(void) {
    static const char *const files[] = {
        "/tmp/state", "/tmp/.state", "/tmp/\n", "/tmp/-rf", "/bot/state", "/dev/shm/state", "/var/tmp/state", "/run/state", "/state",
        "/dev/mqueue/state",
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        touch(files[i]);
    mkdir("/tmp/closed", 0700);
    touch("/tmp/closed/state");
    chmod("/tmp/closed", 0);
    symlink("/judge", "/tmp/link");
    mkfifo("/tmp/fifo", 0600);
    shmget(KEY, 4096, IPC_CREAT | 0600);
    msgget(KEY, IPC_CREAT | 0600);
    semget(KEY, 1, IPC_CREAT | 0600);
    leave_socket();
    syscall(SYS_add_key, "user", "state", "x", 1, -3);
    setenv("STATE", "x", 1);
    setpriority(PRIO_PROCESS, 0, 19);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64});
    if (fork() == 0) {
        setsid();
        for (;;)
            pause();
    }
    fcntl(0, F_SETPIPE_SZ, 1 << 20);
    fcntl(1, F_SETPIPE_SZ, 1 << 20);
}

int main(void) {
    while (hear()) {
        if (is("READY")) look();
        play();
    }
    leave();
    return 0;
}
