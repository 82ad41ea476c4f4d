/* Looks for other processes and for the host in /proc: init first of all. */
#include "probe.h"
#include <dirent.h>
#include <sys/resource.h>

/* Whether a link of /proc can be read, and not only seen. */
static int follows(const char *path) {
    char target[256];
    return readlink(path, target, sizeof target) > 0;
}

static int lists(const char *path) { return opens(path, O_RDONLY | O_DIRECTORY); }

/* Processes other than init, itself and (when asked by a child) its children. */
static int sees_strangers(void) {
    DIR *processes = opendir("/proc");
    int strangers = 0;
    for (struct dirent *entry; processes && (entry = readdir(processes)) != NULL;) {
        pid_t pid = atoi(entry->d_name);
        strangers += pid > 1 && pid != getpid();
    }
    if (processes) closedir(processes);
    errno = 0;
    return strangers;
}

/* A process that is not listed might still be there. */
static int stranger_has_a_number(void) {
    for (pid_t pid = 3; pid < 5000; pid++) /* 1 and 2 are its warden */
        if (pid != getpid() && (kill(pid, 0) == 0 || errno == EPERM)) return 1;
    errno = ESRCH;
    return 0;
}

static int writes(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t written = write(fd, text, strlen(text));
    int why = errno;
    close(fd);
    errno = why;
    return written > 0;
}

static int opens_any_of_init(void) {
    char path[32];
    for (int fd = 0; fd < 16; fd++) {
        snprintf(path, sizeof path, "/proc/1/fd/%d", fd);
        if (opens(path, O_RDONLY) || opens(path, O_WRONLY)) return 1;
    }
    return 0;
}

/* Real addresses instead of zeros. */
static int kernel_addresses_are_told(void) {
    unsigned long long address = 0, told = 0;
    FILE *symbols = fopen("/proc/kallsyms", "re");
    if (!symbols) return 0;
    for (int line = 0; line < 100 && fscanf(symbols, "%llx %*[^\n]", &address) == 1; line++) told |= address;
    fclose(symbols);
    errno = 0;
    return told != 0;
}

static int hosts_name_is_told(void) {
    char name[65] = "";
    errno = 0;
    return gethostname(name, sizeof name) == 0 && strcmp(name, "sandbox") != 0;
}

static void probe(void) {
    TRY("processes of others", sees_strangers());
    TRY("processes that are not listed", stranger_has_a_number());
    TRY("init's environment", reads("/proc/1/environ"));
    TRY("init's memory map", reads("/proc/1/maps"));
    TRY("init's memory, to read", opens("/proc/1/mem", O_RDONLY));
    TRY("init's memory, to write", opens("/proc/1/mem", O_WRONLY));
    TRY("init's pages", opens("/proc/1/pagemap", O_RDONLY));
    TRY("init's descriptors", lists("/proc/1/fd"));
    TRY("init's pipes by their numbers", opens_any_of_init());
    TRY("what init's descriptors are", lists("/proc/1/fdinfo"));
    TRY("init's root", lists("/proc/1/root/"));
    TRY("init's working directory", lists("/proc/1/cwd/"));
    TRY("init's program", follows("/proc/1/exe"));
    TRY("init's namespaces", follows("/proc/1/ns/mnt") || follows("/proc/1/ns/pid"));
    TRY("init's mapped files", lists("/proc/1/map_files"));
    TRY("where init waits", reads("/proc/1/stack") || reads("/proc/1/syscall"));
    TRY("init's input and output counts", reads("/proc/1/io"));
    TRY("init's timers", opens("/proc/1/timers", O_RDONLY));
    TRY("init's personality", reads("/proc/1/personality"));
    TRY("init's authentication vector", reads("/proc/1/auxv"));
    TRY("init's score for running out of memory", writes("/proc/1/oom_score_adj", "1000"));
    TRY("a score of its own below everybody's", writes("/proc/self/oom_score_adj", "-1000"));
    TRY("init's limits", prlimit(1, RLIMIT_NOFILE, &(struct rlimit){3, 3}, NULL) == 0);
    TRY("init's memory as dumped", writes("/proc/1/coredump_filter", "0"));
    TRY("init's soft-dirty bits", writes("/proc/1/clear_refs", "4"));

    TRY("the kernel's memory", opens("/proc/kcore", O_RDONLY));
    TRY("the kernel's log", opens("/proc/kmsg", O_RDONLY));
    TRY("the kernel's addresses", kernel_addresses_are_told());
    TRY("the kernel's slabs", reads("/proc/slabinfo"));
    TRY("the kernel's page flags", opens("/proc/kpageflags", O_RDONLY));
    TRY("the kernel's page counts", opens("/proc/kpagecount", O_RDONLY));
    TRY("the kernel's timers", reads("/proc/timer_list"));
    TRY("the kernel's scheduler", reads("/proc/sched_debug") || reads("/sys/kernel/debug/sched/debug"));
    TRY("the machine's memory map", kernel_addresses_are_told() && reads("/proc/iomem"));
    TRY("keys", reads("/proc/keys"));
    TRY("locks of others", reads("/proc/locks"));
    TRY("segments, queues and semaphores of others", lists("/proc/1/root" "/dev/shm"));
    TRY("the firmware's tables", lists("/sys/firmware/acpi") || lists("/sys/firmware/dmi") || lists("/sys/firmware/qemu_fw_cfg"));
    TRY("the machine's number", reads("/sys/class/dmi/id/product_uuid") || reads("/sys/class/dmi/id/product_serial"));
    TRY("the host's identity", reads("/etc/machine-id") || reads("/var/lib/dbus/machine-id"));
    TRY("the host's name", hosts_name_is_told());
    TRY("the kernel's debugging", lists("/sys/kernel/debug/sched"));
}

PLAY(probe)
