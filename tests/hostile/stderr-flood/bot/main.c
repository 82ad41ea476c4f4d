/* What is written is read by init, on the bot's own processor. */
#include "player.h"

int main(void) {
    static char words[64 * 1024];
    memset(words, 'x', sizeof words);
    fcntl(2, F_SETPIPE_SZ, 1 << 20);
    for (int children = 0; children < 2; children++)
        if (fork() == 0)
            for (;;)
                write(2, words, sizeof words);
    while (hear())
        play();
}
