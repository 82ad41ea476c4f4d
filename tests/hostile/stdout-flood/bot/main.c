/* Answers READY for ever: the first OK is its reply, the rest is there before the next prompt. */
#include "player.h"

int main(void) {
    hear();
    for (;;)
        puts("OK");
}
