/* Sixteen bytes; half a second is over after ten. */
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL"))
            for (const char *byte = "BID A 000000000\n"; *byte; byte++) {
                usleep(50 * 1000);
                write(1, byte, 1);
            }
        else
            play();
    }
}
