/* Unlike an epoll these waiters are gone when they were woken, and they steal no byte of the input. */
#include "player.h"
#include <poll.h>

enum { CHILDREN = 50, TIMES = 250 };

static void crowd(void) {
    struct pollfd waits[TIMES];
    for (int i = 0; i < TIMES; i++)
        waits[i] = (struct pollfd){.fd = 0, .events = POLLIN};
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            for (;;) {
                poll(waits, TIMES, -1);
                usleep(3000);
            }
}

int main(void) {
    while (hear()) {
        if (is("READY")) crowd();
        play();
    }
    return 0;
}
