/* A pipe's lock is held while bytes are copied from memory or to it. Here that memory is always a new page, and a thread
 * holds the list of mappings by tearing 60,000 of them down. The referee must wait for nothing of it in front of a deadline. */
#include "player.h"
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, MAPPINGS = 60000 };

static void *tear(void *nothing) {
    for (;;) {
        char *pages = mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < MAPPINGS; i += 2)
            mprotect(pages + (size_t)i * PAGE, PAGE, PROT_NONE);
        munmap(pages, (size_t)MAPPINGS * PAGE);
    }
    return nothing;
}

static int hear_slowly(void) {
    for (int length = 0; length < (int)sizeof line - 1;) {
        char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (read(0, page, 1) != 1) return 0;
        line[length++] = *page;
        line[length] = 0;
        munmap(page, PAGE);
        if (line[length - 1] == '\n') break;
    }
    return !is("FINISH");
}

static void say_slowly(const char *text) {
    FILE *file = fopen("/tmp/said", "w");
    fputs(text, file);
    fclose(file);
    int fd = open("/tmp/said", O_RDONLY);
    char *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (write(1, page, strlen(text)) < 0) _exit(1);
    munmap(page, PAGE);
    close(fd);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, tear, NULL);
    while (hear_slowly()) {
        if (sscanf(line, "ROLL %5s %5s", bundles[0], bundles[1]) == 2) {
            if (scored < 3) usleep(400000);
            say_slowly("BID A 0\n");
        } else {
            play();
        }
    }
    return 0;
}
