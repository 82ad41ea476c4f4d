/* Reaches for processes that are not its own: traces them, reads their memory, takes their descriptors, signals them,
 * changes how they run. Signals are the null signal, and settings those that init has already.
 */
#include "probe.h"
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

enum { INIT = 1, PROCESS_MRELEASE = 448 };

static char here[64], there[64] = "what a neighbour knows";

static int traces(pid_t pid, int how) {
    if (ptrace(how, pid, NULL, NULL) != 0) return 0;
    if (how == PTRACE_ATTACH) waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return 1;
}

static int is_traced(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0; }

static pid_t idle_child(void) {
    pid_t child = fork();
    while (child == 0) pause();
    return child;
}

static int traces_its_child(void) {
    pid_t child = idle_child();
    int traced = traces(child, PTRACE_ATTACH), why = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = why;
    return traced;
}

/* The same program, so what is at an address here is there as well. */
static int copies(pid_t pid, int write_it) {
    struct iovec local = {here, sizeof here}, remote = {there, sizeof there};
    return (write_it ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
                     : process_vm_readv(pid, &local, 1, &remote, 1, 0)) > 0;
}

static int copies_from_its_child(void) {
    pid_t child = idle_child();
    int copied = copies(child, 0), why = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = why;
    return copied;
}

static int init_handle(void) { return (int)syscall(SYS_pidfd_open, INIT, 0); }

static int advises_init(void) {
    struct iovec page = {(void *)0x400000, 4096};
    int init = init_handle();
    long answer = syscall(SYS_process_madvise, init, &page, 1, MADV_COLD, 0);
    int why = errno;
    close(init);
    errno = why;
    return answer >= 0 || why == ENOMEM; /* it was let in, and only the address is wrong */
}

static int signals_init_by_handle(void) {
    int init = init_handle();
    long answer = syscall(SYS_pidfd_send_signal, init, 0, NULL, 0);
    int why = errno;
    close(init);
    errno = why;
    return answer == 0;
}

static int queues_to_init(long call) {
    siginfo_t forged = {.si_code = SI_QUEUE};
    return (call == SYS_rt_sigqueueinfo ? syscall(call, INIT, 0, &forged) : syscall(call, INIT, INIT, 0, &forged)) == 0;
}

static int moves_init(void) {
    cpu_set_t own;
    return sched_getaffinity(0, sizeof own, &own) == 0 && sched_setaffinity(INIT, sizeof own, &own) == 0;
}

static int schedules_init(void) {
    struct sched_param plain = {0};
    return sched_setscheduler(INIT, SCHED_OTHER, &plain) == 0;
}

/* Everything that may be signalled at all, but itself. */
static int signals_somebody(void) { return kill(-1, 0) == 0; }

static int knows_locks_of_init(void) {
    void *head;
    size_t length;
    return syscall(SYS_get_robust_list, INIT, &head, &length) == 0;
}

static void probe(void) {
    TRY("init, attached", traces(INIT, PTRACE_ATTACH));
    TRY("init, seized", traces(INIT, PTRACE_SEIZE));
    TRY("being traced", in_child(is_traced));
    TRY("a child of its own", traces_its_child());
    DOOR("a process that is not there", ptrace(PTRACE_ATTACH, 4000000, NULL, NULL));
    TRY("init's memory, read", copies(INIT, 0) || errno == EFAULT);
    TRY("init's memory, written", copies(INIT, 1) || errno == EFAULT);
    TRY("a child's memory, read", copies_from_its_child());
    DOOR("init's descriptors", syscall(SYS_pidfd_getfd, init_handle(), 0, 0));
    DOOR("comparing with init", syscall(SYS_kcmp, INIT, getpid(), KCMP_VM, 0, 0));
    TRY("what init will need", advises_init());
    DOOR("what init has left", syscall(PROCESS_MRELEASE, init_handle(), 0));
    DOOR("init's pages, migrated", syscall(SYS_migrate_pages, INIT, 0, NULL, NULL));
    DOOR("init's pages, moved", syscall(SYS_move_pages, INIT, 0, NULL, NULL, NULL, 0));
    TRY("init's locks", knows_locks_of_init());
    TRY("a signal for init", kill(INIT, 0) == 0);
    TRY("a signal for init's thread", syscall(SYS_tgkill, INIT, INIT, 0) == 0);
    TRY("a signal for init's handle", signals_init_by_handle());
    TRY("a signal with a message", queues_to_init(SYS_rt_sigqueueinfo));
    TRY("a signal with a message for a thread", queues_to_init(SYS_rt_tgsigqueueinfo));
    TRY("a signal for everybody", signals_somebody());
    TRY("init's priority", setpriority(PRIO_PROCESS, INIT, 0) == 0);
    TRY("init's scheduling", schedules_init());
    TRY("init's processors", moves_init());
    DOOR("init's priority for disks", syscall(SYS_ioprio_set, 1, INIT, 0));
    TRY("init's limits", prlimit(INIT, RLIMIT_NOFILE, NULL, &(struct rlimit){0, 0}) == 0);
}

PLAY(probe)
