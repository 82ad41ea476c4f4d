/* Plays Yacht Auction legally and badly, and uses its time as its first lines say; `tricks` writes another HABIT into it. */
#define _GNU_SOURCE
#include "crowd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PLAIN, MIXED, WORKS_LATE, SLEEPS_LATE, AIMS, EDGE, EPOLLS };
enum { HABIT = PLAIN };
enum { LIMIT_US = 500000, LATE_US = 520000, EDGE_US = 498500, BEHIND_FROM = 10 };

static char line[128], bundles[2][6], dice[11];
static int scored;

static long long now_us(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void spin_until(clockid_t clock, long long us) {
    while (now_us(clock) < us) {}
}

/* A box has no /proc to read this from, but whoever spins sees it: time that passes and is not its own. */
static long long waited_us(void) {
    return now_us(CLOCK_MONOTONIC) - now_us(CLOCK_PROCESS_CPUTIME_ID);
}

/* Before the answer to a prompt: what this bot does with its time. */
static void use_time(int bids) {
    static int prompts;
    long long heard_us = now_us(CLOCK_MONOTONIC), before_us = waited_us();
    int behind = scored >= BEHIND_FROM;
    if (HABIT == MIXED && ++prompts % 8 == 3) {
        int share_us = 50000 + rand() % 400000, works_us = rand() % share_us;
        long long ran_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
        spin_until(CLOCK_PROCESS_CPUTIME_ID, ran_us + works_us);
        usleep(share_us - works_us);
    }
    if (HABIT == WORKS_LATE && bids && scored == 2)
        spin_until(CLOCK_PROCESS_CPUTIME_ID, now_us(CLOCK_PROCESS_CPUTIME_ID) + LATE_US);
    if (HABIT == SLEEPS_LATE && bids && scored == 2) usleep(LATE_US);
    if (HABIT == EDGE && behind) spin_until(CLOCK_MONOTONIC, heard_us + EDGE_US);
    if (HABIT == AIMS && behind)
        while (now_us(CLOCK_MONOTONIC) < heard_us + EDGE_US) {
            long long taken_us = waited_us() - before_us;
            if (taken_us > 1000) {
                while (now_us(CLOCK_MONOTONIC) < heard_us + LIMIT_US + (waited_us() - before_us) * 6 / 10) {}
                break;
            }
        }
    if (HABIT == EPOLLS && bids && scored == BEHIND_FROM) crowd();
}

int main(void) {
    static const char *const categories[] = {
        "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
        "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
    };
    char ours;
    setvbuf(stdout, NULL, _IOLBF, 0);
    srand((unsigned)now_us(CLOCK_MONOTONIC));
    while (fgets(line, sizeof line, stdin) && strncmp(line, "FINISH", 6) != 0) {
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (sscanf(line, "ROLL %5s %5s", bundles[0], bundles[1]) == 2) {
            use_time(1);
            puts("BID A 9000");
        } else if (sscanf(line, "GET %c", &ours) == 1) {
            strcat(dice, bundles[ours - 'A']);
        } else if (strncmp(line, "SCORE", 5) == 0) {
            use_time(0);
            printf("PUT %s %.5s\n", categories[scored++], dice);
            memmove(dice, dice + 5, 6);
        }
    }
    return 0;
}
