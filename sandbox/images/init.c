/* judge-init: process 1 of the containers of a league's machine.
 *
 *   judge-init --rooms ROOT             the wall: makes a room for each bot of each match
 *   judge-init COMMAND [ARGUMENT ...]   one run of one program in a container of its own (builds, gVisor)
 *   judge-init --keep DIRECTORY         holds the tree that bots play in; see `keep`
 *
 * Theory of operation
 * -------------------
 * A *room* is what one bot gets for one match: namespaces, folders (but not files) of its own over the tree of languages,
 * a /tmp, a copy of its program and a user that nobody else has. All of it is gone when the match ends.
 *
 *   launcher (process 1 of the container: the host's root until it has made the maker, then a user without any right)
 *     maker (root of a user namespace in which no user is the host's root, and of /play; keeps the rights to map users)
 *       warden (process 1 of a room, root of the room's own user namespace: reads stderr, ends the room)
 *         the bot's first process, always number 3 (2 is the warden's other thread)
 *
 * The launcher connects to the host's socket, the *line*. One message on it asks for one room. Its words are the room's
 * user (the next number is its root), the number of control groups, whether there is a unified one, the options of /tmp
 * and the command; its descriptors are the host's end of the room's own connection, the groups' `tasks`, the program, the
 * `tasks` of the group to which the warden returns, and the unified group. Then host and room talk on that connection:
 *
 *   host                       room
 *                        <-    "started" and the host's ends of the bot's stdin and stdout; sent by the bot's first
 *                              process itself, so that the kernel tells the host who it is
 *   "kill"               ->    kill the bot (any time)
 *   "stop MS"            ->    wait up to MS for the bot to exit, kill everything
 *                        <-    "done HOW CODE STDERR_BYTES", then the stderr kept
 *                              end of file, when nothing of the room is left
 *
 * HOW is E (exited with CODE), S (ended by signal CODE) or K (still running, killed by us). When the bot's first process
 * exits, everything else in the room is killed at once, so the host sees end of file on the bot's output exactly when the
 * bot is gone. End of file on a room's connection ends the room, on the line the container: so does the host's end.
 *
 * Nothing in a room is the host's: it has no proc, sysfs or control groups, its FIFOs live in a file system of its own, so
 * their numbers say nothing, and the tree of languages (/play) is memory that nobody can write.
 *
 * In a container of its own, a program runs as the child of process 1, which keeps to the same protocol on FIFOs in
 * /judge: orders come by `ctl`, answers go by `ack`, and the bot has `in` and `out`. One more order, "tell", asks for
 * "told STDERR_BYTES" and the stderr so far.
 *
 * Trust: a warden reads what bots write to stderr, in the bot's own control groups, so a flood costs nobody else anything.
 * By then it has no right but to kill in its room. The first HEAD_BYTES and the last TAIL_BYTES are kept. A thread of its
 * own reads, because a bot can hold a pipe's lock for as long as it lives, and a read then sleeps where nothing wakes it.
 *
 * What a bot leaves, such as its page tables, is charged to its group for milliseconds longer than it lives. Then the
 * kernel would find nobody but the warden to kill there, so a warden leaves that group before it answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RELAY_BYTES = 4096,
    HEAD_BYTES = 8 * 1024,
    TAIL_BYTES = 48 * 1024, /* head + tail fit into a FIFO's 64 KiB, so sending them cannot block */
    REQUEST_BYTES = 64 * 1024,
    MOST_DESCRIPTORS = 16,
    MOST_WORDS = 64,
    MOST_ROOMS = 64,
    LAST_CAPABILITY = 63,
    KILL_AGAIN_MS = 10,
    KEPT_AT_ONCE = 32,
    NUMBERS = 64, /* of pipes and sockets that a bot may make; a pair of sockets has two */
    FEW_NUMBERS = 4, /* more than is made for a room besides what was measured */
    PENDING_SIGNALS = 256, /* for each of a bot's processes together; see `execute` */
    AT_ONCE = 1024, /* numbers that the kernel gives to a processor at once (get_next_ino) */
    MOST_EVENED = AT_ONCE - NUMBERS, /* more than six rooms make; a distance of AT_ONCE would never be reached */
    EXIT_WE_FAILED = 70
};

static int proc_fd = -1;      /* /proc of the container, which no room has */
static int complaints = 2;    /* where failures are told: the line, or a room's connection */
static int signal_fd;

/* The run that this process looks after. */
static uid_t bot_uid;
static int orders, answers;   /* a room's connection is both */
static int stderr_fd = -1;
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER; /* guards stderr_fd and what is kept, once a thread reads */
static int way_out = -1;      /* in a room, the `tasks` of a group whose memory a bot cannot use up */
static int listener = -1;     /* tells of pipes and sockets; -1 where they are not counted */
static int relay_from = -1, relay_fd = -1;
static char relayed[RELAY_BYTES];
static ssize_t relayed_from = 0, relayed_to = 0;
static char head[HEAD_BYTES], tail[TAIL_BYTES];
static long long stderr_bytes = 0;

static void die(const char *what) {
    char line[PATH_MAX + 200];
    int length = snprintf(line, sizeof line, "failed: %s: %s", what, strerror(errno));
    if (write(complaints, line, (size_t)length) < 0) {} /* nobody is there */
    _exit(EXIT_WE_FAILED);
}

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Reads what is there; at most `rounds` buffers, so a flood cannot hold us here. */
static void drain_stderr(int rounds) {
    char buffer[16 * 1024];
    while (stderr_fd >= 0 && rounds-- > 0) {
        ssize_t got = read(stderr_fd, buffer, sizeof buffer);
        if (got == 0) { close(stderr_fd); stderr_fd = -1; }
        if (got <= 0) return;
        for (ssize_t i = 0; i < got; i++, stderr_bytes++) {
            if (stderr_bytes < HEAD_BYTES) head[stderr_bytes] = buffer[i];
            else tail[(stderr_bytes - HEAD_BYTES) % TAIL_BYTES] = buffer[i];
        }
    }
}

/* Forgets which children have ended: waitpid tells. */
static void clear_signals(void) {
    struct signalfd_siginfo information;
    while (read(signal_fd, &information, sizeof information) > 0) {}
}

static void keep_only(unsigned rights_kept) {
    struct __user_cap_header_struct about = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[2] = {{rights_kept, rights_kept, 0}, {0, 0, 0}};
    if (syscall(SYS_capset, &about, rights) != 0) die("capset");
}

/* Reads stderr until its end. */
static void *read_stderr(void *nothing) {
    keep_only(0);
    for (int fd = stderr_fd; fd >= 0;) {
        struct pollfd watched = {fd, POLLIN, 0};
        if (poll(&watched, 1, -1) < 0) continue;
        pthread_mutex_lock(&reading);
        drain_stderr(4);
        fd = stderr_fd;
        pthread_mutex_unlock(&reading);
    }
    return nothing;
}

/* Sends an answer with the stderr kept so far, as one message. */
static void answer(const char *what) {
    static char message[HEAD_BYTES + TAIL_BYTES + 512];
    char note[64] = "";
    long long in_head = stderr_bytes < HEAD_BYTES ? stderr_bytes : HEAD_BYTES, rest = stderr_bytes - in_head, oldest = 0;
    if (rest > TAIL_BYTES) {
        snprintf(note, sizeof note, "\n[... %lld bytes left out ...]\n", rest - TAIL_BYTES);
        oldest = rest % TAIL_BYTES;
        rest = TAIL_BYTES;
    }
    int words = snprintf(message, 256, "%s %lld\n", what, in_head + (long long)strlen(note) + rest);
    char *from = message, *end = mempcpy(message + words, head, (size_t)in_head);
    end = mempcpy(end, note, strlen(note));
    end = mempcpy(end, tail + oldest, (size_t)(rest - oldest));
    end = mempcpy(end, tail, (size_t)oldest);
    for (ssize_t sent; from < end && (sent = write(answers, from, (size_t)(end - from))) > 0; from += sent) {}
}

static void become_bot(void) {
    for (int capability = 0; capability <= LAST_CAPABILITY; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) die("drop capability");
    /* EINVAL: no such thing as ambient capabilities in this kernel (gVisor) */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) die("clear ambient");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("no new privileges");
    if (setgroups(0, NULL) != 0 || setgid(bot_uid) != 0 || setuid(bot_uid) != 0) die("become the bot's user");
}

#define AT_CALL(number, verdict) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, verdict)
#define COUNTED SECCOMP_RET_USER_NOTIF
#define CLOSED (SECCOMP_RET_ERRNO | EPERM)

/* Closes the calls that the engine's filter allows for the sake of rooms only, to a warden and to all in its room. That
 * filter kills whoever uses numbers of another architecture. No filter can see the flags of clone3, so to a bot it does
 * not exist. The kernel numbers pipes and sockets by one counter per processor, whoever makes them, and fstat tells the
 * number: the listener that is returned hears of each, and the maker makes up for those that a bot did not make. */
static int filter_calls(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_pipe /* newer architectures have only the newer forms */
        AT_CALL(SYS_pipe, COUNTED), AT_CALL(SYS_signalfd, CLOSED),
#endif
        AT_CALL(SYS_pipe2, COUNTED), AT_CALL(SYS_socket, COUNTED), AT_CALL(SYS_socketpair, COUNTED),
        AT_CALL(SYS_accept, COUNTED), AT_CALL(SYS_accept4, COUNTED), AT_CALL(SYS_mount, CLOSED),
        AT_CALL(SYS_fstatfs, CLOSED), AT_CALL(SYS_signalfd4, CLOSED), AT_CALL(SYS_umount2, CLOSED),
        AT_CALL(SYS_pivot_root, CLOSED), AT_CALL(SYS_seccomp, CLOSED), AT_CALL(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        AT_CALL(ADDR_NO_RANDOMIZE, CLOSED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    long made = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (made < 0) die("filter");
    return (int)made;
}

/* Lets a call go on, or refuses it when the bot has made too many. */
static void let_make(void) {
    static int made = 0;
    union { struct seccomp_notif it; char room[256]; } asked; /* a newer kernel's may be larger than ours */
    union { struct seccomp_notif_resp it; char room[256]; } said;
    memset(&asked, 0, sizeof asked);
    memset(&said, 0, sizeof said);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return; /* the caller has been killed */
    made += asked.it.data.nr == SYS_socketpair ? 2 : 1;
    said.it.id = asked.it.id;
    if (made > NUMBERS) said.it.error = -ENFILE;
    else said.it.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
}

/* Queued signals are counted for the bot's user and for all who made its namespaces, up to the host's root, against the
 * same limit: without one of its own, a bot that queues as many as it may takes them from every other room. */
static void execute(char **command, int in, int out, int err) {
    static const struct rlimit pending = {PENDING_SIGNALS, PENDING_SIGNALS};
    sigset_t none;
    sigemptyset(&none);
    setsid();
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) die("dup2");
    if (setrlimit(RLIMIT_SIGPENDING, &pending) != 0 && errno != EPERM) die("limit of pending signals"); /* gVisor has none */
    become_bot();
    if (chdir("/bot") != 0) die("chdir /bot");
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execv(command[0], command);
    dprintf(2, "cannot start %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* Passes on what there is, or drops it if the bot has closed its input. */
static void relay(void) {
    if (relayed_from == relayed_to) {
        relayed_from = 0;
        relayed_to = read(relay_from, relayed, sizeof relayed);
        if (relayed_to < 0) relayed_to = 0;
    }
    ssize_t sent = write(relay_fd, relayed + relayed_from, (size_t)(relayed_to - relayed_from));
    if (sent > 0) relayed_from += sent;
    else if (sent < 0 && errno != EAGAIN) relayed_from = relayed_to;
}

/* Returns when nothing else lives here. One kill is not enough: gVisor lists the processes first, and one that is born
 * meanwhile escapes (31 of 600). */
static void kill_everything(void) {
    for (pid_t ended;; poll(&(struct pollfd){signal_fd, POLLIN, 0}, 1, KILL_AGAIN_MS)) {
        kill(-1, SIGKILL);
        clear_signals();
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {}
        if (ended < 0) break;
    }
    if (way_out >= 0 && write(way_out, "0", 1) != 1) die("leave the bot's control group");
}

/* Looks after a run whose first process is `first` until it has ended and the host has asked for its end. */
static void look_after(pid_t first) {
    int status, first_status = 0, alive = 1, killed = 0, stopping = 0;
    long long stop_at_ms = 0;
    while (alive || !stopping) {
        int held = relayed_from < relayed_to;
        struct pollfd watched[6] = {{orders, POLLIN, 0}, {signal_fd, POLLIN, 0},
                                    {way_out >= 0 ? -1 : stderr_fd, POLLIN, 0}, {listener, POLLIN, 0},
                                    {held || relay_fd < 0 ? -1 : relay_from, POLLIN, 0}, {held ? relay_fd : -1, POLLOUT, 0}};
        long long left_ms = stop_at_ms - now_ms();
        if (poll(watched, 6, !stopping || !alive ? -1 : left_ms > 0 ? (int)left_ms : 0) < 0 && errno != EINTR) die("poll");
        if (watched[3].revents & POLLIN) let_make();
        else if (watched[3].revents) { close(listener); listener = -1; } /* nobody is left who could make any */
        if (watched[4].revents || watched[5].revents) relay();
        if (watched[2].revents) drain_stderr(4);
        if (watched[1].revents) clear_signals();
        for (pid_t ended; alive && (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended != first) continue;
            alive = 0;
            first_status = status;
            kill_everything(); /* what it left behind would keep its output open */
        }
        if (watched[0].revents) {
            char order[64];
            ssize_t got = read(orders, order, sizeof order - 1);
            if (got <= 0) { /* the host's process is gone, and everything goes; first what may hold our other thread */
                kill_everything();
                _exit(0);
            }
            order[got] = '\0';
            if (strncmp(order, "stop ", 5) == 0) {
                stopping = 1;
                stop_at_ms = now_ms() + atoi(order + 5);
            } else if (strncmp(order, "kill", 4) == 0) {
                if (alive) kill(first, SIGKILL);
            } else {
                if (way_out < 0) drain_stderr(4); /* else the thread does, and may sleep there */
                answer("told");
            }
        }
        if (alive && stopping && now_ms() >= stop_at_ms) {
            alive = 0;
            killed = 1;
            if (waitpid(first, &first_status, WNOHANG) == first) killed = 0; /* it has just ended by itself */
        }
    }
    kill_everything();
    pthread_mutex_lock(&reading);
    drain_stderr(80); /* nobody can make a pipe hold more than 1 MiB: nothing remains */
    char how = killed ? 'K' : WIFEXITED(first_status) ? 'E' : 'S', done[64];
    int code = killed ? 0 : WIFEXITED(first_status) ? WEXITSTATUS(first_status) : WTERMSIG(first_status);
    snprintf(done, sizeof done, "done %c %d", how, code);
    answer(done);
    while (way_out < 0 && read(orders, done, 1) > 0) {} /* the counters of a container end with it: not before they are read */
    _exit(0);
}

static void await_signals_by_descriptor(void) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal_fd = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signal_fd < 0) die("signalfd");
}

/* One run in a container of its own. JUDGE_RELAY: the bot reads a pipe of ours, and what the host writes is passed on to
 * it, because gVisor does not tell how much there is to read in a FIFO of the host (FIONREAD), without which Java reads
 * nothing. */
static void run_alone(char **command) {
    int err[2], ends[2], relaying = getenv("JUDGE_RELAY") != NULL;
    const char *uid = getenv("JUDGE_UID");
    bot_uid = uid == NULL ? 0 : (uid_t)strtoul(uid, NULL, 10);
    unsetenv("JUDGE_RELAY");
    unsetenv("JUDGE_UID");
    await_signals_by_descriptor();
    orders = open("/judge/ctl", O_RDONLY | O_CLOEXEC);
    answers = complaints = open("/judge/ack", O_WRONLY | O_CLOEXEC);
    int in = open("/judge/in", (relaying ? O_RDWR | O_NONBLOCK : O_RDONLY) | O_CLOEXEC);
    int out = open("/judge/out", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (bot_uid == 0) errno = EINVAL;
    if (bot_uid == 0 || orders < 0 || answers < 0 || in < 0 || out < 0) die("open /judge");
    if (relaying) {
        if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) die("relay");
        relay_from = in;
        relay_fd = ends[1];
        in = ends[0];
    }
    if (pipe2(err, O_CLOEXEC) != 0 || fcntl(out, F_SETFL, 0) != 0 || fcntl(err[0], F_SETFL, O_NONBLOCK) != 0) die("pipe");
    pid_t first = fork();
    if (first < 0) die("fork");
    if (first == 0) execute(command, in, out, err[1]);
    close(in);
    close(out);
    close(err[1]);
    stderr_fd = err[0];
    keep_only(1u << CAP_KILL);
    if (write(answers, "started\n", 8) != 8) die("started");
    look_after(first);
}

/* A request for a room, as the host sent it. */
static char request[REQUEST_BYTES];
static char *command[MOST_WORDS], tmp_options[128];
static int descriptors[MOST_DESCRIPTORS], groups, unified;

/* Unpacks the program: lines "MODE BYTES PATH", each followed by the file's bytes; a folder has -1 bytes. */
static void unpack(int from) {
    static char buffer[256 * 1024];
    char line[PATH_MAX + 64], path[PATH_MAX];
    off_t at = 0;
    for (ssize_t got; (got = pread(from, line, sizeof line - 1, at)) > 0;) {
        unsigned mode;
        long long left;
        int length;
        line[got] = '\0';
        if (sscanf(line, "%o %lld %4000[^\n]%n", &mode, &left, path, &length) != 3) die("program");
        at += length + 1;
        if (left < 0) {
            if (mkdir(path, mode) != 0) die(path);
            continue;
        }
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0) die(path);
        while (left > 0) {
            got = pread(from, buffer, left < (long long)sizeof buffer ? (size_t)left : sizeof buffer, at);
            if (got <= 0 || write(fd, buffer, (size_t)got) != got) die(path);
            at += got;
            left -= got;
        }
        close(fd);
    }
}

static void mount_memory(const char *where, unsigned long flags, const char *options) {
    if (mount("tmpfs", where, "tmpfs", MS_NOSUID | MS_NODEV | flags, options) != 0) die(where);
}

/* Makes a mount the root, and forgets the old one. */
static void move_into(const char *root) {
    if (chdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        die("pivot_root");
}

static int make_fifo(const char *path, int *host_end, int host_flags, int bot_flags) {
    if (mkfifo(path, 0600) != 0 || (*host_end = open(path, host_flags | O_NONBLOCK | O_CLOEXEC)) < 0) die(path);
    int bot_end = open(path, bot_flags | O_NONBLOCK | O_CLOEXEC);
    if (bot_end < 0 || fcntl(bot_end, F_SETFL, 0) != 0 || unlink(path) != 0) die(path);
    return bot_end;
}

/* Gives the room folders of its own, whose locks no other bot can hold: an overlay, whose files are those of the tree.
 * Devices cannot be opened through one that was mounted without the host's rights, so each is mounted on its own. */
static void lay_folders(void) {
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
    char device[32], path[64];
    mount_memory("/proc", 0, "mode=755");
    if (mkdir("/proc/top", 0755) != 0 || mkdir("/proc/tree", 0755) != 0) die("/proc/tree"); /* it needs two layers */
    if (mount("overlay", "/proc/tree", "overlay", MS_RDONLY | MS_NOSUID, "lowerdir=/proc/top:/") != 0) die("overlay");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        snprintf(device, sizeof device, "/dev/%s", devices[i]);
        snprintf(path, sizeof path, "/proc/tree/dev/%s", devices[i]);
        if (mount(device, path, NULL, MS_BIND, NULL) != 0) die(path);
    }
    move_into("/proc/tree");
}

/* Fills the room's /bot, /tmp and /proc. The last has two files: `exe`, beside which the dynamic linker and Java look for
 * libraries, and a map of memory, in which the C library looks for the stack (Mono needs it), at an address not random. */
static void furnish(int program, int host_ends[3], int bot_ends[3]) {
    static const char map[] = "7ffffff00000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";
    static const struct timespec epoch[2];
    char path[PATH_MAX];
    mount_memory("/bot", 0, "mode=755");
    if (chdir("/bot") != 0) die("chdir /bot");
    unpack(program);
    int found = realpath(command[0], path) != NULL;
    if (chdir("/") != 0) die("chdir /");
    mount_memory("/bot", MS_REMOUNT | MS_RDONLY | MS_NOATIME, "mode=755");
    mount_memory("/proc", MS_NOEXEC, "mode=755,nr_inodes=8");
    if (mkdir("/proc/self", 0755) != 0 || (found && symlink(path, "/proc/self/exe") != 0)) die("/proc/self");
    int maps = open("/proc/self/maps", O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
    if (maps < 0 || write(maps, map, sizeof map - 1) < 0 || close(maps) != 0) die("/proc/self/maps");
    mount_memory("/proc", MS_REMOUNT | MS_RDONLY | MS_NOEXEC | MS_NOATIME, "mode=755");
    mount_memory("/tmp", MS_NOEXEC, tmp_options);
    bot_ends[0] = make_fifo("/tmp/in", &host_ends[0], O_RDWR, O_RDONLY); /* O_RDWR: writing never finds no reader */
    bot_ends[1] = make_fifo("/tmp/out", &host_ends[1], O_RDONLY, O_WRONLY);
    bot_ends[2] = make_fifo("/tmp/err", &host_ends[2], O_RDONLY, O_WRONLY);
    for (int end = 0; end < 3; end++) futimens(bot_ends[end], epoch);
    if (utimensat(AT_FDCWD, "/tmp", epoch, 0) != 0) die("times of /tmp");
}

static void say_started(int in, int out) {
    union { struct cmsghdr align; char bytes[CMSG_SPACE(2 * sizeof(int))]; } passed = {.bytes = {0}};
    struct iovec word = {"started", 7};
    struct msghdr message = {.msg_iov = &word, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
    struct cmsghdr *first = CMSG_FIRSTHDR(&message);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(first), (int[2]){in, out}, 2 * sizeof(int));
    if (sendmsg(answers, &message, MSG_NOSIGNAL) < 0) die("started");
}

/* Process 1 of a room. */
static void run_in_room(void) {
    int host_ends[3], bot_ends[3];
    if (setgroups(0, NULL) != 0 || setgid(0) != 0 || setuid(0) != 0) die("become the room's root");
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else nobody but the host's root may write in our /proc */
    for (int group = 0; group < groups; group++)
        if (write(descriptors[1 + group], "0", 1) != 1 || close(descriptors[1 + group]) != 0) die("join a control group");
    lay_folders();
    furnish(descriptors[1 + groups], host_ends, bot_ends);
    close(descriptors[1 + groups]);
    way_out = descriptors[2 + groups];
    await_signals_by_descriptor();
    if (personality(ADDR_NO_RANDOMIZE) < 0) die("personality");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("no new privileges");
    listener = filter_calls(); /* from here on, making a pipe would wait for ourselves */
    stderr_fd = host_ends[2];
    pthread_t reader; /* before the bot, so that its numbers do not depend on who is faster */
    errno = pthread_create(&reader, NULL, read_stderr, NULL);
    if (errno != 0) die("thread");
    pid_t first = fork();
    if (first < 0) die("fork");
    if (first == 0) {
        /* When memory runs out, the kernel ends the bot before its warden, whose death looks like our failure. */
        int score = openat(proc_fd, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (score < 0 || write(score, "1000", 4) != 4) die("oom_score_adj");
        say_started(host_ends[0], host_ends[1]);
        execute(command, bot_ends[0], bot_ends[1], bot_ends[2]);
    }
    for (int end = 0; end < 3; end++) close(bot_ends[end]);
    close(host_ends[0]);
    close(host_ends[1]);
    close(proc_fd);
    keep_only(1u << CAP_KILL);
    look_after(first);
}

/* The maker's rooms: each one's warden, and its connection, which is closed when the warden is gone. */
static struct { pid_t warden; int connection; } rooms[MOST_ROOMS];
static int rooms_now = 0;
static ino_t numbers_from; /* that of a pipe before the first of the rooms that are there together */
static ino_t numbers_at_most; /* that these rooms may have taken */
static ino_t numbers_of_a_room = 0; /* that making the last one took: 15 on Linux 6.18, more on older kernels */

static ino_t next_number(void) {
    int ends[2];
    struct stat about;
    if (pipe2(ends, O_CLOEXEC) != 0 || fstat(ends[0], &about) != 0) die("number");
    close(ends[0]);
    close(ends[1]);
    return about.st_ino;
}

/* Counts on until the counter is where it would be after the most that these rooms may make: that far from where they
 * began, or, if the processor has been given further numbers meanwhile, that far from the first of those. */
static void even_numbers_out(void) {
    ino_t most = numbers_at_most < MOST_EVENED ? numbers_at_most : MOST_EVENED;
    for (;;) {
        ino_t now = next_number(), from = now / AT_ONCE == numbers_from / AT_ONCE ? numbers_from : now / AT_ONCE * AT_ONCE;
        if (now - from > most) return;
    }
}

static void forget_ended_rooms(void) {
    for (pid_t ended; (ended = waitpid(-1, NULL, WNOHANG)) > 0;)
        for (int room = 0; room < MOST_ROOMS; room++) {
            if (rooms[room].warden != ended) continue;
            if (--rooms_now == 0) even_numbers_out();
            close(rooms[room].connection);
            rooms[room].warden = 0;
        }
}

static void map_users(pid_t of, const char *file, const char *map) {
    char path[64];
    snprintf(path, sizeof path, "%d/%s", (int)of, file);
    int fd = openat(proc_fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, map, strlen(map)) < 0) die(path);
    close(fd);
}

/* Starts a process in new namespaces, and in a control group if it is unified; it waits until its users are mapped. */
static pid_t start_process(uint64_t flags, int group, const char *map) {
    char go;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) die("pipe");
    struct clone_args asked = {.flags = flags | CLONE_NEWUSER, .exit_signal = SIGCHLD};
    if (group >= 0) {
        asked.flags |= CLONE_INTO_CGROUP;
        asked.cgroup = (uint64_t)group;
    }
    ino_t before = next_number();
    pid_t started = (pid_t)syscall(SYS_clone3, &asked, sizeof asked);
    if (started == 0) {
        close(ends[1]);
        if (read(ends[0], &go, 1) != 1) die("the map of users");
    }
    if (started > 0) {
        ino_t taken = next_number() - before;
        if (taken < MOST_EVENED) numbers_of_a_room = taken; /* else the processor has been given further numbers */
        map_users(started, "gid_map", map);
        map_users(started, "uid_map", map);
        if (write(ends[1], "", 1) != 1) die("go on");
    }
    close(ends[0]);
    if (started != 0) close(ends[1]);
    return started;
}

/* Reads a request. Returns the number of its descriptors; the connection comes first. */
static int read_request(int line) {
    union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof descriptors)]; } passed;
    struct iovec words = {request, sizeof request - 2};
    struct msghdr message = {.msg_iov = &words, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
    ssize_t got = recvmsg(line, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0) _exit(0); /* the host's process is gone, and with us goes everything */
    request[got] = request[got + 1] = '\0';
    struct cmsghdr *first = CMSG_FIRSTHDR(&message);
    if (first == NULL || first->cmsg_type != SCM_RIGHTS || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) die("request");
    size_t bytes = first->cmsg_len - CMSG_LEN(0);
    memcpy(descriptors, CMSG_DATA(first), bytes);
    if (sscanf(request, "%u %d %d %127s", &bot_uid, &groups, &unified, tmp_options) != 4) die("request");
    int words_read = 0;
    for (char *word = request + strlen(request) + 1; *word; word += strlen(word) + 1) {
        if (words_read == MOST_WORDS - 1) die("words");
        command[words_read++] = word;
    }
    command[words_read] = NULL;
    return (int)(bytes / sizeof *descriptors);
}

static void make_room(int line) {
    char map[64];
    int count = read_request(line), room = 0;
    while (room < MOST_ROOMS && rooms[room].warden != 0) room++;
    if (room == MOST_ROOMS) die("too many rooms");
    snprintf(map, sizeof map, "0 %u 1\n%u %u 1\n", bot_uid + 1, bot_uid, bot_uid);
    if (rooms_now == 0) {
        numbers_from = next_number();
        numbers_at_most = 0;
    }
    int group = unified ? descriptors[3 + groups] : -1;
    pid_t warden = start_process(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET, group, map);
    if (warden == 0) {
        complaints = orders = answers = descriptors[0];
        close(line);
        close(signal_fd);
        if (group >= 0) close(group);
        for (int other = 0; other < MOST_ROOMS; other++)
            if (rooms[other].warden != 0) close(rooms[other].connection);
        run_in_room();
    }
    if (warden < 0) {
        complaints = descriptors[0]; /* this room's failure ends the wall: the host opens another */
        die("namespaces of a room");
    }
    for (int i = 1; i < count; i++) close(descriptors[i]);
    rooms[room].warden = warden;
    rooms[room].connection = descriptors[0];
    rooms_now++;
    numbers_at_most += NUMBERS + FEW_NUMBERS + numbers_of_a_room;
}

/* The maker moves into the tree in memory: after that the image, the engine's mounts and the host's paths in them are
 * gone for it and for all rooms. */
static void make_rooms(int line) {
    if (setgroups(0, NULL) != 0 || setgid(0) != 0 || setuid(0) != 0) die("become the maker's root");
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    for (int pass = 0; access("/play/complete", F_OK) != 0; pass++) { /* the keeper may be copying it */
        if (pass == 30000) die("/play is not complete");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    if (mount("/play", "/play", NULL, MS_BIND, NULL) != 0) die("mount /play");
    move_into("/play");
    await_signals_by_descriptor();
    keep_only(1u << CAP_SETUID | 1u << CAP_SETGID); /* to map the users of rooms; a new namespace needs no right */
    if (write(line, "ready", 5) != 5) die("ready");
    for (;;) {
        struct pollfd watched[2] = {{line, POLLIN, 0}, {signal_fd, POLLIN, 0}};
        if (poll(watched, 2, -1) < 0 && errno != EINTR) die("poll");
        if (watched[1].revents) clear_signals();
        forget_ended_rooms();
        if (watched[0].revents) make_room(line);
    }
}

/* The wall. `root` is the host's user that the maker's root is, one without rights; bots' users are mapped as they are. */
static void launch(const char *root) {
    char map[64], go;
    struct sockaddr_un host = {AF_UNIX, "/judge/line"};
    int line = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (line < 0 || connect(line, (struct sockaddr *)&host, sizeof host) != 0) die("connect to the host");
    complaints = line;
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    umask(0022);
    if (read(line, &go, 1) != 1) _exit(0); /* the host has put us into our control groups */
    snprintf(map, sizeof map, "0 %s 1\n1048576 1048576 1073741824\n", root);
    pid_t maker = start_process(CLONE_NEWNS, -1, map);
    if (maker < 0) die("user namespaces");
    if (maker == 0) make_rooms(line);
    close(line);
    uid_t user = (uid_t)strtoul(root, NULL, 10);
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) die("become a user without rights");
    while (waitpid(-1, NULL, 0) != maker) {}
    _exit(0);
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
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--keep") == 0) keep(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--rooms") == 0) launch(argv[2]);
    if (argc < 2) die("usage: judge-init --rooms ROOT | --keep DIRECTORY | COMMAND [ARGUMENT ...]");
    run_alone(argv + 1);
}
