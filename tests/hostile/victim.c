/* An honest opponent that needs its memory: a legal game of Yacht Auction, with a walk in random order through 768 KiB
 * before every bid, for 60 % of its limit. How far that is, it finds out at READY, when nobody has answered anything yet.
 */
#include "player.h"
#include <time.h>

enum { BYTES = 768 << 10, LINE_BYTES = 64, PLACES = BYTES / sizeof(size_t), STRIDE = LINE_BYTES / sizeof(size_t) };
enum { CHUNK = 200000, CHUNKS = 100, WALK_NS = 300000000 };

static size_t next[PLACES], place;

static long long used_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000LL + used.tv_nsec;
}

static long long walk(long long steps) {
    long long began_ns = used_ns();
    while (steps-- > 0) place = next[place];
    __asm__ volatile("" : : "r"(place));
    return used_ns() - began_ns;
}

static long long calibrated(void) {
    long long best_ns = WALK_NS, took_ns;
    for (size_t i = 0; i < PLACES; i += STRIDE) next[i] = i;
    for (size_t i = PLACES - STRIDE; i > 0; i -= STRIDE) {
        size_t other = (size_t)rand() % (i / STRIDE) * STRIDE, there = next[i];
        next[i] = next[other];
        next[other] = there;
    }
    for (int i = 0; i < CHUNKS; i++)
        if ((took_ns = walk(CHUNK)) < best_ns) best_ns = took_ns;
    return WALK_NS / best_ns * CHUNK;
}

int main(void) {
    long long steps = 0;
    while (hear()) {
        if (is("READY")) steps = calibrated();
        if (is("ROLL")) walk(steps);
        play();
    }
    return 0;
}
