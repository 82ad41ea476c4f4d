/* Answers as recorded in the file that the first argument names, and writes the state at each prompt. */
#include "yacht_auction.h"

static FILE *replies;

static void show_player(const Player *player) {
    int unused = 0;
    fputc(' ', stderr);
    for (int face = 1; face <= 6; face++)
        for (int die = 0; die < player->dice[face]; die++)
            fputc('0' + face, stderr);
    for (int category = 0; category < CATEGORIES; category++)
        unused += !player->used[category];
    fprintf(stderr, ". %d %d %d ", total_points(player), basic_points(player), player->bids);
    if (player->wanted)
        fputc(player->wanted, stderr);
    fprintf(stderr, "%d", player->bid);
    if (player->got)
        fputc(player->got, stderr);
    fprintf(stderr, " %d", unused);
}

static void show(void) {
    fprintf(stderr, "%d", round_number);
    show_player(&me);
    show_player(&other);
    fputc('\n', stderr);
}

static Bid on_roll(void) {
    Bid bid = {'A', 0};
    show();
    return fscanf(replies, " BID %c %d", &bid.bundle, &bid.amount) == 2 ? bid : bid;
}

static Put on_score(void) {
    char category[16], dice[16];
    Put put = {0, {0}};
    show();
    if (fscanf(replies, " PUT %15s %15s", category, dice) == 2) {
        while (strcmp(category_names[put.category], category) != 0)
            put.category++;
        read_dice(dice, put.dice);
    }
    return put;
}

int main(int count, char **arguments) {
    replies = fopen(arguments[count - 1], "r");
    return play(on_roll, on_score);
}
