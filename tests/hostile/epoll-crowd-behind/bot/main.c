/* As epoll-crowd, but it begins in the middle of a match: here a void would be wanted. */
#include "crowd.h"
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL") && scored == 3) crowd();
        if (is("ROLL") && scored == 8)
            for (;;)
                pause();
        play();
    }
}
