/* A Liar's Dice bot to start from, valid as C (main.c) and as C++ (main.cpp): legal and simple.
 *
 * Answer READY with OK. A line of JSON without "event" says what we see at our turn; answer it at once with one line of
 * JSON, on standard output and flushed. A line with "event" says what happened and expects no answer. The rules are in
 * games/liars_dice/protocol.md.
 *
 * This bot does not parse JSON. It looks only for the few fields that it needs, which the referee writes without
 * blanks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 16384, HIGHEST_QUANTITY = 30 };

/* The whole number after the first `name` in `text`, 0 if there is none. */
static int number_after(const char *text, const char *name) {
    const char *found = strstr(text, name);
    return found ? atoi(found + strlen(name)) : 0;
}

/* How many of our dice count as `face`: ones are wild, but for a bid on ones only ones count. */
static int own(const int *count, int face) {
    return face == 1 ? count[1] : count[face] + count[1];
}

static void answer(const char *view) {
    int count[7] = {0}; /* count[6] is how many sixes we hold */
    int mine = 0, face = 2;
    const char *die = strstr(view, "\"myDice\":[");
    if (die)
        for (die += strlen("\"myDice\":["); *die && *die != ']'; die++)
            if (*die >= '1' && *die <= '6') {
                count[*die - '0']++;
                mine++;
            }
    int others = number_after(view, "\"totalDiceInPlay\":") - mine;
    const char *current = strstr(view, "\"currentBid\":{");
    if (!current) { /* we open the round: one of the face that we have most of */
        for (int other = 3; other <= 6; other++)
            if (own(count, other) > own(count, face))
                face = other;
        printf("{\"type\":\"bid\",\"quantity\":1,\"faceValue\":%d}\n", face);
        return;
    }
    /* A die of the others counts with chance 1/3, for a bid on ones with 1/6. Believe what that makes likely. */
    int quantity = number_after(current, "\"quantity\":");
    face = number_after(current, "\"faceValue\":");
    int likely = own(count, face) + others / (face == 1 ? 6 : 3);
    if (quantity > likely || quantity >= HIGHEST_QUANTITY)
        puts("{\"type\":\"challenge\"}");
    else /* one more of the same face is always a higher bid */
        printf("{\"type\":\"bid\",\"quantity\":%d,\"faceValue\":%d}\n", quantity + 1, face);
}

int main(void) {
    static char line[MAX_LINE];
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "READY", 5) == 0)
            puts("OK");
        else if (strncmp(line, "FINISH", 6) == 0)
            break;
        else if (!strstr(line, "\"event\":"))
            answer(line);
        fflush(stdout); /* without it the line may arrive too late */
    }
    return 0;
}
