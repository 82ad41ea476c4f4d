/* A Betris bot, valid as C (main.c) and as C++ (main.cpp): change its two answers. betris_large.h keeps the state; the
 * rules are in protocol.md. */
#include "betris_large.h"

static Place places[MAX_PLACES];

/* Bet a chip on the block with more ways to be placed. */
static Bet on_phase1(void) {
    int more = fitting(&me, offered[1], places) > fitting(&me, offered[0], places);
    Bet bet = {offered[more], me.chips > 0};
    return bet;
}

/* How many neighbours of the cells are filled or outside the board: the more, the fewer holes are left. */
static int touching(const Place *place) {
    int sum = 0;
    for (int i = 0; i < place->count; i++) {
        int row = place->cells[i].row, column = place->cells[i].column;
        sum += me.filled[row - 1][column] + me.filled[row + 1][column];
        sum += me.filled[row][column - 1] + me.filled[row][column + 1];
    }
    return sum;
}

static Place on_phase2(int block) {
    Place best = {0, {{0, 0}}}; /* passes, if the block fits nowhere */
    for (int left = fitting(&me, block, places); left > 0; left--)
        if (!best.count || touching(&places[left - 1]) > touching(&best))
            best = places[left - 1];
    return best;
}

int main(void) {
    return play(on_phase1, on_phase2);
}
