/* The referee may be kept from its own deadline on this processor. If it is late and finds nothing even then, the bot is
 * late all the same. Unmapping as many mappings as a process may have lasts 30 ms where the kernel is not preemptible. */
#include "player.h"
#include <sys/mman.h>
#include <time.h>

enum { MAPPINGS = 64000, PAGE = 4096 };

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int main(void) {
    while (hear()) {
        if (is("ROLL")) {
            long long heard_ms = now_ms();
            char *pages = mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            for (int i = 0; i < MAPPINGS; i += 2)
                mprotect(pages + (size_t)i * PAGE, PAGE, PROT_NONE);
            while (now_ms() < heard_ms + 490) {}
            munmap(pages, (size_t)MAPPINGS * PAGE);
            for (;;)
                pause();
        }
        play();
    }
}
