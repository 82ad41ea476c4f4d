/* Whoever is killed for this memory, it must not be init: then the container would be gone, which looks like the host's
 * failure. The buffers are those of sockets; what a run may not make of them, its many small processes take for
 * themselves. The kernel ends them one by one, which lasts seconds on a busy machine: the bank of Betris allows for
 * that. */
#include "player.h"
#include <sys/socket.h>

int main(void) {
    static char data[64 * 1024];
    while (hear() && is("READY")) puts("OK"), fflush(stdout);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    write(fd, "0", 1);
    close(fd);
    for (int children = 0; children < 24; children++)
        if (fork() == 0) break;
    for (int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;)
        for (int end = 0; end < 2; end++)
            while (send(pair[end], data, sizeof data, MSG_DONTWAIT) > 0) {}
    for (;;)
        memset(malloc(sizeof data), 1, sizeof data);
}
