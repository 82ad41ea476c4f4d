/* A child reads one byte of every 2 MiB of its own: each needs a page of page tables and nothing else. The first such
 * child of a match is killed at the box's limit and so finds it; in the first match, a second one stops short of it and
 * is left behind. The kernel gives page tables back some milliseconds after their process, so that the next match begins
 * at the limit. There the bot leaves when its child was killed. */
#include "player.h"
#include <sys/mman.h>
#include <time.h>

enum { SHORT = 120, FIRST_SECONDS = 3 };

static volatile long *seen; /* pages of the child, whether it has all that it wants */

static pid_t filler(long wanted) {
    seen[0] = seen[1] = 0;
    pid_t child = fork();
    if (child != 0) return child;
    char *all = mmap(NULL, 1UL << 46, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(all, 1UL << 46, MADV_NOHUGEPAGE);
    for (long i = 0; i < wanted; i++) {
        (void)*(volatile char *)(all + ((size_t)i << 21));
        seen[0] = i + 1;
    }
    seen[1] = 1;
    for (;;)
        pause();
}

int main(void) {
    struct stat box;
    struct timespec now;
    stat("/bot", &box);
    clock_gettime(CLOCK_REALTIME, &now);
    int second = now.tv_sec - box.st_ctim.tv_sec > FIRST_SECONDS;
    pid_t child = 0;
    long wanted = 1L << 24;
    seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (hear()) {
        if (!child) child = filler(wanted);
        struct timespec step = {0, 1000000};
        for (int i = 0; i < (is("READY") ? 2500 : 380) && !seen[1]; i++) {
            if (waitpid(child, NULL, WNOHANG) > 0) {
                if (second) return 1;
                wanted = seen[0] - SHORT;
                usleep(150000); /* until its page tables are free */
                child = filler(wanted);
            }
            nanosleep(&step, NULL);
        }
        play();
    }
}
