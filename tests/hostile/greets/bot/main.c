/* Whether this is before READY or a wrong reply to it, nobody can tell (C-04); it is a fault in any case. */
#include "player.h"

int main(void) {
    puts("Hello, I am the best of all bots.");
    fflush(stdout);
    while (hear())
        play();
}
