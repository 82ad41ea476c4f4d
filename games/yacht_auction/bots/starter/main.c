/* A Yacht Auction bot to start from, valid as C (main.c) and as C++ (main.cpp): legal and simple.
 *
 * One command arrives per line on standard input; READY, ROLL and SCORE expect one line back at once, on standard output
 * and flushed. The rules are in games/yacht_auction/protocol.md. */
#include <stdio.h>
#include <string.h>

enum { DICE = 5, CATEGORIES = 12 };

static const char *const category_names[CATEGORIES] = {
    "ONE",    "TWO",            "THREE",      "FOUR",           "FIVE",           "SIX",
    "CHOICE", "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
};

static int used[CATEGORIES];   /* 1: we have scored in it */
static int held[7];            /* held[6] is how many sixes we hold */
static char a[16], b[16];      /* the bundles of this round's auction */

/* How many pips the dice show together. */
static int pips(const char *dice) {
    int sum = 0;
    for (; *dice; dice++)
        sum += *dice - '0';
    return sum;
}

/* Bid for the bundle with more pips: 100 for every pip that it has more than the other. */
static void answer_roll(void) {
    int difference = pips(a) - pips(b);
    if (difference >= 0)
        printf("BID A %d\n", 100 * difference);
    else
        printf("BID B %d\n", -100 * difference);
}

/* The basic category (0 to 5 for faces 1 to 6) that scores most with what we hold; another one if all are used. */
static int choose_category(void) {
    int best = -1, most = 0;
    for (int face = 1; face <= 6; face++) {
        int points = face * (held[face] < DICE ? held[face] : DICE);
        if (!used[face - 1] && points > most) {
            best = face - 1;
            most = points;
        }
    }
    for (int category = CATEGORIES - 1; best < 0; category--)
        if (!used[category])
            best = category;
    return best;
}

/* Score in that category: its own face first, then whatever is highest. The other dice stay with us. */
static void answer_score(void) {
    int category = choose_category();
    char chosen[DICE + 1] = "";
    int count = 0;
    if (category < 6)
        for (; count < DICE && held[category + 1] > 0; held[category + 1]--)
            chosen[count++] = (char)('1' + category);
    for (int face = 6; face >= 1; face--)
        for (; count < DICE && held[face] > 0; held[face]--)
            chosen[count++] = (char)('0' + face);
    used[category] = 1;
    printf("PUT %s %s\n", category_names[category], chosen);
}

int main(void) {
    char line[256], got;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (sscanf(line, "ROLL %15s %15s", a, b) == 2) { /* ROLL 12345 66666: bundles A and B */
            answer_roll();
        } else if (sscanf(line, "GET %c", &got) == 1) { /* GET A B 500: we got A; the other wanted B for 500 */
            for (const char *die = got == 'A' ? a : b; *die; die++)
                held[*die - '0']++;
        } else if (strncmp(line, "SCORE", 5) == 0) {
            answer_score();
        } else if (strncmp(line, "FINISH", 6) == 0) {
            break;
        } /* SET says what the other player scored, which this bot ignores */
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}
