/* A partial line at the deadline is a timeout (C-03). */
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL")) {
            write(1, "BID A", 5);
            for (;;)
                pause();
        }
        play();
    }
}
