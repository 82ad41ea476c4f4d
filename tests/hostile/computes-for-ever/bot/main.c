/* No trick at all: every processor that it gets is time of its own. */
#include "player.h"

int main(void) {
    while (hear()) {
        while (is("ROLL")) {}
        play();
    }
}
