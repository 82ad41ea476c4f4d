/* Answers as recorded in the file that the first argument names, and writes the state at each prompt. */
#include "betris_large.h"

static FILE *replies;

static void show_player(const Player *player) {
    fprintf(stderr, " %d %d ", player->chips, player->time_ms);
    for (int row = 1; row <= SIDE; row++)
        for (int column = 1; column <= SIDE; column++)
            if (player->filled[row][column])
                fprintf(stderr, "%d%d", row, column);
    fputc('.', stderr);
}

static void show(void) {
    fprintf(stderr, "%d %s %s", round_number, block_names[offered[0]], block_names[offered[1]]);
    show_player(&me);
    show_player(&other);
    fputc('\n', stderr);
}

static Bet on_phase1(void) {
    char name[8] = "";
    Bet bet = {0, 0};
    show();
    if (fscanf(replies, " BET %7s %d", name, &bet.chips) == 2)
        bet.block = block_number(name);
    return bet;
}

static Place on_phase2(int block) {
    static Place places[MAX_PLACES];
    char line[256];
    Place place = {0, {{0, 0}}};
    show();
    if (fscanf(replies, " PLACE %255[^\n]", line) == 1)
        place = read_place(line);
    for (int left = fitting(&me, block, places); place.count; left--) { /* among all that fit there must be this one */
        int same = 0;
        if (left == 0)
            abort();
        for (int i = 0; i < place.count; i++)
            for (int j = 0; j < place.count; j++)
                same += places[left - 1].cells[i].row == place.cells[j].row &&
                        places[left - 1].cells[i].column == place.cells[j].column;
        if (same == place.count)
            break;
    }
    return place;
}

int main(int count, char **arguments) {
    replies = fopen(arguments[count - 1], "r");
    return play(on_phase1, on_phase2);
}
