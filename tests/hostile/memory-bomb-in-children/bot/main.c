/* One greedy child at a time; the kernel kills the greedy, and who dies for memory is not the player. */
#include "player.h"

static void grow(void) {
    for (;;)
        memset(malloc(1 << 20), 1, 1 << 20);
}

int main(void) {
    pid_t child = 0;
    while (hear()) {
        if (is("READY")) { /* once for certain: wait for its end */
            if (fork() == 0) grow();
            int status;
            wait(&status);
            found("memory beyond the limit", !WIFSIGNALED(status));
        }
        if (waitpid(-1, NULL, WNOHANG) != 0)
            child = fork();
        if (child == 0) grow();
        play();
    }
}
