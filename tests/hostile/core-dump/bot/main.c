/* Crashes (in children) and looks for what that leaves. Where the host has crashes piped into a program of its own, the
 * kernel starts that program as the host's root, whatever the limit on a core file, unless the limit is exactly 1.
 */
#include "probe.h"
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static int dumps_when(void (*crash)(void)) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        crash();
        _exit(0);
    }
    waitpid(child, &status, 0);
    errno = 0;
    return WIFSIGNALED(status) && WCOREDUMP(status);
}

static void read_nowhere(void) {
    volatile char *nowhere = NULL;
    *nowhere = 1;
}

static void give_up(void) { abort(); }
static void divide(void) { raise(SIGFPE); }
static void quit(void) { raise(SIGQUIT); }

static void call_as_32_bit(void) {
#ifdef __x86_64__
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20L) : "memory"); /* ends it, where foreign calls are filtered */
    if (answer == getpid()) abort();
#endif
}

static int dumps_are_left_in(const char *folder) {
    int found = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;)
        found += strncmp(entry->d_name, "core", 4) == 0;
    if (entries) closedir(entries);
    errno = 0;
    return found;
}

static int limited_to(rlim_t soft, rlim_t hard) {
    struct rlimit limit = {soft, hard};
    return setrlimit(RLIMIT_CORE, &limit) == 0;
}

static int small_dumps(void) { return limited_to(4096, 4096); }
static int large_dumps(void) { return limited_to(RLIM_INFINITY, RLIM_INFINITY); }

/* The limit 0 is no limit for a pipe. */
static int piped_dumps(void) { return limited_to(0, 0); }

static int piped_dumps_by_number(void) {
    struct rlimit none = {0, 0};
    return syscall(SYS_setrlimit, RLIMIT_CORE, &none) == 0;
}

/* The kernel looks at the lower half of the number only. */
static int piped_dumps_by_a_larger_number(void) {
    struct rlimit none = {0, 0};
    return syscall(SYS_prlimit64, 0, RLIMIT_CORE | 1L << 32, &none, NULL) == 0;
}

static int piped_dumps_softly(void) { return limited_to(0, 1); }

static int has_other_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur != 1 || limit.rlim_max != 1;
}

static void probe(void) {
    TRY("a limit other than 1", has_other_limit());
    TRY("small dumps", in_child(small_dumps));
    TRY("large dumps", in_child(large_dumps));
    TRY("dumps into a pipe", in_child(piped_dumps));
    TRY("dumps into a pipe, by the old call", in_child(piped_dumps_by_number));
    TRY("dumps into a pipe, by a larger number", in_child(piped_dumps_by_a_larger_number));
    TRY("dumps into a pipe, for a while", in_child(piped_dumps_softly));
    TRY("a bad address", dumps_when(read_nowhere));
    TRY("an abort", dumps_when(give_up));
    TRY("a division", dumps_when(divide));
    TRY("the quit key", dumps_when(quit));
    TRY("a foreign system call", dumps_when(call_as_32_bit));
    TRY("a dump in its folders", dumps_are_left_in("/bot") || dumps_are_left_in(".") || dumps_are_left_in("/tmp"));
    TRY("where dumps go", opens("/proc/sys/kernel/core_pattern", O_WRONLY));
}

PLAY(probe)
