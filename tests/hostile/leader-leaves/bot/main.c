/* The counters of the first process would end with it, and nothing would tell for how long the child waits. */
#include "player.h"

int main(void) {
    int told[2];
    char word;
    if (pipe(told) != 0) return 1;
    if (fork() != 0) return (int)read(told[0], &word, 1) - 1; /* the first process stays until its child says so */
    while (hear()) {
        if (is("ROLL") && scored == 3) {
            if (write(told[1], "!", 1) != 1) return 1;
            usleep(100000);
        }
        play();
    }
    return 0;
}
