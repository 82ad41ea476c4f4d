/* The transcript keeps it as it came, and replays it (C-09). */
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL"))
            for (int byte = 0; byte < 256; byte++)
                if (byte != '\n') putchar(byte);
        if (is("ROLL")) putchar('\n');
        play();
    }
}
