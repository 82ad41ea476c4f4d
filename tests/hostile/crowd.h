/* A write to a pipe tells everyone who waits for it, one by one. Each child of `crowd` holds as many epolls as it may open,
 * some 150, in each of which every one of 100 numbers of the bot's standard input is a waiter: 450,000 in all.
 */
#ifndef CROWD_H
#define CROWD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/epoll.h>
#include <unistd.h>

enum { CROWD_CHILDREN = 30, CROWD_NUMBERS = 100 };

static inline void crowd_of(int children) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    for (int child = 0; child < children; child++) {
        if (fork() != 0) continue;
        int numbers[CROWD_NUMBERS], held = 0;
        while (held < CROWD_NUMBERS && (numbers[held] = dup(0)) >= 0)
            held++;
        for (int epoll; (epoll = epoll_create1(0)) >= 0;)
            for (int i = 0; i < held; i++)
                epoll_ctl(epoll, EPOLL_CTL_ADD, numbers[i], &event);
        for (;;)
            pause();
    }
}

static inline void crowd(void) {
    crowd_of(CROWD_CHILDREN);
}

#endif
