/* For bots that look for a way out while they play: a record of what they try.
 *
 * Each attempt is one line on stderr, `tried: NAME -> RESULT`, followed by `BREACH: NAME` if it succeeded. The name is
 * written before the attempt, so that one that ends the bot can be told.
 *
 *   TRY(name, condition)   succeeds if the condition is true
 *   DOOR(name, call)       a system call that must not even begin: it succeeds if the answer is anything but a refusal.
 *                          Its arguments are harmless or nonsense, so that whoever gets through changes nothing.
 *
 * A bot defines `probe` and ends with `PLAY(probe)`; it probes between READY and OK of every match. That each attempt can
 * succeed where nothing confines it is shown by test_probes.py.
 */
#ifndef PROBE_H
#define PROBE_H

#include "player.h"

#include <stdint.h>
#include <sys/syscall.h>

static void begin_attempt(const char *name) {
    dprintf(2, "tried: %s", name);
    errno = 0;
}

static void end_attempt(const char *name, int succeeded) {
    if (succeeded) dprintf(2, " -> success\nBREACH: %s\n", name);
    else dprintf(2, " -> %s\n", errno ? strerrorname_np(errno) : "nothing");
}

static inline int refused(long answer) {
    return answer < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EAFNOSUPPORT);
}

#define TRY(name, condition) (begin_attempt(name), end_attempt(name, (condition) != 0))
#define DOOR(name, call) (begin_attempt(name), end_attempt(name, !refused((long)(call))))

/* Whether a file can be opened so; it is closed again, and nothing is written. */
static inline int opens(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0) return 0;
    close(fd);
    return 1;
}

/* Whether at least one byte can be read. */
static inline int reads(const char *path) {
    char byte;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return 0;
    ssize_t got = read(fd, &byte, 1);
    int why = errno;
    close(fd);
    errno = why;
    return got == 1;
}

/* What a child makes of it: 1 for success. The child of an attempt that kills, crashes or changes itself. */
static inline int in_child(int (*attempt)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        int succeeded = attempt();
        _exit(succeeded ? 1 : errno & 0x7f ? (errno & 0x7f) + 1 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 0;
    errno = WEXITSTATUS(status) > 1 ? WEXITSTATUS(status) - 1 : 0;
    return WEXITSTATUS(status) == 1;
}

#define PLAY(probe)                   \
    int main(void) {                  \
        while (hear()) {              \
            if (is("READY")) probe(); \
            play();                   \
        }                             \
        return 0;                     \
    }

#endif
