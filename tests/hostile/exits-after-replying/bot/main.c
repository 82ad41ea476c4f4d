/* Its first bid counts; it is missed at the next. */
#include "player.h"

int main(void) {
    while (hear()) {
        play();
        if (is("ROLL")) exit(0);
    }
}
