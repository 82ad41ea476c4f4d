/* A Yacht Auction bot in C: tries every play and looks a little ahead.
 *
 * A play (five dice, a category) is worth its points above what the category usually brings, plus a hint of the
 * future: the five dice that it leaves, joined by two more (the average over all 36 pairs), scored once in the best
 * category still unused. A bundle is worth the best play that it allows; the bid is half of the difference, which
 * is what the other player would bid if both bundles were worth the same to it as to us.
 *
 * One command a line on standard input; every reply is flushed. The rules: games/yacht_auction/protocol.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"

/* What each category brings on average when it is played well, in category order. */
static const int par[CATEGORIES] = {3000, 6000,  9000,  12000, 15000, 18000,
                                    24000, 20000, 23000, 15000, 28000, 40000};

/* The bonus of 35000 for 63000 basic points, spread over those points. */
static const double bonus_share = 35.0 / 63.0;

static Hand held;            /* five dice, ten between an auction and the scoring after it */
static int used[CATEGORIES];

typedef struct {
    double value;
    int category;
    Hand five;
} Play;

/* Points of a category above its par. */
static double worth(int category, int points) {
    double above = points - par[category];
    return category < BASIC ? above * (1 + bonus_share) : above;
}

/* The best that these dice score above par in any category that is neither used nor `taken`. */
static double best_worth(const Hand *hand, int taken) {
    double best = -1e9;
    for (int category = 0; category < CATEGORIES; category++) {
        if (used[category] || category == taken)
            continue;
        double value = worth(category, best_points(hand, category));
        best = value > best ? value : best;
    }
    return best == -1e9 ? 0 : best; /* nothing is left to score */
}

/* The average of best_worth over the 36 ways in which two dice can join `left`. */
static double future(const Hand *left, int taken) {
    double sum = 0;
    for (int one = 0; one < FACES; one++) {
        for (int two = one; two < FACES; two++) {
            Hand joined = *left;
            joined.count[one]++;
            joined.count[two]++;
            sum += (one == two ? 1 : 2) * best_worth(&joined, taken);
        }
    }
    return sum / 36;
}

/* Build every set of five dice of `all`, face by face, and keep the best play in `best`. */
static void try_plays(const Hand *all, Hand *five, int face, int missing, Play *best) {
    if (face < FACES) {
        for (int n = 0; n <= all->count[face] && n <= missing; n++) {
            five->count[face] = n;
            try_plays(all, five, face + 1, missing - n, best);
        }
        five->count[face] = 0;
        return;
    }
    if (missing > 0)
        return;
    Hand left = hand_minus(all, five);
    for (int category = 0; category < CATEGORIES; category++) {
        if (used[category])
            continue;
        double value = worth(category, best_points(five, category)) + future(&left, category);
        if (value > best->value)
            *best = (Play){value, category, *five};
    }
}

static Play best_play(const Hand *all) {
    Play best = {.value = -1e9};
    Hand five = {{0}};
    try_plays(all, &five, 0, 5, &best);
    return best;
}

static void bid(const Hand *a, const Hand *b) {
    Hand with_a = hand_plus(&held, a), with_b = hand_plus(&held, b);
    double difference = best_play(&with_a).value - best_play(&with_b).value;
    int amount = (int)(difference > 0 ? difference : -difference) / 2;
    printf("BID %c %d\n", difference >= 0 ? 'A' : 'B', amount < 100000 ? amount : 100000);
}

static void put(void) {
    char dice[16];
    Play play = best_play(&held);
    held = hand_minus(&held, &play.five);
    used[play.category] = 1;
    hand_print(&play.five, dice);
    printf("PUT %s %s\n", category_names[play.category], dice);
}

int main(void) {
    char line[128];
    Hand a = {{0}}, b = {{0}};
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "READY", 5)) {
            puts("OK");
        } else if (!strncmp(line, "ROLL ", 5)) { /* ROLL 12345 66666 */
            a = hand_from(line + 5);
            b = hand_from(line + 11);
            bid(&a, &b);
        } else if (!strncmp(line, "GET ", 4)) { /* GET A B 500: we got A, the other player wanted B for 500 */
            held = hand_plus(&held, line[4] == 'A' ? &a : &b);
        } else if (!strncmp(line, "SCORE", 5)) {
            put();
        } else if (!strncmp(line, "FINISH", 6)) {
            break;
        } /* SET says what the other player scored, which we ignore */
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}
