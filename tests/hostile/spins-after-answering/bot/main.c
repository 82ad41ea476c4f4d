/* It keeps its processor busy whenever it is not asked, so that its opponent's memory does not stay in the caches. */
#include "player.h"
#include <sys/ioctl.h>

int main(void) {
    int unread;
    setvbuf(stdin, NULL, _IONBF, 0);
    while (hear()) {
        play();
        do ioctl(0, FIONREAD, &unread);
        while (!is("READY") && unread == 0);
    }
    return 0;
}
