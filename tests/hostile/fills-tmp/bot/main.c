/* As much fits as in the match before: nothing of it was kept, and nothing more than the limit is had. */
#include "player.h"

int main(void) {
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    signal(SIGXFSZ, SIG_IGN);
    while (hear()) {
        if (is("READY")) {
            long long bytes = 0;
            int fd = open("/tmp/full", O_WRONLY | O_CREAT, 0600);
            for (ssize_t wrote; (wrote = write(fd, block, sizeof block)) > 0;)
                bytes += wrote;
            fd = open("/tmp/more", O_WRONLY | O_CREAT, 0600); /* beyond the size of one file */
            for (ssize_t wrote; (wrote = write(fd, block, sizeof block)) > 0;)
                bytes += wrote;
            dprintf(2, "%lld bytes\n", bytes);
            found("more or less than 64 MiB", bytes != 64 << 20);
        }
        play();
    }
}
