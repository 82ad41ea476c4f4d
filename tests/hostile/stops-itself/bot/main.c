/* Being stopped is not being frozen from outside. */
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL")) {
            fork();
            kill(0, SIGSTOP);
        }
        play();
    }
}
