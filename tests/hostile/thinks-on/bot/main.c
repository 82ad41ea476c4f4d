/* They get one: that of their own box. */
#include "player.h"
#include <pthread.h>
#include <sched.h>

static volatile int elsewhere;

static void *think(void *home) {
    for (;;) {
        cpu_set_t all;
        memset(&all, 0xff, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        elsewhere |= sched_getcpu() != *(int *)home;
    }
}

int main(void) {
    int home = sched_getcpu();
    pthread_t thread;
    for (int i = 0; i < 20; i++)
        pthread_create(&thread, NULL, think, &home);
    while (hear())
        play();
    found("another processor", elsewhere);
    return 0;
}
