/* The kernel locks lists of processes that everybody shares, and a leader waits among many: its waits are its own doing. */
#include "player.h"

enum { CHILDREN = 20 };

static void storm(void) {
    for (int child = 0; child < CHILDREN; child++) {
        if (fork() != 0) continue;
        for (;;) {
            pid_t grandchild = fork();
            if (grandchild == 0) _exit(0);
            if (grandchild > 0) waitpid(grandchild, NULL, 0);
        }
    }
}

int main(void) {
    while (hear()) {
        if (is("READY")) storm();
        play();
    }
    return 0;
}
