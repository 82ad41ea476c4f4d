/* No fault, but its end (C-10). */
#include "player.h"

int main(void) {
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    while (hear())
        play();
    for (;;)
        pause();
}
