/* Init runs as another user, and nobody else is there. */
#include "player.h"
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int any_of(long (*send)(int number)) {
    int sent = 0;
    for (int number = 1; number < 65; number++)
        sent += send(number) == 0;
    return sent;
}

static long to_init(int number) { return kill(1, number); }
static long to_all(int number) { return kill(-1, number); }
static long to_its_thread(int number) { return syscall(SYS_tgkill, 1, 1, number); }
static long with_a_value(int number) { return sigqueue(1, number, (union sigval){0}); }
static long by_descriptor(int number) { return syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, 1, 0), number, NULL, 0); }

int main(void) {
    cpu_set_t first = {{1}};
    struct rlimit none = {0, 0};
    while (hear()) {
        if (is("READY")) {
            found("kill init", any_of(to_init));
            found("kill all", any_of(to_all));
            found("tgkill", any_of(to_its_thread));
            found("sigqueue", any_of(with_a_value));
            found("pidfd", any_of(by_descriptor));
            found("priority of init", setpriority(PRIO_PROCESS, 1, 19) == 0);
            found("processors of init", sched_setaffinity(1, sizeof first, &first) == 0);
            found("limits of init", prlimit(1, RLIMIT_NOFILE, &none, NULL) == 0);
            found("process group of init", setpgid(0, 1) == 0);
            fcntl(0, F_SETSIG, SIGKILL); /* input arrives: the kernel shall tell init; it knows who asked for it */
            fcntl(0, F_SETOWN, 1);
            fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_ASYNC);
        }
        play();
    }
}
