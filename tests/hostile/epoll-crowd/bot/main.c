/* Hundreds of thousands wait for this bot's prompts, and the referee's write tells each of them. */
#include "crowd.h"
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("READY")) crowd();
        play();
    }
}
