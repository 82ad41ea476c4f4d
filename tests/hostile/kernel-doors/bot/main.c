/* Knocks on the rarer doors of the kernel, where most of its holes have been. Arguments are nonsense: a call that gets as
 * far as complaining about them has got too far.
 */
#include "probe.h"
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum {
    CACHESTAT = 451, MAP_SHADOW_STACK = 453, LSM_GET_SELF_ATTR = 459, LSM_LIST_MODULES = 461, MEMFD_SECRET = 447,
    QUOTACTL_FD = 443, SET_MEMPOLICY_HOME_NODE = 450, SET_MEMORY_MERGE = 67,
};
enum { NO_RANDOM_ADDRESSES = 0x0040000, READABLE_IS_EXECUTABLE = 0x0400000, OLD_VERSION = 0x0020000 };

#define LARGER (1L << 32) /* the kernel looks at the lower half of such a number only */

static long personality(unsigned long persona) { return syscall(SYS_personality, persona); }

static int is_predictable(void) { return personality(NO_RANDOM_ADDRESSES) >= 0; }
static int is_executable(void) { return personality(READABLE_IS_EXECUTABLE) >= 0; }

static int speaks_32_bit(void) {
#ifdef __x86_64__
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20L) : "memory"); /* getpid */
    return answer == getpid();
#else
    return 0;
#endif
}

static int speaks_x32(void) { return syscall(0x40000000 | SYS_getpid) == getpid(); }

/* Makes the kernel drop what it keeps of a file that other bots may be about to read. */
static int evicts_a_file(long how) {
    int fd = open("/usr/bin/tar", O_RDONLY | O_CLOEXEC);
    long answer = syscall(SYS_fadvise64, fd, 0L, 0L, how);
    int why = errno;
    close(fd);
    errno = why;
    return answer == 0;
}

static int shares_equal_pages(long how) {
    char *pages = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long answer = syscall(SYS_madvise, pages, 1L << 16, how);
    int why = errno;
    munmap(pages, 1 << 16);
    errno = why;
    return answer == 0;
}

static int shares_all_equal_pages(void) { return syscall(SYS_prctl, LARGER | SET_MEMORY_MERGE, 1L, 0L, 0L, 0L) == 0; }

static int breaks_memory(void) { return madvise((void *)4096, 4096, MADV_HWPOISON) == 0 || errno == ENOMEM; }

static void probe(void) {
    struct io_uring_params ring = {0};
    struct perf_event_attr counter = {.type = PERF_TYPE_SOFTWARE, .size = sizeof counter};
    char buffer[4096] = "";

    DOOR("io_uring_setup", syscall(SYS_io_uring_setup, 1, &ring));
    DOOR("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
    DOOR("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
    DOOR("memfd_create", syscall(SYS_memfd_create, "of a bot", 0));
    DOOR("memfd_secret", syscall(MEMFD_SECRET, -1));
    DOOR("bpf", syscall(SYS_bpf, -1, buffer, 64));
    DOOR("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
    DOOR("perf_event_open", syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0));
    DOOR("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, -1));
    DOOR("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, -1));
    DOOR("init_module", syscall(SYS_init_module, buffer, 0, ""));
    DOOR("finit_module", syscall(SYS_finit_module, -1, "", -1));
    DOOR("delete_module", syscall(SYS_delete_module, "no such module", O_NONBLOCK));
    DOOR("fanotify_init", syscall(SYS_fanotify_init, -1, 0));
    DOOR("fanotify_mark", syscall(SYS_fanotify_mark, -1, 0, 0, -1, NULL));
    DOOR("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", buffer, buffer, -1));
    DOOR("open_by_handle_at", syscall(SYS_open_by_handle_at, -1, buffer, O_RDONLY));
    DOOR("swapon", syscall(SYS_swapon, "/nowhere", 0));
    DOOR("swapoff", syscall(SYS_swapoff, "/nowhere"));
    DOOR("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
    DOOR("acct", syscall(SYS_acct, "/nowhere/at/all"));
    DOOR("quotactl", syscall(SYS_quotactl, -1, "/nowhere", 0, NULL));
    DOOR("quotactl_fd", syscall(QUOTACTL_FD, -1, -1, 0, NULL));
    DOOR("syslog", syscall(SYS_syslog, 10, NULL, 0));
    DOOR("iopl", syscall(SYS_iopl, -1));
    DOOR("ioperm", syscall(SYS_ioperm, -1L, 1L, 1));
    DOOR("modify_ldt", syscall(SYS_modify_ldt, 0, buffer, sizeof buffer));
    DOOR("sysfs", syscall(SYS_sysfs, 3));
    DOOR("ustat", syscall(SYS_ustat, -1, buffer));
    DOOR("remap_file_pages", syscall(SYS_remap_file_pages, 1, 1, 1, 1, 1));
    DOOR("set_mempolicy_home_node", syscall(SET_MEMPOLICY_HOME_NODE, 1, 1, 1, 1));
    DOOR("cachestat", syscall(CACHESTAT, -1, buffer, buffer, 0));
    DOOR("map_shadow_stack", syscall(MAP_SHADOW_STACK, 0, 0, -1));
    DOOR("lsm_get_self_attr", syscall(LSM_GET_SELF_ATTR, 0, NULL, NULL, -1));
    DOOR("lsm_list_modules", syscall(LSM_LIST_MODULES, buffer, buffer, -1));
    DOOR("sync", syscall(SYS_sync));
    DOOR("syncfs", syscall(SYS_syncfs, 0));
    TRY("addresses that are no secret", in_child(is_predictable));
    TRY("data that is code", in_child(is_executable));
    TRY("calls of 32 bits", in_child(speaks_32_bit));
    TRY("calls of 32 bits in 64", in_child(speaks_x32));
    TRY("evicting what others will read", evicts_a_file(POSIX_FADV_DONTNEED));
    TRY("evicting, by a larger number", evicts_a_file(LARGER | POSIX_FADV_DONTNEED));
    TRY("sharing equal pages with others", shares_equal_pages(MADV_MERGEABLE));
    TRY("sharing equal pages, by a larger number", shares_equal_pages(LARGER | MADV_MERGEABLE));
    TRY("sharing all equal pages with others", in_child(shares_all_equal_pages));
    TRY("declaring memory broken", breaks_memory());
}

PLAY(probe)
