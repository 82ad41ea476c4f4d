/* What every Yacht Auction bot in C or C++ needs: reads the referee's lines, keeps both players' state, and asks your
 * two functions. Call play(on_roll, on_score) from main. This file belongs into your upload and is yours to change. The
 * rules are in protocol.md. */
#ifndef YACHT_AUCTION_H
#define YACHT_AUCTION_H

#include <stdio.h>
#include <string.h>

enum { DICE = 5, BASIC = 6, CHOICE = 6, FOUR_OF_A_KIND, FULL_HOUSE, SMALL_STRAIGHT, LARGE_STRAIGHT, YACHT, CATEGORIES };

static const char *const category_names[CATEGORIES] = {
    "ONE",    "TWO",            "THREE",      "FOUR",           "FIVE",           "SIX",
    "CHOICE", "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT",
};

/* Dice are counted by face: dice[6] is how many sixes; dice[0] is always 0. */
typedef struct {
    int dice[7];            /* held: five, or ten between an auction and its scoring */
    int used[CATEGORIES];   /* 1: has been scored in */
    int scores[CATEGORIES]; /* the points there */
    int bids;               /* what all auctions have brought */
    char wanted, got;       /* in the last auction: 'A' or 'B' */
    int bid;
} Player;

typedef struct {
    char bundle; /* 'A' or 'B' */
    int amount;  /* from 0 to 100000 */
} Bid;

typedef struct {
    int category; /* from 0, in the order of category_names */
    int dice[7];  /* five of those held */
} Put;

static Player me, other;
static int round_number;  /* from 1 to 13 */
static int bundles[2][7]; /* the dice of A and B in the last auction */

/* The points of five dice in a category. */
static inline int points(int category, const int *dice) {
    int total = 0, most = 0, least = DICE, run = 0, longest = 0;
    for (int face = 1; face <= 6; face++) {
        total += 1000 * face * dice[face];
        most = dice[face] > most ? dice[face] : most;
        least = dice[face] && dice[face] < least ? dice[face] : least;
        run = dice[face] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    switch (category) {
    case CHOICE: return total;
    case FOUR_OF_A_KIND: return most >= 4 ? total : 0;
    case FULL_HOUSE: return most == 5 || (most == 3 && least == 2) ? total : 0;
    case SMALL_STRAIGHT: return longest >= 4 ? 15000 : 0;
    case LARGE_STRAIGHT: return longest >= 5 ? 30000 : 0;
    case YACHT: return most == 5 ? 50000 : 0;
    default: return 1000 * (category + 1) * dice[category + 1];
    }
}

/* The points of the basic categories, which earn the bonus of 35000 from 63000 on. */
static inline int basic_points(const Player *player) {
    int sum = 0;
    for (int category = 0; category < BASIC; category++)
        sum += player->scores[category];
    return sum;
}

/* The total if the match ended now. */
static inline int total_points(const Player *player) {
    int sum = player->bids + (basic_points(player) >= 63000 ? 35000 : 0);
    for (int category = 0; category < CATEGORIES; category++)
        sum += player->scores[category];
    return sum;
}

static inline void add_dice(int *dice, const int *more, int times) {
    for (int face = 1; face <= 6; face++)
        dice[face] += times * more[face];
}

static inline void read_dice(const char *text, int *dice) {
    memset(dice, 0, 7 * sizeof *dice);
    for (; *text >= '1' && *text <= '6'; text++)
        dice[*text - '0']++;
}

static inline void settle(Player *player, char got) {
    player->got = got;
    player->bids += got == player->wanted ? -player->bid : player->bid;
    add_dice(player->dice, bundles[got - 'A'], 1);
}

static inline void score(Player *player, int category, const int *dice) {
    player->used[category] = 1;
    player->scores[category] = points(category, dice);
    add_dice(player->dice, dice, -1);
}

/* Talk to the referee until FINISH or the end of the input; return what main returns. */
static inline int play(Bid (*on_roll)(void), Put (*on_score)(void)) {
    char line[4098], a[16], b[16], got;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (sscanf(line, "ROLL %15s %15s", a, b) == 2) {
            round_number++;
            read_dice(a, bundles[0]);
            read_dice(b, bundles[1]);
            Bid bid = on_roll();
            me.wanted = bid.bundle;
            me.bid = bid.amount;
            printf("BID %c %d\n", bid.bundle, bid.amount);
        } else if (sscanf(line, "GET %c %c %d", &got, &other.wanted, &other.bid) == 3) {
            settle(&me, got);
            settle(&other, got == 'A' ? 'B' : 'A');
        } else if (strncmp(line, "SCORE", 5) == 0) {
            round_number += me.dice[1] + me.dice[2] + me.dice[3] + me.dice[4] + me.dice[5] + me.dice[6] == DICE;
            Put put = on_score(); /* in round 13, which has no auction, five dice are left */
            score(&me, put.category, put.dice);
            printf("PUT %s ", category_names[put.category]);
            for (int face = 1; face <= 6; face++)
                for (int die = 0; die < put.dice[face]; die++)
                    putchar('0' + face);
            putchar('\n');
        } else if (sscanf(line, "SET %15s %15s", a, b) == 2) {
            int dice[7], category = 0;
            while (category < CATEGORIES - 1 && strcmp(category_names[category], a) != 0)
                category++;
            read_dice(b, dice);
            score(&other, category, dice);
        } else if (strncmp(line, "FINISH", 6) == 0) {
            break;
        }
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}

#endif
