/* Init sees the end of it, and must not take that for the end of the bot. */
#include "player.h"

int main(void) {
    close(2);
    open("/tmp/not-stderr", O_RDWR | O_CREAT, 0600);
    while (hear()) {
        play();
        perror("here");
    }
}
