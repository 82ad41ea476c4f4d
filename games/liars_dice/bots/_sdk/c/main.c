/* A Liar's Dice bot, valid as C (main.c) and as C++ (main.cpp): change its answer. liars_dice.h keeps what was seen;
 * the rules are in protocol.md. */
#include "liars_dice.h"

/* How many dice a bid on this face should count: ours, and the share of the others' that is usual. */
static double likely(int face) {
    return matching(dice, face) + (in_play() - counts[me]) / (face == 1 ? 6.0 : 3.0);
}

/* Make the bid that is the most likely to be true, and challenge one that is not. */
static Bid on_turn(void) {
    Bid best = {CHALLENGE, 0, 0};
    if (current.quantity > likely(current.face))
        return best;
    for (int face = 1; face <= 6; face++) {
        Bid bid = lowest(face);
        if (bid.quantity > HIGHEST_QUANTITY)
            continue;
        if (best.quantity < 0 || likely(face) - bid.quantity > likely(best.face) - best.quantity)
            best = bid;
    }
    return best;
}

int main(void) {
    return play(on_turn);
}
