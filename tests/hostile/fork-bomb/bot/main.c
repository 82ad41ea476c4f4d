/* Multiplies for as long as anything can be started. */
#include "player.h"

int main(void) {
    while (hear()) {
        while (is("ROLL"))
            fork();
        play();
    }
}
