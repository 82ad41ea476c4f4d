/* Each wake-up is a moment in which something of the bot could run and nothing of it does: a tenth of the time and more
 * looks as if the host took it. It may win time to sleep by that, and none to compute: it works for 600 of 500 ms. */
#include "player.h"
#include <time.h>

enum { CHILDREN = 3, WORK_MS = 600 };

static void storm(void) {
    struct timespec moment = {.tv_nsec = 20000};
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            for (;;)
                nanosleep(&moment, NULL);
}

int main(void) {
    while (hear()) {
        if (is("READY")) storm();
        if (is("ROLL") && scored == 2)
            while (clock() < WORK_MS * (CLOCKS_PER_SEC / 1000)) {}
        play();
    }
}
