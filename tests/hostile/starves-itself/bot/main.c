/* It is the least important of its own processes, and measures for how long it waited; that is its own doing. On a busy
 * host it goes on until its children alone have used more than its limit.
 */
#include "player.h"
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

enum { CHILDREN = 3 };

static volatile long long *used_ns; /* by each child */

static long long now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long waited_ns(void) {
    return now_ns(CLOCK_MONOTONIC) - now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void starve(void) {
    struct sched_param none = {0};
    used_ns = mmap(NULL, CHILDREN * sizeof *used_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            for (;;)
                used_ns[child] = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    sched_setscheduler(0, SCHED_IDLE, &none);
}

int main(void) {
    while (hear()) {
        if (is("ROLL")) {
            long long heard_ns = now_ns(CLOCK_MONOTONIC), before_ns = waited_ns();
            starve();
            while (now_ns(CLOCK_MONOTONIC) < heard_ns + 500000000 + (waited_ns() - before_ns) * 6 / 10 ||
                   used_ns[0] + used_ns[1] + used_ns[2] < 550000000) {}
        }
        play();
    }
}
