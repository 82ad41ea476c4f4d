/* A child keeps its first process waiting for a processor from one prompt until the next one is there: a wait of before
 * that prompt, counted when it is over.
 */
#include "player.h"
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

enum { SAVED_MS = 80, OVER_MS = 600, NOTICE = sizeof "GET A" };

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void think(int milliseconds) {
    for (long long until = now_ms() + milliseconds; now_ms() < until;) {}
}

int main(void) {
    struct sched_param none = {0};
    int unread;
    volatile char *saving = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    if (fork() == 0)
        for (;; *saving = 0) {
            while (!*saving) usleep(1000);
            think(SAVED_MS);
            puts("BID A 0");
            fflush(stdout);
            do ioctl(0, FIONREAD, &unread);
            while (unread <= NOTICE);
        }
    sched_setscheduler(0, SCHED_IDLE, &none);
    while (hear()) {
        if (is("ROLL")) {
            for (*saving = 1; *saving;) {}
            sscanf(line, "ROLL %5s %5s", bundles[0], bundles[1]);
            continue;
        }
        if (is("SCORE"))
            for (clock_t began = clock(); clock() < began + OVER_MS * (CLOCKS_PER_SEC / 1000);) {}
        play();
    }
}
