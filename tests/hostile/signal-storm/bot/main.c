/* Whoever writes to a pipe with O_ASYNC on its other end sends the signals himself, one by one. */
#include "player.h"

enum { CHILDREN = 60 };

static void hurry(int signal) {
    (void)signal;
}

static void storm(void) {
    signal(SIGIO, hurry);
    setpgid(0, 0);
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            for (;;)
                pause();
    for (int fd = 0; fd < 2; fd++) {
        fcntl(fd, F_SETOWN, -getpid());
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
    }
}

int main(void) {
    while (hear()) {
        if (is("READY")) storm();
        play();
    }
    return 0;
}
