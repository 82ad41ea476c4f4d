/* Each byte read takes a page for a table, and none for itself: it is the page of zeros that all share. At the eleventh
 * ROLL the memory is full. Not earlier: a host whose memory holds cached files takes its time for each page. */
#include "player.h"
#include <sys/mman.h>
#include <sys/prctl.h>

enum { TABLES = 24000 };

int main(void) {
    static char noise[60000];
    const size_t step = 2 << 20;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (write(2, noise, sizeof noise) < 0) return 1;
    while (hear()) {
        if (is("ROLL")) {
            volatile char *at = mmap(NULL, step * TABLES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (at == MAP_FAILED) return 2;
            for (int i = 0; i < TABLES; i++) (void)at[i * step];
        }
        play();
    }
    return 0;
}
