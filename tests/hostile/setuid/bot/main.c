/* Wants to be somebody else: by programs that lend their owner's rights, by system calls, by capabilities. */
#include "probe.h"
#include <ftw.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/xattr.h>

static int lenders, bearers;

static int look(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)where;
    if (kind == FTW_D && (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0)) return FTW_SKIP_SUBTREE;
    if (kind != FTW_F || !S_ISREG(about->st_mode)) return FTW_CONTINUE;
    lenders += (about->st_mode & (S_ISUID | S_ISGID)) != 0;
    bearers += (about->st_mode & 0111) != 0 && lgetxattr(path, "security.capability", NULL, 0) > 0;
    return FTW_CONTINUE;
}

static int find_lenders(void) {
    lenders = bearers = 0;
    nftw("/", look, 16, FTW_PHYS | FTW_ACTIONRETVAL);
    errno = 0;
    return lenders;
}

static int is_root(void) { return setuid(0) == 0; }
static int is_root_in_all(void) { return setresuid(0, 0, 0) == 0; }
static int is_root_in_effect(void) { return setreuid(-1, 0) == 0; }
static int is_neighbour(void) { return setuid(getuid() + 1) == 0; }
static int is_roots_group(void) { return setgid(0) == 0; }
static int is_disks_group(void) { return setresgid(6, 6, 6) == 0; }
static int is_in_groups(void) { return setgroups(2, (gid_t[]){0, 6}) == 0; }
static int sees_files_as_root(void) { return setfsuid(0), setfsuid(-1) == 0; }

static int copy_program(const char *target, mode_t mode) {
    char buffer[4096];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    for (ssize_t got; to >= 0 && (got = read(from, buffer, sizeof buffer)) > 0;)
        if (write(to, buffer, (size_t)got) != got) break;
    close(from);
    close(to);
    return chmod(target, mode) == 0;
}

static int lends_itself(void) {
    int status = 0;
    if (!copy_program("/tmp/lender", 06755)) return 0;
    pid_t child = fork();
    if (child == 0) {
        close(0); /* with nothing to read, the copy ends at once */
        execl("/tmp/lender", "lender", (char *)NULL);
        _exit(errno);
    }
    waitpid(child, &status, 0);
    unlink("/tmp/lender");
    errno = WEXITSTATUS(status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int gives_file_away(void) {
    int fd = open("/tmp/given", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int answer = fchown(fd, 0, 0), why = errno;
    close(fd);
    unlink("/tmp/given");
    errno = why;
    return answer == 0;
}

static int gives_file_capabilities(void) {
    struct vfs_cap_data all = {VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, {{~0u, 0}, {~0u, 0}}};
    int fd = open("/tmp/able", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    int answer = fsetxattr(fd, "security.capability", &all, sizeof all, 0), why = errno;
    close(fd);
    unlink("/tmp/able");
    errno = why;
    return answer == 0;
}

static int takes_capability(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{1u << CAP_DAC_OVERRIDE, 1u << CAP_DAC_OVERRIDE, 0}, {0, 0, 0}};
    return syscall(SYS_capset, &header, sets) == 0;
}

static int hands_capability_on(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    if (syscall(SYS_capget, &header, sets) != 0) return 0;
    sets[0].inheritable |= 1u << CAP_CHOWN;
    return syscall(SYS_capset, &header, sets) == 0 &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0) == 0;
}

static int has_bounding_set(void) {
    int any = 0;
    for (int capability = 0; capability < 64; capability++) any |= prctl(PR_CAPBSET_READ, capability) == 1;
    errno = 0;
    return any;
}

static int locks_capabilities(void) { return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) == 0; }

static int runs_without_filter(void) {
    int mode = prctl(PR_GET_SECCOMP);
    errno = 0;
    return mode == 0;
}

static void probe(void) {
    TRY("programs that lend their owner's rights", find_lenders());
    TRY("programs with capabilities", bearers);
    TRY("being root", in_child(is_root));
    TRY("being root in every way", in_child(is_root_in_all));
    TRY("being root in effect", in_child(is_root_in_effect));
    TRY("being the next user", in_child(is_neighbour));
    TRY("root's group", in_child(is_roots_group));
    TRY("the disks' group", in_child(is_disks_group));
    TRY("further groups", in_child(is_in_groups));
    TRY("root's view of files", in_child(sees_files_as_root));
    TRY("a user with a name", getpwuid(getuid()) != NULL);
    TRY("groups that it was given", getgroups(0, NULL) > 0 || getegid() < 1024);
    TRY("a lending program of its own", lends_itself());
    TRY("a file for root", gives_file_away());
    TRY("a program with capabilities of its own", gives_file_capabilities());
    TRY("a capability", in_child(takes_capability));
    TRY("a capability for children", in_child(hands_capability_on));
    TRY("capabilities that it could be lent", has_bounding_set());
    TRY("rules for capabilities", in_child(locks_capabilities));
    TRY("new privileges by starting programs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
    TRY("all system calls", runs_without_filter());
}

PLAY(probe)
