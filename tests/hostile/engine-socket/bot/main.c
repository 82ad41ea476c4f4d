/* Looks for the container engine, and for anything else of the host that listens on a local socket. */
#include "probe.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static int connects(const char *path, size_t length) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return 0;
    memcpy(address.sun_path, path, length);
    int answer = connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    int why = errno;
    close(fd);
    errno = why;
    return answer == 0 || why == EAGAIN || why == EPROTOTYPE; /* it is there, but of another kind or busy */
}

static int listens(const char *path) { return connects(path, strlen(path) + 1); }

/* Names that begin with a NUL byte belong to the network namespace, not to the file system. */
static int listens_abstractly(const char *name) {
    char path[100] = "";
    size_t length = strlen(name) + 1;
    memcpy(path + 1, name, length - 1);
    return connects(path, length);
}

/* Every socket that has a name, which the kernel tells anyone. */
static int named_sockets(void) {
    char line[512];
    int found = 0;
    FILE *sockets = fopen("/proc/net/unix", "re");
    while (sockets && fgets(line, sizeof line, sockets)) found += strchr(line, '/') != NULL || strchr(line, '@') != NULL;
    if (sockets) fclose(sockets);
    errno = 0;
    return found;
}

/* Descriptors that somebody forgot to close: only the three that every program has, and the one that looks. */
static int inherited_descriptors(void) {
    int open_ones = 0;
    for (int fd = 3; fd < 256; fd++) open_ones += fcntl(fd, F_GETFD) >= 0;
    errno = 0;
    return open_ones;
}

static int has_environment_of_engine(void) {
    static const char *const names[] = {"DOCKER_HOST", "CONTAINER_HOST", "DEADHEAT_DATA_DIR", "DEADHEAT_DATABASE_URL",
                                        "DEADHEAT_SECRET", "LISTEN_FDS", "NOTIFY_SOCKET", "JUDGE_UID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return 1;
    errno = 0;
    return 0;
}

static void probe(void) {
    TRY("a socket that was left open", inherited_descriptors());
    TRY("settings of the worker", has_environment_of_engine());
    TRY("the engine", listens("/var/run/docker.sock") || listens("/run/docker.sock"));
    TRY("the engine, through init", listens("/proc/1/root" "/run/docker.sock") || listens("/proc/1/cwd/run/docker.sock"));
    TRY("the engine's own engine", listens("/run/containerd/containerd.sock") ||
                                       listens("/var/run/docker/containerd/containerd.sock"));
    TRY("another engine", listens("/run/podman/podman.sock") || listens("/run/crio/crio.sock"));
    TRY("the service manager", listens("/run/systemd/private") || listens("/run/systemd/notify"));
    TRY("the message bus", listens("/run/dbus/system_bus_socket"));
    TRY("the log", listens("/dev/log") || listens("/run/systemd/journal/socket"));
    TRY("the resolver", listens("/run/systemd/resolve/io.systemd.Resolve") || listens("/run/nscd/socket"));
    TRY("a database", listens("/run/postgresql/.s.PGSQL.5432") || listens("/run/redis/redis-server.sock"));
    TRY("a screen", listens("/tmp/.X11-unix/X0") || listens_abstractly("/tmp/.X11-unix/X0"));
    TRY("the engine's helper", listens_abstractly("/containerd-shim/moby/shim.sock") ||
                                   listens_abstractly("/var/run/docker/containerd/docker-containerd.sock"));
    TRY("any socket with a name", named_sockets());
}

PLAY(probe)
