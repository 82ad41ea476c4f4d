/* A bot that is attacked, or attacks, as each of its prompts says; `attacks` says what the orders mean. It answers
 * "OK used idle": the nanoseconds of CPU time that it used for this prompt, and since its answer to the one before.
 */
#define _GNU_SOURCE
#include "crowd.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 64, THRASHERS = 12, THRASHED_BYTES = 1 << 20, STREAMED_BYTES = 64 << 20 };
enum { HELD_PAGES = 8000, CHILDREN = 16, SPINNERS = 3 };

static char order[128];
static long long begun_ns, answered_ns, idle_ns; /* readings of used_ns, and a difference of two */
static size_t *walked, place;
static volatile char *streamed;
static volatile int asked; /* no longer between two prompts */
static int woken[2];       /* a pipe on which the one waits that shall seem to be kept from running */

static long long now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long used_ns(void) { /* by this process and its children that have ended */
    struct rusage ended;
    getrusage(RUSAGE_CHILDREN, &ended);
    return now_ns(CLOCK_PROCESS_CPUTIME_ID) + (ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000000000LL +
           (ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) * 1000LL;
}

static int is(const char *word) {
    return strncmp(order, word, strlen(word)) == 0;
}

static int unread(void) {
    int bytes = 0;
    ioctl(0, FIONREAD, &bytes);
    return bytes;
}

static void hear(void) { /* byte by byte, so that a program which is started instead finds the rest */
    size_t length = 0;
    while (length < sizeof order - 1 && read(0, order + length, 1) == 1 && order[length] != '\n') length++;
    order[length] = 0;
    begun_ns = used_ns();
    idle_ns = begun_ns - answered_ns;
    if (length == 0 || is("FINISH")) _exit(0);
}

static void answer(void) {
    answered_ns = used_ns();
    dprintf(1, "OK %lld %lld\n", answered_ns - begun_ns, idle_ns);
}

static void compute(long long ns) {
    for (ns += now_ns(CLOCK_THREAD_CPUTIME_ID); now_ns(CLOCK_THREAD_CPUTIME_ID) < ns;) {}
}

static void nap(long long ns) {
    struct timespec moment = {ns / 1000000000, ns % 1000000000};
    nanosleep(&moment, NULL);
}

/* WARM kib: make one round trip in random order through this much memory, for WALK steps. */
static void warm(size_t kib) {
    size_t lines = kib * 1024 / LINE_BYTES, stride = LINE_BYTES / sizeof *walked;
    walked = mmap(NULL, kib * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < lines; i++) walked[i * stride] = i * stride;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t other = (size_t)rand() % i, next = walked[i * stride];
        walked[i * stride] = walked[other * stride];
        walked[other * stride] = next;
    }
}

static void walk(long long steps) {
    while (steps-- > 0) place = walked[place];
    __asm__ volatile("" : : "r"(place));
}

/* NAPS n: a thread that is not the first one sleeps and computes for 50 us, as often. */
static void *naps(void *times) {
    for (long long left = *(long long *)times; left > 0; left--) {
        nap(50000);
        compute(50000);
    }
    return NULL;
}

static void nap_in_thread(long long times) {
    pthread_t thread;
    pthread_create(&thread, NULL, naps, &times);
    pthread_join(thread, NULL);
}

/* Opponents: what they do once they have answered. */
static void *thrash(void *none) {
    volatile char *mine = mmap(NULL, THRASHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (;; nap(20000))
        for (size_t i = 0; i < THRASHED_BYTES; i += LINE_BYTES) mine[i]++;
    return none;
}

static void stream(int (*enough)(void)) {
    if (!streamed)
        streamed = mmap(NULL, STREAMED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; !enough(); i = (i + 4096) % STREAMED_BYTES)
        for (size_t j = 0; j < 4096; j += LINE_BYTES) streamed[i + j]++;
}

/* One system call that the kernel does not interrupt: it unmaps thousands of mappings. */
static void hold(int (*enough)(void)) {
    while (!enough()) {
        char *from = mmap(NULL, HELD_PAGES * 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (long i = 0; i < HELD_PAGES && !enough(); i += 2) mprotect(from + i * 4096, 4096, PROT_READ | PROT_WRITE);
        munmap(from, HELD_PAGES * 4096L);
    }
}

static void busy_children(void) {
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            for (;;) {}
}

static void *spin_on(void *none) {
    for (;;) {}
    return none;
}

static void in_thread(void *(*does)(void *), void *with) {
    pthread_t thread;
    pthread_create(&thread, NULL, does, with);
}

static long long until_ns;
static int over(void) {
    return now_ns(CLOCK_MONOTONIC) >= until_ns;
}

static void oppose(void) { /* PLAY habit us */
    static int started;
    int us = 0, first = !started++;
    sscanf(order, "PLAY %*s %d", &us);
    if (is("PLAY THINKS")) { /* while it is asked, as it may */
        until_ns = now_ns(CLOCK_MONOTONIC) + us * 1000LL;
        stream(over);
    }
    answer();
    if (is("PLAY SPINS"))
        while (!unread()) {}
    if (is("PLAY STREAMS")) stream(unread);
    if (is("PLAY HOLDS")) hold(unread);
    if (first && is("PLAY THRASHES"))
        for (int i = 0; i < THRASHERS; i++) in_thread(thrash, NULL);
    if (first && is("PLAY CROWDS")) busy_children();
    if (first && is("PLAY PONDERS")) in_thread(spin_on, NULL);
}

/* TRICK waiter policy worker since us: something waits for a processor, by the bot's own doing, while something else of
 * it computes; then the one that waited is the first thread.
 */
static struct {
    char waiter; /* N: none; F: the first thread; B, A: one that starts a program before or after the computing */
    char policy; /* of the one that waits. O: ordinary; B: batch; N: nice; I: idle */
    char worker; /* S: the thread that answers; C: a child; T: the answering one in pieces, asleep between them */
    char since;  /* B: it has waited since before the prompt, behind others that go on after the answer; P: since then;
                  * W: as B, and other processes wait for the prompt, which makes its write slow */
    int us, crowd;
} trick;

static void be(char policy) {
    struct sched_param none = {0};
    if (policy == 'N') (void)!nice(19);
    if (policy != 'N') sched_setscheduler(0, policy == 'I' ? SCHED_IDLE : policy == 'B' ? SCHED_BATCH : SCHED_OTHER, &none);
}

static void *spin(void *none) {
    while (!asked) {}
    return none;
}

static void work(void) {
    if (trick.worker == 'S') compute(trick.us * 1000LL);
    for (int i = 0; trick.worker == 'T' && i < 8; i++, nap(50000)) compute(trick.us * 125LL);
    if (trick.worker == 'C') {
        pid_t child = fork();
        if (child == 0) {
            compute(trick.us * 1000LL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void *wait_then_start(void *none) {
    char byte, texts[3][32];
    be(trick.policy);
    if (read(woken[0], &byte, 1) != 1) _exit(1);
    while (!asked) {}
    snprintf(texts[0], sizeof texts[0], "%lld", begun_ns);
    snprintf(texts[1], sizeof texts[1], "%lld", idle_ns);
    snprintf(texts[2], sizeof texts[2], "%lld", answered_ns);
    execl("./bot", "./bot", order, texts[0], texts[1], texts[2], NULL);
    _exit(1);
    return none;
}

static void wake(void) {
    if (write(woken[1], "", 1) != 1) _exit(1);
}

static void between(void) { /* from an answer to the next prompt: busy, for the one that waits */
    if (trick.since == 'P' || trick.waiter == 'N') return;
    asked = 0;
    wake();
    for (int i = 0; trick.policy != 'I' && i < SPINNERS; i++) in_thread(spin, NULL);
    while (!unread()) {}
}

static void swap(void) { /* never returns: the thread that waited becomes the first one */
    asked = 1;
    for (;;) pause();
}

static void play_trick(int swapped) {
    static int started;
    sscanf(order, "TRICK %c %c %c %c %d %d", &trick.waiter, &trick.policy, &trick.worker, &trick.since, &trick.us,
           &trick.crowd);
    if (swapped) be('O');
    if (!started && trick.waiter != 'F' && trick.waiter != 'N') in_thread(wait_then_start, NULL);
    if (!started && trick.since == 'W') crowd_of(trick.crowd);
    if (!swapped) {
        if (!started || trick.since == 'P') wake();
        asked = trick.waiter != 'A'; /* what has waited goes on waiting while it computes */
        if (trick.waiter == 'B') swap();
    }
    if (!swapped || trick.waiter == 'B') work();
    if (trick.waiter == 'F') nap(20000); /* now the first thread runs, and its wait is counted */
    if (!swapped && trick.waiter == 'A') swap();
    started = 1;
    answer();
    between();
}

static void *go_on(void *none) {
    for (;; hear())
        if (is("TRICK")) play_trick(0);
    return none;
}

static void wait_first(void) { /* the first thread does nothing but wait, and another one plays */
    char byte;
    in_thread(go_on, NULL);
    be(order[8]);
    for (;;)
        if (read(woken[0], &byte, 1) == 1)
            while (!asked) {}
}

/* SLEEP us pieces: sleeps until as many absolute instants. */
static void sleep_in_pieces(void) {
    long long us, pieces, from = now_ns(CLOCK_MONOTONIC);
    sscanf(order, "SLEEP %lld %lld", &us, &pieces);
    for (int i = 1; i <= pieces; i++) {
        long long at = from + us * 1000 * i / pieces;
        struct timespec instant = {at / 1000000000, at % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL);
    }
}

int main(int count, char **given) {
    if (pipe2(woken, O_CLOEXEC) != 0) return 1;
    if (count > 4) { /* this is the thread that waited */
        strcpy(order, given[1]);
        begun_ns = atoll(given[2]), idle_ns = atoll(given[3]), answered_ns = atoll(given[4]);
        play_trick(1);
    }
    for (;;) {
        hear();
        if (is("WARM")) warm((size_t)atol(order + 5));
        if (is("WALK")) walk(atoll(order + 5));
        if (is("NAPS")) nap_in_thread(atoll(order + 5));
        if (is("WORK")) compute(atoll(order + 5) * 1000);
        if (is("SLEEP")) sleep_in_pieces();
        if (is("CROWD")) busy_children();
        if (is("CROWD") || is("FOREVER")) spin_on(NULL);
        if (is("TRICK F")) wait_first();
        if (is("TRICK")) play_trick(0);
        else if (is("PLAY")) oppose();
        else answer();
    }
}
