/* An overflow as soon as it is too long, without waiting for the newline (C-09). */
#include "player.h"

int main(void) {
    while (hear()) {
        while (is("ROLL"))
            putchar('B');
        play();
    }
}
