/* Answers as recorded in the file that the first argument names, and writes the state at each prompt. */
#include "liars_dice.h"

static FILE *replies;

static void show(void) {
    fprintf(stderr, "%d %d ", round_number, me);
    for (int face = 1; face <= 6; face++)
        for (int die = 0; die < dice[face]; die++)
            fputc('0' + face, stderr);
    fputc(' ', stderr);
    for (int player = 1; player <= PLAYERS; player++)
        fputc('0' + counts[player], stderr);
    fprintf(stderr, " %d %d %d", current.quantity, current.face, current.player);
    for (int number = 0; number < bid_count; number++)
        fprintf(stderr, " %dx%dP%d", bids[number].quantity, bids[number].face, bids[number].player);
    fputc('\n', stderr);
}

static Bid on_turn(void) {
    static char line[4098];
    Bid bid = {RESIGN, 0, 0};
    show();
    for (int face = 1; face <= 6; face++) /* the lowest bid on each face is the first that is higher */
        if (current.quantity && height(lowest(face)) <= height(current))
            abort();
    if (fgets(line, sizeof line, replies)) {
        if (strstr(line, "\"challenge\"")) {
            bid.quantity = CHALLENGE;
        } else if (strstr(line, "\"bid\"")) {
            bid.quantity = atoi(after(line, "\"quantity\":"));
            bid.face = atoi(after(line, "\"faceValue\":"));
        }
    }
    return bid;
}

int main(int count, char **arguments) {
    replies = fopen(arguments[count - 1], "r");
    return play(on_turn);
}
