/* Touches every page that it is given. */
#include "player.h"

int main(void) {
    hear();
    for (;;)
        memset(malloc(1 << 20), 1, 1 << 20);
}
