/* A Yacht Auction bot, valid as C (main.c) and as C++ (main.cpp): change its two answers. yacht_auction.h keeps the
 * state; the rules are in protocol.md. */
#include "yacht_auction.h"

/* Bid for the bundle with more pips. */
static Bid on_roll(void) {
    int lead = 0;
    for (int face = 1; face <= 6; face++)
        lead += face * (bundles[0][face] - bundles[1][face]);
    Bid bid = {lead >= 0 ? 'A' : 'B', lead >= 0 ? 100 * lead : -100 * lead};
    return bid;
}

/* Take the free category that scores most with its own face first, and then with the highest dice. */
static Put on_score(void) {
    Put best = {-1, {0}};
    for (int category = 0; category < CATEGORIES; category++) {
        Put put = {category, {0}};
        int left = DICE, own = category < BASIC ? category + 1 : 0;
        for (int face = 7; left > 0 && face > 0; face--) {
            int taken = face == 7 ? own : face; /* the category's own face comes first */
            int free = taken ? me.dice[taken] - put.dice[taken] : 0;
            int count = free < left ? free : left;
            put.dice[taken] += count;
            left -= count;
        }
        if (!me.used[category] && (best.category < 0 || points(category, put.dice) > points(best.category, best.dice)))
            best = put;
    }
    return best;
}

int main(void) {
    return play(on_roll, on_score);
}
