/* What the first process waits says nothing about the others. */
#include "player.h"
#include <time.h>

enum { WORK_MS = 600 };

int main(void) {
    pid_t leader = getpid();
    if (fork() != 0)
        for (;;)
            pause();
    if (fork() == 0)
        for (;;) {
            kill(leader, SIGSTOP);
            usleep(50);
            kill(leader, SIGCONT);
            usleep(50);
        }
    while (hear()) {
        if (is("ROLL") && scored == 2)
            while (clock() < WORK_MS * (CLOCKS_PER_SEC / 1000)) {}
        play();
    }
}
