/* A bot that does as it is told: "SLEEP us", "WORK us" (of its own CPU time) or "MUTE", then says OK.
 * "WHEN" asks when, by the clock that it shares with the referee, it began and ended to write its last OK. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
    char line[64];
    long long begun = 0, done = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        long long read_at = now(CLOCK_MONOTONIC), work_from = now(CLOCK_PROCESS_CPUTIME_ID), ns = 0;
        char *number = strchr(line, ' ');
        if (number) ns = atoll(number) * 1000;
        if (strncmp(line, "WHEN", 4) == 0) {
            printf("AT %lld %lld\n", begun, done);
            continue;
        }
        if (line[0] == 'M') continue;
        if (line[0] == 'W')
            while (now(CLOCK_PROCESS_CPUTIME_ID) - work_from < ns) {}
        if (line[0] == 'S') {
            long long nap = ns - 300000; /* the timer may be late; the last part is waited for awake */
            struct timespec t = {nap / 1000000000, nap % 1000000000};
            if (nap > 0) nanosleep(&t, NULL);
            while (now(CLOCK_MONOTONIC) - read_at < ns) {}
        }
        begun = now(CLOCK_MONOTONIC);
        if (write(1, "OK\n", 3) != 3) return 1;
        done = now(CLOCK_MONOTONIC);
    }
    return 0;
}
