/* Some of these files are behind a lock, which the referee needs for a moment at every prompt. */
#include "player.h"

enum { CHILDREN = 40 };

static const char *const counters[] = {
    "/proc/stat", "/proc/1/schedstat", "/sys/fs/cgroup/cpu.pressure", "/sys/fs/cgroup/cpu.stat",
    "/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory/memory.stat",
    "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/pids/cgroup.procs",
};

static void storm(void) {
    enum { COUNTERS = sizeof counters / sizeof *counters };
    static char content[65536];
    int files[COUNTERS];
    for (int child = 0; child < CHILDREN; child++) {
        if (fork() != 0) continue;
        for (int i = 0; i < COUNTERS; i++)
            files[i] = open(counters[i], O_RDONLY);
        for (int i = 0;; i = (i + 1) % COUNTERS)
            if (pread(files[i], content, sizeof content, 0) < 0) continue;
    }
}

int main(void) {
    while (hear()) {
        if (is("READY")) storm();
        play();
    }
    return 0;
}
