/* A Mushroom bot to start from, valid as C (main.c) and as C++ (main.cpp): legal and simple.
 *
 * One command arrives per line on standard input; READY and TIME expect one line back at once, on standard output and
 * flushed. It takes the rectangle with the most cells, whoever owns them. The rules are in protocol.md. */
#include <stdio.h>
#include <string.h>

enum { ROWS = 10, COLUMNS = 17, SUM = 10 }; /* of a full board; on a smaller one the rest stays empty */

static int board[ROWS][COLUMNS]; /* the digits; 0 where the mushroom has gone */

static int in_row(int row, int left, int right) {
    for (int column = left; column <= right; column++)
        if (board[row][column])
            return 1;
    return 0;
}

static int in_column(int column, int top, int bottom) {
    for (int row = top; row <= bottom; row++)
        if (board[row][column])
            return 1;
    return 0;
}

static int sum(int top, int left, int bottom, int right) {
    int total = 0;
    for (int row = top; row <= bottom; row++)
        for (int column = left; column <= right; column++)
            total += board[row][column];
    return total;
}

static int may_be_taken(int top, int left, int bottom, int right) {
    return sum(top, left, bottom, right) == SUM && in_row(top, left, right) && in_row(bottom, left, right) &&
           in_column(left, top, bottom) && in_column(right, top, bottom);
}

static void take(int top, int left, int bottom, int right) {
    for (int row = top; row <= bottom; row++)
        for (int column = left; column <= right; column++)
            board[row][column] = 0;
}

/* Try every rectangle; pass if none may be taken. */
static void answer_time(void) {
    int most = 0, t = -1, l = -1, b = -1, r = -1;
    for (int top = 0; top < ROWS; top++)
        for (int left = 0; left < COLUMNS; left++)
            for (int bottom = top; bottom < ROWS; bottom++)
                for (int right = left; right < COLUMNS; right++) {
                    int cells = (bottom - top + 1) * (right - left + 1);
                    if (cells > most && may_be_taken(top, left, bottom, right)) {
                        most = cells;
                        t = top, l = left, b = bottom, r = right;
                    }
                }
    if (most)
        take(t, l, b, r);
    printf("%d %d %d %d\n", t, l, b, r);
}

/* INIT and a word of digits for each row: ten of seventeen. */
static void read_board(const char *digits) {
    for (int row = -1, column = 0; *digits; digits++)
        if (*digits == ' ')
            row++, column = 0;
        else if (*digits >= '1' && *digits <= '9' && row >= 0 && row < ROWS && column < COLUMNS)
            board[row][column++] = *digits - '0';
}

int main(void) {
    char line[512];
    int top, left, bottom, right;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "READY", 5) == 0) {
            puts("OK");
        } else if (strncmp(line, "INIT", 4) == 0) {
            read_board(line + 4);
        } else if (strncmp(line, "TIME", 4) == 0) {
            answer_time();
        } else if (sscanf(line, "OPP %d %d %d %d", &top, &left, &bottom, &right) == 4) {
            if (top >= 0)
                take(top, left, bottom, right);
        } else if (strncmp(line, "FINISH", 6) == 0) {
            break;
        }
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}
