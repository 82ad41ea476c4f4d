/* It answers at once. From its first bid on, twelve threads touch 1 MiB each, fifty thousand times a second together or as
 * often as they get to run: what its opponent had in the caches is gone whenever that one continues. */
#include "player.h"
#include <pthread.h>
#include <time.h>

enum { THREADS = 12, BYTES = 1 << 20, LINE_BYTES = 64 };

static void *thrash(void *none) {
    struct timespec moment = {.tv_nsec = 20000};
    volatile char *mine = calloc(1, BYTES);
    for (;; nanosleep(&moment, NULL))
        for (int i = 0; i < BYTES; i += LINE_BYTES)
            mine[i]++;
    return none;
}

int main(void) {
    pthread_t thread;
    for (int bids = 0; hear();) {
        int begins = is("ROLL") && bids++ == 0;
        play();
        for (int i = 0; begins && i < THREADS; i++)
            pthread_create(&thread, NULL, thrash, NULL);
    }
    return 0;
}
