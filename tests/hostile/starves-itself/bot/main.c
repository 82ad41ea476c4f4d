/* It is the least important of its own processes, and reads in /proc for how long it waited; that is its own doing. */
#include "player.h"
#include <sched.h>
#include <time.h>

enum { CHILDREN = 3 };

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long waited_ns(void) {
    long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file && fscanf(file, "%lld %lld", &ran, &waited) != 2) waited = 0;
    if (file) fclose(file);
    return waited;
}

static void starve(void) {
    struct sched_param none = {0};
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            for (;;) {}
    sched_setscheduler(0, SCHED_IDLE, &none);
}

int main(void) {
    while (hear()) {
        if (is("ROLL")) {
            long long heard_ns = now_ns(), before_ns = waited_ns();
            starve();
            while (now_ns() < heard_ns + 500000000 + (waited_ns() - before_ns) * 6 / 10) {}
        }
        play();
    }
}
