/* The counters of the first process would end with it, and nothing would tell for how long the child waits. */
#include "player.h"

int main(void) {
    if (fork() != 0) {
        usleep(20000);
        return 0;
    }
    while (hear()) {
        if (is("ROLL") && scored == 3) usleep(100000);
        play();
    }
    return 0;
}
