/* Every page that it asks for makes the kernel look for one that can be given up: also a page of a file in /tmp. */
#include "player.h"
#include <sys/mman.h>

enum { PAGE = 4096, MIB = 1 << 20, FILLED_MIB = 900, CHURNED_MIB = 60 };

static void touch(char *pages, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PAGE)
        pages[at] = 1;
}

static char *take(size_t bytes) {
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(pages, bytes);
    return pages;
}

static void churn(void) {
    int ready[2];
    char byte;
    if (pipe(ready) != 0) return;
    if (fork() == 0) {
        take((size_t)FILLED_MIB * MIB);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;)
            munmap(take((size_t)CHURNED_MIB * MIB), (size_t)CHURNED_MIB * MIB);
    }
    if (read(ready[0], &byte, 1) != 1) _exit(1);
}

int main(void) {
    while (hear()) {
        if (is("READY")) churn();
        play();
    }
    return 0;
}
