/* The smallest Yacht Auction bot that plays a legal match. The rules are in games/yacht_auction/protocol.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const categories[] = {
    "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "CHOICE",
    "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
};

static int total(const char *dice) {
    int sum = 0;
    while (*dice)
        sum += *dice++ - '0';
    return sum;
}

int main(void) {
    char line[128], bundles[2][6], dice[11] = ""; /* we hold five dice, ten between an auction and its scoring */
    int rounds = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* flush after every line, or it would arrive too late */

    while (fgets(line, sizeof line, stdin)) {
        char ours;
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (sscanf(line, "ROLL %5s %5s", bundles[0], bundles[1]) == 2) {
            /* Bid half of the difference for the bundle with more pips. */
            int a = total(bundles[0]), b = total(bundles[1]);
            printf("BID %c %d\n", a >= b ? 'A' : 'B', 500 * abs(a - b));
        } else if (sscanf(line, "GET %c", &ours) == 1) { /* the other player's target and bid follow */
            strncat(dice, bundles[ours - 'A'], sizeof dice - 1 - strlen(dice));
        } else if (strncmp(line, "SCORE", 5) == 0) {
            /* The first five dice, in the first category that is unused. */
            printf("PUT %s %.5s\n", categories[rounds++], dice);
            memmove(dice, dice + 5, sizeof dice - 5);
        } else if (strncmp(line, "FINISH", 6) == 0) {
            break;
        } /* SET says what the other player scored; it expects no answer. */
    }
    return 0;
}
