#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL")) exit(3);
        play();
    }
}
