/* Wants more of the machine than its share: priority, processors of others, limits, and idle neighbours. */
#include "probe.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { DEADLINE = 6, EXTENSIBLE = 7, CLAMP = 0x20 | 0x40, IO_FLUSHER = 57, CORE_SCHEDULING = 62, CREATE_COOKIE = 1 };

struct attributes { /* sched_attr, which some versions of the library have and some have not */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t util_min, util_max;
};

static int is_realtime(int policy) {
    struct sched_param lowest = {.sched_priority = 1};
    return sched_setscheduler(0, policy, &lowest) == 0;
}

static int is_first_come(void) { return is_realtime(SCHED_FIFO); }
static int is_in_turns(void) { return is_realtime(SCHED_RR); }

static int is_scheduled(struct attributes attributes) {
    attributes.size = sizeof attributes;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

static int has_deadlines(void) {
    return is_scheduled((struct attributes){.policy = DEADLINE, .runtime = 1000000, .deadline = 10000000, .period = 10000000});
}

static int has_clamps(void) {
    return is_scheduled((struct attributes){.flags = CLAMP, .util_min = 1024, .util_max = 1024});
}

static int is_first(void) { return setpriority(PRIO_PROCESS, 0, -20) == 0; }
static int is_nicer_and_back(void) { return setpriority(PRIO_PROCESS, 0, 5) == 0 && setpriority(PRIO_PROCESS, 0, 0) == 0; }
static int is_first_at_disks(void) { return syscall(SYS_ioprio_set, 1, 0, 1 << 13) == 0; }

static int group_is_first(void) {
    int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t written = write(fd, "-5", 2);
    int why = errno;
    close(fd);
    errno = why;
    return written == 2;
}

/* Any processor but those that it was given. */
static int runs_elsewhere(void) {
    cpu_set_t given, others;
    if (sched_getaffinity(0, sizeof given, &given) != 0) return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        CPU_ZERO(&others);
        CPU_SET(cpu, &others);
        if (!CPU_ISSET(cpu, &given) && sched_setaffinity(0, sizeof others, &others) == 0) return 1;
    }
    return 0;
}

/* No task with another cookie may run on the other half of its core, so the neighbour there would stand still. */
static int has_core_alone(void) {
    return prctl(CORE_SCHEDULING, CREATE_COOKIE, 0, 0, 0) == 0 || errno == ENODEV; /* no second halves on this host */
}

static int is_flusher(void) { return prctl(IO_FLUSHER, 1, 0, 0, 0) == 0; }

/* Whether it may use more than `amount` of something, now or by raising its own limit. */
static int may_exceed(int resource, rlim_t amount) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_max > amount) return 1;
    limit.rlim_cur = limit.rlim_max = amount + 1;
    return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static int opens_many(void) {
    for (int count = 0; count < 300; count++)
        if (dup(0) < 0) return 0;
    return 1;
}

static int writes_much(void) {
    signal(SIGXFSZ, SIG_IGN);
    int fd = open("/tmp/large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int answer = ftruncate(fd, (64LL << 20) + 1), why = errno;
    close(fd);
    unlink("/tmp/large");
    errno = why;
    return answer == 0;
}

static int stays_in_memory(void) { return mlockall(MCL_CURRENT | MCL_FUTURE) == 0; }

static void probe(void) {
    TRY("first come, first served", in_child(is_first_come));
    TRY("turns in real time", in_child(is_in_turns));
    TRY("deadlines of its own", in_child(has_deadlines));
    TRY("a faster processor", in_child(has_clamps));
    TRY("the highest priority", in_child(is_first));
    TRY("its old priority after a lower one", in_child(is_nicer_and_back));
    TRY("priority for disks", in_child(is_first_at_disks));
    TRY("priority for its session", in_child(group_is_first));
    TRY("a processor of others", in_child(runs_elsewhere));
    TRY("a core without neighbours", in_child(has_core_alone));
    TRY("priority for what it writes", in_child(is_flusher));
    TRY("more than 256 files", may_exceed(RLIMIT_NOFILE, 256));
    TRY("more than 256 files, opened", in_child(opens_many));
    TRY("files of more than 64 MiB", may_exceed(RLIMIT_FSIZE, 64 << 20));
    TRY("a file of more than 64 MiB, made", in_child(writes_much));
    TRY("memory that stays", may_exceed(RLIMIT_MEMLOCK, 0));
    TRY("all its memory, staying", in_child(stays_in_memory));
    TRY("messages", may_exceed(RLIMIT_MSGQUEUE, 0));
    TRY("priorities", may_exceed(RLIMIT_NICE, 0));
    TRY("priorities in real time", may_exceed(RLIMIT_RTPRIO, 0));
}

PLAY(probe)
