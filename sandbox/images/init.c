/* judge-init: process 1 of a sandbox; runs a series of programs, one after another, in one container.
 *
 *   judge-init COMMAND [ARGUMENT ...]   what is described here
 *   judge-init --keep DIRECTORY         holds the tree that bots play in; see `keep`
 *
 * Theory of operation
 * -------------------
 * The host has five FIFOs in a directory that is mounted read-only at /judge, all owned by root and closed to the
 * bot's user: `ctl` (host -> init), `ack` (init -> host), and the bot's `in`, `out` and `err`.
 *
 *   host                       init
 *                              "ready"                          after it has opened everything
 *   "start"              ->    fork, become the bot's user, exec the command
 *                        <-    "started"                        (init or the warden) from now on the host may write prompts
 *   (the match; init takes no part in it)
 *   "tell"               ->    send the stderr kept so far; the host reads it before its next order (builds only: in
 *                        <-    "told"                               a match, init would take the bot's own processor)
 *   "stop MS"            ->    wait up to MS for the bot to exit, kill everything, reap everything, empty /tmp and
 *                              the bot's stdin, wait for its sockets to go, send the kept stderr
 *                        <-    "done HOW CODE STDERR_BYTES DIRTY"
 *
 * HOW is E (exited with CODE), S (ended by signal CODE) or K (still running, killed by us). The acknowledgement
 * is what makes it safe to use the same FIFOs again: without it the old process could swallow the next READY.
 * When the bot's first process exits, everything else in the container is killed at once, so the host sees end of
 * file on `out` exactly when the bot is gone, in order after its last bytes.
 *
 * End of file on `ctl` means that the host's worker is gone: init exits, and the whole container with it.
 *
 * A match remembers nothing. JUDGE_TMP (the options of /tmp) makes init play: before the first run it moves the whole
 * container into /play, a tree in memory that holds what languages need and nothing else, with a copy of the program.
 * There is no file system of the kernel's own in there (proc, sysfs, control groups), so nothing that is counted over
 * runs, boxes or the host can be read. Each run gets a process namespace and a /tmp of its own:
 *
 *   init (process 1 of the container)
 *     warden (process 1 of the run's namespace: reaps, and ends when the bot's first process does, and all with it)
 *       the bot's first process, always number 2
 *
 * Without JUDGE_TMP (builds, and runtimes that cannot) init has no right to mount; it empties /tmp instead, and the
 * bot's first process is its own child.
 *
 * Trust: init is root, out of reach of the bot's user: the bot cannot signal, trace or inspect it, cannot open the
 * FIFOs (root, 0600), and loses every capability, the bounding set included, before exec. Init needs CAP_KILL,
 * SETUID, SETGID and SETPCAP, and to play SYS_ADMIN. A second filter (`forbid`) closes the calls that this right opens
 * to the bot, although they would do nothing without the right, and two calls that only init and its starter need
 * (signalfd, fstatfs). Init reads stderr inside the bot's own CPU budget, so a flood costs nobody else anything. The
 * first HEAD_BYTES and the last TAIL_BYTES of it are kept.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_UID = 1000, /* the account `bot` of the image, where JUDGE_UID names no other */
    RELAY_BYTES = 4096,
    HEAD_BYTES = 8 * 1024,
    TAIL_BYTES = 48 * 1024, /* head + tail fit into a FIFO's 64 KiB, so sending them cannot block */
    LAST_CAPABILITY = 63,
    PASSES = 1000, /* about a second */
    KILL_AGAIN_MS = 10,
    KEPT_AT_ONCE = 32,
    NUMBERS = 64, /* of pipes and sockets that a run may make; a pair of sockets has two */
    OUR_NUMBERS = 16, /* what init itself makes meanwhile, and more */
    AT_ONCE = 1024, /* numbers that the kernel gives to a processor at once (get_next_ino) */
    EXIT_WE_FAILED = 70
};

static uid_t bot_uid = DEFAULT_UID;
static int ctl_fd, ack_fd, in_fd, err_fd, signal_fd;
static int stderr_fd = -1;     /* read end of the running bot's stderr */
static pid_t bot = 0;          /* its first process, or that one's warden; 0 when none runs */
static char *tmp_options;      /* of a fresh /tmp; NULL: init does not play */
static int judge_fd, proc_fd;  /* directories that the bot's root does not have */
static ino_t numbers_from;     /* that of a pipe when the run began */
static int *first_status;      /* wait status of the bot's first process, as its warden tells it */
static int bot_status = 0;     /* wait status of the last bot */
static int stopping = 0, killed_by_us = 0;
static long long stop_at_ms = 0;

/* JUDGE_RELAY: the bot reads a pipe of ours, and what the host writes is passed on to it. gVisor does not tell how much
 * there is to read in a FIFO of the host (FIONREAD), without which Java reads nothing. */
static int relaying = 0;
static int relay_fd = -1;      /* write end of the running bot's pipe */
static char relayed[RELAY_BYTES];
static ssize_t relayed_from = 0, relayed_to = 0;

static char head[HEAD_BYTES], tail[TAIL_BYTES];
static long long stderr_bytes = 0;

static void die(const char *what) {
    dprintf(2, "judge-init: %s: %s\n", what, strerror(errno));
    exit(EXIT_WE_FAILED);
}

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void keep_stderr(const char *data, ssize_t count) {
    for (ssize_t i = 0; i < count; i++, stderr_bytes++) {
        if (stderr_bytes < HEAD_BYTES) head[stderr_bytes] = data[i];
        else tail[(stderr_bytes - HEAD_BYTES) % TAIL_BYTES] = data[i];
    }
}

/* Reads what is there; at most `rounds` buffers, so a flood cannot hold init here. */
static void drain_stderr(int rounds) {
    char buffer[16 * 1024];
    while (stderr_fd >= 0 && rounds-- > 0) {
        ssize_t got = read(stderr_fd, buffer, sizeof buffer);
        if (got > 0) {
            keep_stderr(buffer, got);
        } else {
            if (got == 0) { close(stderr_fd); stderr_fd = -1; }
            return;
        }
    }
}

static void send_all(int fd, const char *data, size_t count) {
    while (count > 0) {
        ssize_t sent = write(fd, data, count);
        if (sent <= 0) return; /* the host never reads less than a FIFO's capacity; a dead host needs nothing */
        data += sent;
        count -= (size_t)sent;
    }
}

static void send_stderr(void) {
    long long in_head = stderr_bytes < HEAD_BYTES ? stderr_bytes : HEAD_BYTES;
    long long rest = stderr_bytes - in_head;
    send_all(err_fd, head, (size_t)in_head);
    if (rest > TAIL_BYTES) {
        char note[80];
        int length = snprintf(note, sizeof note, "\n[... %lld bytes left out ...]\n", rest - TAIL_BYTES);
        send_all(err_fd, note, (size_t)length);
        size_t from = (size_t)(rest % TAIL_BYTES);
        send_all(err_fd, tail + from, TAIL_BYTES - from);
        send_all(err_fd, tail, from);
    } else {
        send_all(err_fd, tail, (size_t)rest);
    }
}

static void become_bot(void) {
    for (int capability = 0; capability <= LAST_CAPABILITY; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) die("drop capability");
    /* EINVAL: no such thing as ambient capabilities in this kernel (gVisor) */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) die("clear ambient");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("no new privileges");
    if (setgroups(0, NULL) != 0 || setgid(bot_uid) != 0 || setuid(bot_uid) != 0) die("become the bot's user");
}

/* Closes the calls that the engine's filter allows for init's sake only. That filter kills whoever uses numbers of
 * another architecture, so this one need not check for them. */
static void forbid(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 12, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstatfs, 11, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_signalfd, 10, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_signalfd4, 9, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_umount2, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pivot_root, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWPID, 3, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ADDR_NO_RANDOMIZE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) die("filter");
}

/* Makes the kernel end the bot before init when memory runs out, however small the bot makes itself: a dead init looks
 * like our failure. */
static void offer_to_be_killed_first(void) {
    int fd = openat(proc_fd, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "1000", 4) != 4) die("oom_score_adj");
    close(fd);
}

static void run_bot(char **command, int in, int out, int err) {
    sigset_t none;
    sigemptyset(&none);
    setsid();
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) die("dup2");
    if (tmp_options != NULL) {
        offer_to_be_killed_first();
        if (personality(ADDR_NO_RANDOMIZE) < 0) die("personality");
    }
    become_bot();
    if (tmp_options != NULL) forbid();
    if (chdir("/bot") != 0) die("chdir /bot");
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execv(command[0], command);
    dprintf(2, "cannot start %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* The kernel numbers pipes and sockets by one counter per processor, whoever makes them, and fstat tells the number. So
 * a run may make only a few, and init makes up for the rest: every run moves the counter equally far. */
static int count_numbers(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_pipe
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pipe, 6, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pipe2, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_accept, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_accept4, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) die("listener");
    return (int)listener;
}

/* Lets a call go on, or refuses it when the run has made too many. */
static void let_make(int listener) {
    static int made = 0;
    union { struct seccomp_notif it; char room[256]; } asked; /* a newer kernel's may be larger than ours */
    union { struct seccomp_notif_resp it; char room[256]; } answer;
    memset(&asked, 0, sizeof asked);
    memset(&answer, 0, sizeof answer);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return; /* the caller has been killed */
    made += asked.it.data.nr == SYS_socketpair ? 2 : 1;
    answer.it.id = asked.it.id;
    if (made > NUMBERS) answer.it.error = -ENFILE;
    else answer.it.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static ino_t next_number(void) {
    int ends[2];
    struct stat about;
    if (pipe2(ends, O_CLOEXEC) != 0 || fstat(ends[0], &about) != 0) die("number");
    close(ends[0]);
    close(ends[1]);
    return about.st_ino;
}

/* Counts on until the counter is where it would be after the most that a run may make: that far from where the run
 * began, or, if the processor has been given further numbers meanwhile, that far from the first of those. */
static void even_numbers_out(void) {
    for (;;) {
        ino_t now = next_number(), from = now / AT_ONCE == numbers_from / AT_ONCE ? numbers_from : now / AT_ONCE * AT_ONCE;
        if (now - from > NUMBERS + OUR_NUMBERS) return;
    }
}

/* Process 1 of the run's namespace. When it ends, the kernel ends everything else in there before init hears of it. */
static void guard(char **command, int in, int out, int err) {
    struct signalfd_siginfo information;
    int status, listener = count_numbers();
    pid_t ended, first = fork();
    if (first < 0) die("fork");
    if (first == 0) run_bot(command, in, out, err);
    close(in);
    close(out);
    close(err);
    send_all(ack_fd, "started\n", 8); /* the host may look for the bot's process at once */
    for (;;) {
        struct pollfd watched[2] = {{listener, POLLIN, 0}, {signal_fd, POLLIN, 0}};
        if (poll(watched, 2, -1) < 0 && errno != EINTR) die("poll");
        if (watched[0].revents) let_make(listener);
        while (watched[1].revents && read(signal_fd, &information, sizeof information) > 0) {}
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
            if (ended != first) continue;
            *first_status = status;
            _exit(0);
        }
    }
}

/* Passes on what there is, or drops it if the bot has closed its input. */
static void relay(void) {
    if (relayed_from == relayed_to) {
        relayed_from = 0;
        relayed_to = read(in_fd, relayed, sizeof relayed);
        if (relayed_to < 0) relayed_to = 0;
    }
    ssize_t sent = write(relay_fd, relayed + relayed_from, (size_t)(relayed_to - relayed_from));
    if (sent > 0) relayed_from += sent;
    else if (sent < 0 && errno != EAGAIN) relayed_from = relayed_to;
}

static int open_relay(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) die("relay");
    relay_fd = ends[1];
    return ends[0];
}

static void close_relay(void) {
    if (relay_fd >= 0) close(relay_fd);
    relay_fd = -1;
    relayed_from = relayed_to = 0;
}

static void start(char **command) {
    int err[2];
    if (tmp_options != NULL) numbers_from = next_number();
    int in = relaying ? open_relay() : openat(judge_fd, "in", O_RDONLY | O_CLOEXEC);
    int out = openat(judge_fd, "out", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (in < 0 || out < 0 || pipe2(err, O_CLOEXEC) != 0) die("open the bot's descriptors");
    if (fcntl(out, F_SETFL, 0) != 0 || fcntl(err[0], F_SETFL, O_NONBLOCK) != 0) die("fcntl");
    stderr_bytes = 0;
    killed_by_us = 0;
    bot = tmp_options == NULL ? fork() : (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (bot < 0) die("fork");
    if (bot == 0 && tmp_options != NULL) guard(command, in, out, err[1]);
    if (bot == 0) run_bot(command, in, out, err[1]);
    close(in);
    close(out);
    close(err[1]);
    stderr_fd = err[0];
    if (tmp_options == NULL) send_all(ack_fd, "started\n", 8);
}

/* Root has no right to look into the bot's directories (no CAP_DAC_OVERRIDE), so the bot's own user empties /tmp.
 * Directories are flattened, not descended into: no depth of nesting can exhaust anything. */
static void flatten(int top, const char *name) {
    static unsigned long serial = 0;
    fchmodat(top, name, 0700, 0);
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(fd, entry->d_name, 0) == 0) continue;
        char fresh[64];
        snprintf(fresh, sizeof fresh, ".judge-%d-%lu", (int)getpid(), serial++);
        fchmodat(fd, entry->d_name, 0700, 0);
        renameat(fd, entry->d_name, top, fresh);
    }
    closedir(directory);
}

static int entries_in_tmp(int remove) {
    int found = 0, top = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = top < 0 ? NULL : fdopendir(top);
    if (directory == NULL) return 1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        found++;
        if (!remove || unlinkat(top, entry->d_name, 0) == 0) continue;
        flatten(top, entry->d_name);
        unlinkat(top, entry->d_name, AT_REMOVEDIR);
    }
    closedir(directory);
    return found;
}

static void mount_tmp(void) {
    if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, tmp_options) != 0) die("mount /tmp");
}

/* Mounts a fresh /tmp, which numbers its files from the beginning. Nobody is left who could hold the last one; what dead
 * processes held in queues of sockets is released a moment later. */
static int renew_tmp(void) {
    for (int pass = 0; umount2("/tmp", 0) != 0; pass++) {
        if (errno != EBUSY || pass == PASSES) return 1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    mount_tmp();
    return 0;
}

/* Returns the number of entries that could not be removed. */
static int empty_tmp(void) {
    if (tmp_options != NULL) return renew_tmp();
    if (entries_in_tmp(0) == 0) return 0;
    pid_t wiper = fork();
    if (wiper == 0) {
        become_bot();
        for (int pass = 0; pass < 10000 && entries_in_tmp(1) > 0; pass++) {}
        _exit(0);
    }
    while (wiper > 0 && waitpid(wiper, NULL, 0) < 0 && errno == EINTR) {}
    return entries_in_tmp(0);
}

/* Hides when the last run touched /tmp. */
static void reset_times_of_tmp(void) {
    static const struct timespec epoch[2];
    if (utimensat(AT_FDCWD, "/tmp", epoch, 0) != 0) die("times of /tmp");
}

/* Sockets whose descriptors wait in each other's queues outlive their processes, with their names and their memory,
 * until the kernel collects them, which the end of any socket makes it do. Returns the number of those that stay. */
static int collect_sockets(void) {
    char row[512];
    int left = 1;
    for (int pass = 0; left > 0 && pass < PASSES; pass++) {
        if (pass > 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (pass % 100 == 0) close(socket(AF_UNIX, SOCK_DGRAM, 0));
        int fd = openat(proc_fd, "net/unix", O_RDONLY | O_CLOEXEC);
        FILE *table = fd < 0 ? NULL : fdopen(fd, "r");
        if (table == NULL) return 0;
        for (left = -1; fgets(row, sizeof row, table) != NULL; left++) {} /* its first row is a title */
        fclose(table);
    }
    return left;
}

/* Returns when nothing else lives in the container. One kill is not enough: gVisor lists the processes first, and one that
 * is born meanwhile escapes (31 of 600). */
static void kill_everything(void) {
    struct signalfd_siginfo information;
    for (pid_t ended;; poll(&(struct pollfd){signal_fd, POLLIN, 0}, 1, KILL_AGAIN_MS)) {
        kill(-1, SIGKILL);
        while (read(signal_fd, &information, sizeof information) > 0) {}
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {}
        if (ended < 0) return;
    }
}

static void finish_stop(void) {
    char buffer[16 * 1024], line[96];
    kill_everything();
    drain_stderr(80); /* nobody can make a pipe hold more than 1 MiB: nothing remains */
    if (stderr_fd >= 0) { close(stderr_fd); stderr_fd = -1; }
    close_relay();
    while (read(in_fd, buffer, sizeof buffer) > 0) {}
    int dirty = collect_sockets() + empty_tmp(); /* sockets first: they may hold files of /tmp */
    if (tmp_options != NULL) even_numbers_out();
    reset_times_of_tmp();
    send_stderr();
    char how = killed_by_us ? 'K' : WIFEXITED(bot_status) ? 'E' : 'S';
    int code = killed_by_us ? 0 : WIFEXITED(bot_status) ? WEXITSTATUS(bot_status) : WTERMSIG(bot_status);
    int length = snprintf(line, sizeof line, "done %c %d %lld %d\n", how, code, stderr_bytes, dirty);
    stopping = 0;
    send_all(ack_fd, line, (size_t)length);
}

static void reap(void) {
    struct signalfd_siginfo information;
    while (read(signal_fd, &information, sizeof information) > 0) {}
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != bot) continue;
        bot = 0;
        bot_status = tmp_options != NULL && WIFEXITED(status) ? *first_status : status;
        kill_everything(); /* what it left behind would keep its output open */
    }
}

static void obey(char **command) {
    char line[64];
    ssize_t got = read(ctl_fd, line, sizeof line - 1);
    if (got == 0) exit(0); /* the worker is gone, and with us goes the container */
    if (got < 0) return;
    line[got] = '\0';
    if (strncmp(line, "start\n", 6) == 0 && bot == 0 && !stopping) {
        start(command);
    } else if (strncmp(line, "tell\n", 5) == 0 && !stopping) {
        drain_stderr(4);
        send_stderr();
        send_all(ack_fd, "told\n", 5);
    } else if (strncmp(line, "stop ", 5) == 0 && !stopping) {
        stopping = 1;
        stop_at_ms = now_ms() + atoi(line + 5);
    } else {
        die("order");
    }
}

static void open_everything(void) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal_fd = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    judge_fd = open("/judge", O_PATH | O_DIRECTORY | O_CLOEXEC);
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ctl_fd = openat(judge_fd, "ctl", O_RDONLY | O_CLOEXEC);
    ack_fd = openat(judge_fd, "ack", O_WRONLY | O_CLOEXEC);
    err_fd = openat(judge_fd, "err", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    in_fd = openat(judge_fd, "in", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (signal_fd < 0 || ctl_fd < 0 || ack_fd < 0 || err_fd < 0 || in_fd < 0) die("open /judge");
}

/* Waits for the keeper, whose container may have started only a moment ago. */
static void wait_for_the_tree(void) {
    for (int pass = 0; access("/play/complete", F_OK) != 0; pass++) {
        if (pass == 5 * PASSES) die("/play is not complete");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Copies the program into memory, where reading it takes the same time whoever has read it before. */
static void copy_program(void) {
    if (mount("tmpfs", "/play/bot", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0) die("mount /play/bot");
    int status;
    pid_t copier = fork();
    if (copier == 0) {
        execl("/bin/cp", "cp", "-rp", "/bot/.", "/play/bot", NULL);
        die("cp");
    }
    if (copier < 0 || waitpid(copier, &status, 0) != copier || status != 0) die("copy the program");
    if (mount(NULL, "/play/bot", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME, "mode=755") != 0)
        die("close /play/bot");
}

/* Leaves two files in /proc: `exe`, which tells the dynamic linker and Java beside which program to look for libraries,
 * and a map of memory, in which the C library looks for the stack (Mono needs it). The map is right because addresses
 * are not random, see `run_bot`. */
static void say_who_is_started(const char *program) {
    char path[PATH_MAX];
    if (mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,nr_inodes=8") != 0) die("mount /proc");
    if (mkdir("/proc/self", 0755) != 0) die("mkdir /proc/self");
    if (chdir("/bot") == 0 && realpath(program, path) != NULL && symlink(path, "/proc/self/exe") != 0) die("symlink");
    static const char map[] = "7ffffff00000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";
    int maps = open("/proc/self/maps", O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
    if (maps < 0 || write(maps, map, sizeof map - 1) < 0 || close(maps) != 0) die("/proc/self/maps");
    if (mount(NULL, "/proc", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME, "mode=755") != 0)
        die("close /proc");
}

/* Moves the container into /play. After that the image, the engine's mounts and the host's paths in them are gone. */
static void move_into_the_tree(const char *program) {
    wait_for_the_tree();
    copy_program();
    if (mount(NULL, "/play", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOATIME, NULL) != 0) die("close /play");
    if (chdir("/play") != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0) die("pivot_root");
    say_who_is_started(program);
    if (chdir("/") != 0) die("chdir");
    mount_tmp();
    first_status = mmap(NULL, sizeof *first_status, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (first_status == MAP_FAILED) die("mmap");
}

static int hold(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)where;
    if (kind != FTW_F || !S_ISREG(about->st_mode) || about->st_size == 0) return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *pages = fd < 0 ? MAP_FAILED : mmap(NULL, (size_t)about->st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (pages == MAP_FAILED || mlock(pages, (size_t)about->st_size) != 0) die(path);
    close(fd);
    return 0;
}

/* Holds every page of the tree in memory, even if memory is short, then writes `complete` and waits for SIGTERM. */
static void keep(const char *tree) {
    sigset_t end;
    int signal;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    if (chdir(tree) != 0 || nftw(".", hold, KEPT_AT_ONCE, FTW_PHYS) != 0) die(tree);
    int fd = open("complete", O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
    if (fd < 0) die("complete");
    sigwait(&end, &signal);
}

/* Reads what the environment says. Each box has its own user, because the opponent would otherwise share limits that the
 * kernel counts by user (pipe memory, pending signals, inotify). */
static void read_environment(void) {
    relaying = getenv("JUDGE_RELAY") != NULL;
    unsetenv("JUDGE_RELAY");
    const char *tmp = getenv("JUDGE_TMP");
    if (tmp != NULL) tmp_options = strdup(tmp);
    unsetenv("JUDGE_TMP");
    const char *wanted = getenv("JUDGE_UID");
    if (wanted == NULL) return;
    bot_uid = (uid_t)strtoul(wanted, NULL, 10);
    unsetenv("JUDGE_UID");
    if (bot_uid < DEFAULT_UID) {
        errno = EINVAL;
        die("JUDGE_UID");
    }
}

int main(int argc, char **argv) {
    if (argc < 2) die("usage: judge-init COMMAND [ARGUMENT ...]");
    if (strcmp(argv[1], "--keep") == 0 && argc == 3) {
        keep(argv[2]);
        return 0;
    }
    read_environment();
    open_everything();
    if (tmp_options != NULL) move_into_the_tree(argv[1]);
    reset_times_of_tmp();
    send_all(ack_fd, "ready\n", 6);
    for (;;) {
        int held = relayed_from < relayed_to;
        struct pollfd watched[5] = {{ctl_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}, {stderr_fd, POLLIN, 0},
                                    {held || relay_fd < 0 ? -1 : in_fd, POLLIN, 0}, {held ? relay_fd : -1, POLLOUT, 0}};
        long long left = stop_at_ms - now_ms();
        int timeout = !stopping ? -1 : left > 0 ? (int)left : 0;
        if (poll(watched, 5, timeout) < 0 && errno != EINTR) die("poll");
        if (watched[3].revents || watched[4].revents) relay();
        if (watched[2].revents) drain_stderr(4);
        if (watched[1].revents) reap();
        if (watched[0].revents) obey(argv + 1);
        if (stopping && bot != 0 && now_ms() >= stop_at_ms) reap(); /* it may have just ended by itself */
        if (stopping && bot != 0 && now_ms() >= stop_at_ms) {
            killed_by_us = 1;
            bot = 0;
        }
        if (stopping && bot == 0) finish_stop();
    }
}
