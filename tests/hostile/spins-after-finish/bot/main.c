#include "player.h"

int main(void) {
    while (hear())
        play();
    for (;;) {}
}
