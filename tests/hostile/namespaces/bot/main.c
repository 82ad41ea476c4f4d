/* Makes and enters namespaces. In a user namespace of its own, a bot would be root. */
#include "probe.h"
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>

#define NEW_TIME 0x80 /* CLONE_NEWTIME, which the library's header may lack */
#define GET_NET_NAMESPACE _IO(0xFF, 4) /* PIDFD_GET_NET_NAMESPACE, since Linux 6.11 */

static int flag;

static int unshares_flag(void) { return syscall(SYS_unshare, flag) == 0; }

static int unshares(int flags) {
    flag = flags;
    return in_child(unshares_flag);
}

static int clones(int flags) {
    long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);
    if (child == 0) _exit(0);
    if (child > 0) waitpid((pid_t)child, NULL, 0);
    return child > 0;
}

static int clones_anew(uint64_t flags) {
    struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
    long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) _exit(0);
    if (child > 0) waitpid((pid_t)child, NULL, 0);
    return child > 0;
}

/* In a user namespace of its own it would have every capability there. */
static int becomes_root(void) {
    return syscall(SYS_unshare, CLONE_NEWUSER) == 0 && opens("/proc/self/uid_map", O_WRONLY);
}

static int enters(const char *namespace) {
    int fd = open(namespace, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int answer = setns(fd, 0), why = errno;
    close(fd);
    errno = why;
    return answer == 0;
}

static int enters_own(void) { return enters("/proc/self/ns/uts"); }
static int enters_inits(void) { return enters("/proc/1/ns/uts"); }

static int enters_by_handle(void) {
    int init = (int)syscall(SYS_pidfd_open, 1, 0);
    int answer = setns(init, CLONE_NEWUTS), why = errno;
    close(init);
    errno = why;
    return answer == 0;
}

static int is_given_by_handle(void) {
    int init = (int)syscall(SYS_pidfd_open, 1, 0);
    int fd = ioctl(init, GET_NET_NAMESPACE, 0), why = errno;
    close(init);
    if (fd >= 0) close(fd);
    errno = why;
    return fd >= 0;
}

static void probe(void) {
    TRY("users, unshared", unshares(CLONE_NEWUSER));
    TRY("mounts, unshared", unshares(CLONE_NEWNS));
    TRY("processes, unshared", unshares(CLONE_NEWPID));
    TRY("network, unshared", unshares(CLONE_NEWNET));
    TRY("shared memory, unshared", unshares(CLONE_NEWIPC));
    TRY("names, unshared", unshares(CLONE_NEWUTS));
    TRY("control groups, unshared", unshares(CLONE_NEWCGROUP));
    TRY("times, unshared", unshares(NEW_TIME));
    TRY("users and mounts, unshared", unshares(CLONE_NEWUSER | CLONE_NEWNS));
    TRY("users, cloned", clones(CLONE_NEWUSER));
    TRY("mounts, cloned", clones(CLONE_NEWNS));
    TRY("processes, cloned", clones(CLONE_NEWPID));
    TRY("network, cloned", clones(CLONE_NEWNET));
    TRY("shared memory, cloned", clones(CLONE_NEWIPC));
    TRY("names, cloned", clones(CLONE_NEWUTS));
    TRY("control groups, cloned", clones(CLONE_NEWCGROUP));
    TRY("users, cloned by the newer call", clones_anew(CLONE_NEWUSER));
    TRY("times, cloned by the newer call", clones_anew(NEW_TIME));
    TRY("the newer call", clones_anew(0));
    TRY("root in a world of its own", in_child(becomes_root));
    TRY("its own namespace, entered", in_child(enters_own));
    TRY("init's namespace, entered", in_child(enters_inits));
    TRY("init's namespace, entered by its handle", in_child(enters_by_handle));
    TRY("init's namespace, by its handle", is_given_by_handle());
    TRY("more namespaces for everybody", opens("/proc/sys/user/max_user_namespaces", O_WRONLY));
    DOOR("the name of its host", syscall(SYS_sethostname, "sandbox", -1));
    DOOR("the domain of its host", syscall(SYS_setdomainname, "sandbox", -1));
}

PLAY(probe)
