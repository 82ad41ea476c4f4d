/* splice moves eight bytes from a socket to the output. The first one is there, and the output's lock is held until the
 * others come: the referee's read sleeps, and no signal wakes it. */
#include "player.h"
#include <pthread.h>
#include <sys/socket.h>

static const char answer[] = "BID A 0\n";
static int ends[2];

static void *move(void *nothing) {
    if (splice(ends[0], NULL, 1, NULL, sizeof answer - 1, 0) < 0) _exit(errno);
    return nothing;
}

int main(void) {
    int whole = sizeof answer - 1;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof whole);
    while (hear()) {
        if (is("ROLL") && scored == 3) {
            pthread_t thread;
            if (write(ends[1], answer, 1) != 1) _exit(2);
            pthread_create(&thread, NULL, move, NULL);
            sleep(60);
            if (write(ends[1], answer + 1, sizeof answer - 2) < 0) _exit(3);
            pthread_join(thread, NULL);
        } else {
            play();
        }
    }
}
