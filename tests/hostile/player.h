/* A legal game of Yacht Auction, for bots that do something else besides. A bot links to this file and says:
 *
 *     while (hear()) { ...; play(); }
 *
 * `hear` takes the next line and is 0 after FINISH (or the end of input), `is` tells which line it is, `play` answers it
 * as it should be answered. `found` is for probes: see README.md.
 */
#ifndef PLAYER_H
#define PLAYER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static char line[128], bundles[2][6], dice[11];
static int scored;

static inline int is(const char *command) {
    return strncmp(line, command, strlen(command)) == 0;
}

static inline int hear(void) {
    return fgets(line, sizeof line, stdin) != NULL && !is("FINISH");
}

static inline void play(void) {
    static const char *const categories[] = {
        "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
        "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
    };
    char ours;
    if (is("READY")) {
        puts("OK");
    } else if (sscanf(line, "ROLL %5s %5s", bundles[0], bundles[1]) == 2) {
        puts("BID A 0");
    } else if (sscanf(line, "GET %c", &ours) == 1) {
        strcat(dice, bundles[ours - 'A']);
    } else if (is("SCORE")) {
        printf("PUT %s %.5s\n", categories[scored++], dice);
        memmove(dice, dice + 5, 6);
    }
    fflush(stdout);
}

static inline void found(const char *name, int breach) {
    dprintf(2, "tried: %s\n", name);
    if (breach) dprintf(2, "BREACH: %s\n", name);
}

#endif
