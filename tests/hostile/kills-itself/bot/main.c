#include "player.h"

int main(void) {
    while (hear()) {
        if (is("ROLL")) raise(SIGSEGV);
        play();
    }
}
