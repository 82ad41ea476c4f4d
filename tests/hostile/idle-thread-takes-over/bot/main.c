/* Its first thread has the least weight and has waited for a processor since before each prompt, behind another thread
 * that plays and spins. That one computes for 4 ms, then lets the first thread run for a moment, which ends its wait.
 */
#include "player.h"
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <time.h>

enum { WORK_NS = 4000000 };

static volatile int asked;
static int woken[2];
static long long used_ns;

static long long now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *take_over(void *none) {
    struct timespec moment = {.tv_nsec = 20000};
    int unread;
    setvbuf(stdin, NULL, _IONBF, 0);
    while (hear()) {
        long long began_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        asked = 1;
        while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < began_ns + WORK_NS) {}
        nanosleep(&moment, NULL);
        if (is("ROLL") || is("SCORE")) used_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
        play();
        asked = 0;
        if (write(woken[1], "", 1) != 1) break;
        do ioctl(0, FIONREAD, &unread);
        while (unread == 0);
    }
    dprintf(2, "used: %lld\n", used_ns);
    _exit(0);
    return none;
}

int main(void) {
    struct sched_param none = {0};
    pthread_t thread;
    char byte;
    if (pipe(woken) != 0) return 1;
    pthread_create(&thread, NULL, take_over, NULL);
    sched_setscheduler(0, SCHED_IDLE, &none);
    while (read(woken[0], &byte, 1) == 1)
        while (!asked) {}
}
