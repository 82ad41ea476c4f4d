/* Each match looks for the last one's; a survivor on the input would take the next READY. */
#include "player.h"

enum { MOST_NUMBERS = 70 * 1000 };

static int processes(void) {
    int count = 0;
    for (pid_t pid = 1; pid < MOST_NUMBERS; pid++)
        count += kill(pid, 0) == 0 || errno == EPERM;
    return count;
}

/* A grandchild that ignores all signals, in a session of its own. */
static int daemonized(void) {
    if (fork() > 0) return 0;
    setsid();
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    if (fork() > 0) _exit(0);
    return 1;
}

static void close_all(void) {
    for (int fd = 0; fd < 256; fd++)
        close(fd);
}

int main(void) {
    while (hear()) {
        if (is("READY")) found("another process than init and the bot", processes() != getpid()); /* init, its threads, this */
        play();
    }
    if (daemonized()) {
        for (char byte;;)
            read(0, &byte, 1);
    }
    if (daemonized()) {
        close_all();
        for (;;) {}
    }
    if (daemonized()) {
        close_all();
        kill(getpid(), SIGSTOP);
    }
    usleep(20 * 1000);
    return 0;
}
