/* What every Betris bot in C or C++ needs: reads the referee's lines, keeps both players' state, and asks your two
 * functions. Call play(on_phase1, on_phase2) from main. This file belongs into your upload and is yours to change. The
 * rules are in protocol.md. */
#ifndef BETRIS_LARGE_H
#define BETRIS_LARGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 7, CHIPS = 24, MAX_BET = 5, ROUNDS = 12, BLOCKS = 21, MAX_CELLS = 5, TURNS = 4, MAX_PLACES = 8 * 49 + 1 };

/* One form of every block, rows separated by slashes; turning and flipping it gives the others. */
static const char *const block_names[BLOCKS] = {"I1", "I2", "I3", "L3", "I4", "L4", "S4", "T4", "O4", "I5", "L5",
                                                "F5", "N5", "P5", "T5", "U5", "V5", "W5", "X5", "Y5", "Z5"};
static const char *const block_shapes[BLOCKS] = {
    "#",           "##",          "###",          "#./##",        "####",       "#../###",     ".##/##.",
    "###/.#.",     "##/##",       "#####",        "#.../####",    ".##/##./.#.", "##../.###",  "##/##/#.",
    "###/.#./.#.", "#.#/###",     "#../#../###",  "#../##./.##",  ".#./###/.#.", ".#../####",  "##./.#./.##",
};

typedef struct {
    int row, column; /* from 1 */
} Cell;

typedef struct {
    int count; /* 0 passes */
    Cell cells[MAX_CELLS];
} Place;

typedef struct {
    int filled[SIDE + 2][SIDE + 2]; /* the board; what is outside it counts as filled */
    int chips;
    int time_ms; /* left in the bank */
} Player;

typedef struct {
    int block, chips; /* the block counts from 0, in the order of block_names */
} Bet;

static Player me, other;
static int round_number; /* from 1 to 12 */
static int offered[2];   /* the two blocks of this round */

static inline int block_number(const char *name) {
    int block = BLOCKS;
    while (--block > 0 && strcmp(block_names[block], name) != 0) {}
    return block;
}

static inline Place shape_of(int block) {
    Place place = {0, {{0, 0}}};
    int row = 1, column = 1;
    for (const char *mark = block_shapes[block]; *mark; mark++, column++) {
        Cell cell = {row, column};
        if (*mark == '#')
            place.cells[place.count++] = cell;
        else if (*mark == '/')
            row++, column = 0;
    }
    return place;
}

/* A quarter turn, or a flip, and back to the top left. */
static inline void transform(Place *place, int flip) {
    int top = SIDE, left = SIDE;
    for (Cell *cell = place->cells; cell < place->cells + place->count; cell++) {
        int row = cell->row, column = cell->column;
        cell->row = flip ? row : column;
        cell->column = flip ? -column : -row;
        top = cell->row < top ? cell->row : top;
        left = cell->column < left ? cell->column : left;
    }
    for (Cell *cell = place->cells; cell < place->cells + place->count; cell++)
        cell->row += 1 - top, cell->column += 1 - left;
}

/* Write every way to place a block on a player's board, and return how many there are; symmetric blocks repeat some. */
static inline int fitting(const Player *player, int block, Place *found) {
    Place form = shape_of(block);
    int count = 0;
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        transform(&form, turn == TURNS);
        for (int down = 0; down < SIDE; down++)
            for (int right = 0; right < SIDE; right++) {
                int taken = 0;
                found[count] = form;
                for (Cell *cell = found[count].cells; cell < found[count].cells + form.count; cell++) {
                    cell->row += down;
                    cell->column += right;
                    taken |= cell->row > SIDE || cell->column > SIDE || player->filled[cell->row][cell->column];
                }
                count += !taken;
            }
    }
    return count;
}

static inline void fill(Player *player, const Place *place) {
    for (int i = 0; i < place->count; i++)
        player->filled[place->cells[i].row][place->cells[i].column] = 1;
}

static inline Place read_place(char *text) {
    Place place = {0, {{0, 0}}};
    place.count = (int)strtol(text, &text, 10);
    for (int i = 0; i < place.count && i < MAX_CELLS; i++) {
        place.cells[i].row = (int)strtol(text, &text, 10);
        place.cells[i].column = (int)strtol(text, &text, 10);
    }
    return place;
}

/* Talk to the referee until FINISH or the end of the input; return what main returns. */
static inline int play(Bet (*on_phase1)(void), Place (*on_phase2)(int block)) {
    char line[4098], a[8], b[8];
    for (int edge = 0; edge < SIDE + 2; edge++)
        for (int side = 0; side < SIDE + 2; side += SIDE + 1)
            me.filled[side][edge] = me.filled[edge][side] = other.filled[side][edge] = other.filled[edge][side] = 1;
    me.chips = other.chips = CHIPS;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (sscanf(line, "PHASE1 %7s %7s %d %d", a, b, &me.time_ms, &other.time_ms) == 4) {
            round_number++;
            offered[0] = block_number(a);
            offered[1] = block_number(b);
            Bet bet = on_phase1();
            printf("BET %s %d\n", block_names[bet.block], bet.chips);
        } else if (sscanf(line, "PHASE2 %7s %d %d %d %d", a, &me.chips, &other.chips, &me.time_ms,
                          &other.time_ms) == 5) {
            Place place = on_phase2(block_number(a));
            fill(&me, &place);
            printf("PLACE %d", place.count);
            for (int i = 0; i < place.count; i++)
                printf(" %d %d", place.cells[i].row, place.cells[i].column);
            putchar('\n');
        } else if (strncmp(line, "OPP", 3) == 0) {
            Place place = read_place(line + 3);
            fill(&other, &place);
        } else if (strncmp(line, "FINISH", 6) == 0) {
            break;
        }
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}

#endif
