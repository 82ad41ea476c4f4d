/* Whoever could write to its input could pretend to be the judge, and whoever holds both ends is never at an end. */
#include "player.h"

static const char *const paths[] = {
    "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2", "/proc/thread-self/fd/0", "/proc/thread-self/fd/1",
    "/dev/stdin", "/dev/stdout", "/dev/fd/0", "/dev/fd/1",
    "/judge/in", "/judge/out", "/judge/err", "/judge/ctl", "/judge/ack", "/proc/1/fd/3", "/proc/1/cwd/judge/in",
};

int main(void) {
    while (hear()) {
        if (is("READY")) {
            for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
                for (int mode = O_RDONLY; mode <= O_RDWR; mode++) {
                    char name[64];
                    snprintf(name, sizeof name, "%s mode %d", paths[i], mode);
                    found(name, open(paths[i], mode | O_NONBLOCK) >= 0);
                }
            for (int fd = 0; fd < 3; fd++) {
                char name[64], path[64];
                snprintf(name, sizeof name, "change descriptor %d", fd);
                found(name, fchmod(fd, 0666) == 0 || fchown(fd, getuid(), -1) == 0);
                snprintf(name, sizeof name, "link descriptor %d", fd);
                snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
                found(name, linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/link", AT_SYMLINK_FOLLOW) == 0);
                /* A descriptor on a path only, opened anew through itself. */
                int handle = open(path, O_PATH);
                snprintf(name, sizeof name, "reopen descriptor %d", fd);
                snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
                found(name, open(path, O_RDWR | O_NONBLOCK) >= 0);
                close(handle);
            }
            char byte = 'x';
            found("write to the input", write(0, &byte, 1) >= 0);
            found("read from the output", read(1, &byte, 1) >= 0);
        }
        play();
    }
}
