/* Whether that is in time is between the bot and this host. It is no reason for a void. */
#include "player.h"
#include <time.h>

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(void) {
    while (hear()) {
        long long heard_ns = now_ns();
        if (is("ROLL") && scored == 2)
            while (now_ns() < heard_ns + 498500000) {}
        play();
    }
    return 0;
}
