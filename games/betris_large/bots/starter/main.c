/* A Betris (Large) bot to start from, valid as C (main.c) and as C++ (main.cpp): legal and simple.
 *
 * One command arrives per line on standard input; READY, PHASE1 and PHASE2 expect one line back at once, on standard
 * output and flushed. The rules are in games/betris_large/protocol.md. */
#include <stdio.h>
#include <string.h>

enum { SIDE = 7, MAX_CELLS = 5, BLOCKS = 21, TURNS = 4 };

typedef struct {
    int row, column;
} Cell;

/* One form of every block, rows separated by slashes; turning and flipping it gives the others. */
static const char *const names[BLOCKS] = {"I1", "I2", "I3", "L3", "I4", "L4", "S4", "T4", "O4", "I5", "L5",
                                          "F5", "N5", "P5", "T5", "U5", "V5", "W5", "X5", "Y5", "Z5"};
static const char *const shapes[BLOCKS] = {
    "#",           "##",          "###",          "#./##",        "####",       "#../###",     ".##/##.",
    "###/.#.",     "##/##",       "#####",        "#.../####",    ".##/##./.#.", "##../.###",  "##/##/#.",
    "###/.#./.#.", "#.#/###",     "#../#../###",  "#../##./.##",  ".#./###/.#.", ".#../####",  "##./.#./.##",
};

static int filled[SIDE + 1][SIDE + 1]; /* our board; rows and columns count from 1 */

/* The block's cells, at the board's top left; returns how many there are. */
static int cells_of(const char *name, Cell *cells) {
    int block = 0, count = 0, row = 1, column = 1;
    while (block < BLOCKS - 1 && strcmp(names[block], name) != 0)
        block++;
    for (const char *mark = shapes[block]; *mark; mark++, column++) {
        if (*mark == '#') {
            cells[count].row = row;
            cells[count].column = column;
            count++;
        } else if (*mark == '/') {
            row++;
            column = 0;
        }
    }
    return count;
}

/* A quarter turn, or a flip, and back to the top left. */
static void transform(Cell *cells, int count, int flip) {
    int top = SIDE, left = SIDE;
    for (int i = 0; i < count; i++) {
        int row = cells[i].row, column = cells[i].column;
        cells[i].row = flip ? row : column;
        cells[i].column = flip ? -column : -row;
        top = cells[i].row < top ? cells[i].row : top;
        left = cells[i].column < left ? cells[i].column : left;
    }
    for (int i = 0; i < count; i++) {
        cells[i].row += 1 - top;
        cells[i].column += 1 - left;
    }
}

/* Do the cells, moved down and right, lie on empty cells of the board? */
static int fits(const Cell *cells, int count, int down, int right) {
    for (int i = 0; i < count; i++) {
        int row = cells[i].row + down, column = cells[i].column + right;
        if (row > SIDE || column > SIDE || filled[row][column])
            return 0;
    }
    return 1;
}

/* How many neighbours of the cells are filled or outside the board: the more, the fewer holes are left. */
static int contact(const Cell *cells, int count, int down, int right) {
    static const int step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    int sum = 0;
    for (int i = 0; i < count; i++)
        for (int way = 0; way < 4; way++) {
            int row = cells[i].row + down + step[way][0], column = cells[i].column + right + step[way][1];
            sum += row < 1 || row > SIDE || column < 1 || column > SIDE || filled[row][column];
        }
    return sum;
}

/* Bet on the block with more cells: one chip, while there are any. */
static void answer_phase1(const char *a, const char *b, int chips) {
    Cell cells[MAX_CELLS];
    const char *wanted = cells_of(a, cells) >= cells_of(b, cells) ? a : b;
    printf("BET %s %d\n", wanted, chips > 0 ? 1 : 0);
}

/* Try every form at every place and take the one with the most contact; pass if the block fits nowhere. */
static void answer_phase2(const char *block) {
    Cell cells[MAX_CELLS], best[MAX_CELLS];
    int count = cells_of(block, cells), most = -1;
    for (int form = 0; form < 2 * TURNS; form++) {
        transform(cells, count, form == TURNS);
        for (int down = 0; down < SIDE; down++)
            for (int right = 0; right < SIDE; right++) {
                if (!fits(cells, count, down, right) || contact(cells, count, down, right) <= most)
                    continue;
                most = contact(cells, count, down, right);
                for (int i = 0; i < count; i++) {
                    best[i].row = cells[i].row + down;
                    best[i].column = cells[i].column + right;
                }
            }
    }
    if (most < 0) {
        puts("PLACE 0");
        return;
    }
    printf("PLACE %d", count);
    for (int i = 0; i < count; i++) {
        filled[best[i].row][best[i].column] = 1;
        printf(" %d %d", best[i].row, best[i].column);
    }
    puts("");
}

int main(void) {
    char line[256], a[8], b[8];
    int chips = 24, opponents_chips, time_ms, opponents_time_ms;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (sscanf(line, "PHASE1 %7s %7s %d %d", a, b, &time_ms, &opponents_time_ms) == 4) {
            answer_phase1(a, b, chips);
        } else if (sscanf(line, "PHASE2 %7s %d %d %d", a, &chips, &opponents_chips, &time_ms) == 4) {
            answer_phase2(a);
        } else if (strncmp(line, "FINISH", 6) == 0) {
            break;
        } /* OPP says what the other player placed, which this bot ignores */
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}
