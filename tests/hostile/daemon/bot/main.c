/* The bot is its first process; what is left when that ends is killed, and the end is seen at once. */
#include "player.h"

int main(void) {
    hear();
    play();
    hear();
    if (fork() > 0) _exit(0);
    setsid();
    if (fork() > 0) _exit(0);
    usleep(200 * 1000); /* init is quicker, on a busy host too */
    do play();
    while (hear());
}
