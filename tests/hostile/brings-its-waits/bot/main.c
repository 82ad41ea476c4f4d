/* Between two prompts, a thread waits for a processor that children of the bot keep busy. Inside the next prompt it
 * starts a program, becomes the first thread, and brings its wait along, which is shorter than the prompt lasts. */
#include "player.h"
#include <pthread.h>

enum { CHILDREN = 3, BUSY_MS = 600, SWAPS_MS = 450, LATE_MS = 190 };

static volatile int waited, rolled;

static void *wait_and_swap(void *line_of_roll) {
    while (!waited) {} /* three quarters of the time it is kept waiting */
    while (!rolled) usleep(1000);
    usleep(SWAPS_MS * 1000);
    execl("/proc/self/exe", "bot", (char *)line_of_roll, NULL);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    pid_t children[CHILDREN];
    if (count > 1) {
        strcpy(line, arguments[1]);
        usleep(LATE_MS * 1000);
        play();
    }
    while (hear()) {
        if (is("READY")) {
            for (int i = 0; i < CHILDREN; i++)
                if ((children[i] = fork()) == 0)
                    for (;;) {}
            pthread_create(&thread, NULL, wait_and_swap, line);
            usleep(BUSY_MS * 1000);
            for (int i = 0; i < CHILDREN; i++)
                kill(children[i], SIGKILL);
            waited = 1;
        }
        if (is("ROLL") && count == 1) {
            rolled = 1;
            for (;;)
                pause();
        }
        play();
    }
    return 0;
}
