/* Looks for the opponent: its program, its folder on the host, its processes, and what the match before left behind. It
 * leaves something behind itself, so its second match looks for that of its first.
 */
#include "probe.h"
#include <dirent.h>
#include <ftw.h>
#include <libgen.h>

extern char **environ;

/* Folders of the root that every Debian has, and ours. */
static int unknown_folder_in_root(void) {
    static const char *const known =
        " . .. .dockerenv bin boot bot complete dev etc home judge lib lib32 lib64 libx32 media mnt opt play proc resident "
        "root run sbin srv sys tmp usr var ";
    int unknown = 0;
    DIR *root = opendir("/bot/..");
    for (struct dirent *entry; root && (entry = readdir(root)) != NULL;) {
        char name[300];
        snprintf(name, sizeof name, " %s ", entry->d_name);
        unknown += strstr(known, name) == NULL;
    }
    if (root) closedir(root);
    errno = 0;
    return unknown;
}

/* The kernel tells a container where on the host its folders are. */
static int reaches_folder_of_host(void) {
    char line[1024], path[512], point[128];
    int reached = 0;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%*d %*d %*s %511s %127s", path, point) == 2 && strcmp(point, "/bot") == 0)
            reached += opens(path, O_RDONLY) || opens(dirname(path), O_RDONLY);
    if (mounts) fclose(mounts);
    return reached;
}

static int looks_through_others(const char *what) {
    char path[64];
    int seen = 0;
    for (pid_t pid = 2; pid < 3000; pid++) {
        snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
        if (pid != getpid() && opens(path, O_RDONLY)) seen++;
    }
    return seen;
}

enum { NOBODY = 65534 };
static int somebodys_files;

static int look(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)where;
    if (kind == FTW_D && (strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0)) return FTW_SKIP_SUBTREE;
    int host = about->st_uid == NOBODY; /* whom a room does not know: the host's root, whose files are the languages */
    somebodys_files += !host && about->st_uid >= 1000 && about->st_uid != getuid();
    return FTW_CONTINUE;
}

static int files_of_others(void) {
    somebodys_files = 0;
    nftw("/", look, 16, FTW_PHYS | FTW_ACTIONRETVAL);
    errno = 0;
    return somebodys_files;
}

static int something_in(const char *folder) {
    int found = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) found += entry->d_name[0] != '.' || entry->d_name[1] > '.';
    if (entries) closedir(entries);
    errno = 0;
    return found;
}

static int unknown_variable(void) {
    static const char *const known[] = {"PATH=", "HOME=", "LANG=", "HOSTNAME=", "PYTHONDONTWRITEBYTECODE="};
    int unknown = 0;
    for (char **variable = environ; *variable; variable++) {
        int is_known = 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= strncmp(*variable, known[i], strlen(known[i])) == 0;
        unknown += !is_known;
    }
    return unknown;
}

static int judges_folders(void) {
    return opens("/var/lib/docker", O_RDONLY) || opens("/var/lib/deadheat", O_RDONLY) || opens("/run/deadheat", O_RDONLY) ||
           opens("/srv/deadheat", O_RDONLY) || opens("/opt/deadheat", O_RDONLY);
}

static void probe(void) {
    TRY("folders beside its own", unknown_folder_in_root());
    TRY("its own folder on the host", reaches_folder_of_host());
    TRY("folders of the judge", judges_folders());
    TRY("files of other users", files_of_others());
    TRY("roots of other processes", looks_through_others("root/"));
    TRY("folders of other processes", looks_through_others("cwd/"));
    TRY("programs of other processes", looks_through_others("exe"));
    TRY("descriptors of other processes", looks_through_others("fd"));
    TRY("command lines of other processes", looks_through_others("cmdline"));
    TRY("what a match before left in /tmp", something_in("/tmp"));
    TRY("what a match before left elsewhere", something_in("/dev/mqueue") || something_in("/dev/shm") ||
                                                 something_in("/var/tmp") || something_in("/run/lock"));
    TRY("what it was told at its start", unknown_variable());

    mkdir("/tmp/left", 0700);
    close(open("/tmp/left/for-the-next-match", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    chmod("/tmp/left", 0);
}

PLAY(probe)
