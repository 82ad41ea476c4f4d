/* Both lines in one piece, so the second is there before the next prompt in any case (C-04). */
#include "player.h"

int main(void) {
    hear();
    write(1, "OK\nBID A 0\n", 11);
    while (hear()) {}
    for (;;)
        pause();
}
