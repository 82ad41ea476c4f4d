/* A write to a pipe tells everyone who waits for it, one by one. Each child holds 150 epolls, in each of which every one of
 * 100 numbers of the same pipe is a waiter: 450,000 in all. */
#include "player.h"
#include <sys/epoll.h>

enum { CHILDREN = 30, NUMBERS = 100 };

static void crowd(void) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    for (int child = 0; child < CHILDREN; child++) {
        if (fork() != 0) continue;
        int numbers[NUMBERS], held = 0;
        while (held < NUMBERS && (numbers[held] = dup(0)) >= 0)
            held++;
        for (int epoll; (epoll = epoll_create1(0)) >= 0;)
            for (int i = 0; i < held; i++)
                epoll_ctl(epoll, EPOLL_CTL_ADD, numbers[i], &event);
        for (;;)
            pause();
    }
}

int main(void) {
    while (hear()) {
        if (is("READY")) crowd();
        play();
    }
}
