/* Mounts, unmounts and moves file systems, by the old calls and the new ones. */
#include "probe.h"
#include <linux/mount.h>
#include <sys/mount.h>

static long call_mount(const char *source, const char *target, const char *type, unsigned long flags) {
    return syscall(SYS_mount, source, target, type, flags, "");
}

static int mounted(const char *source, const char *type, unsigned long flags) {
    if (call_mount(source, "/tmp/mnt", type, flags) != 0) return 0;
    syscall(SYS_umount2, "/tmp/mnt", MNT_DETACH);
    return 1;
}

/* A new hierarchy has a release agent: a program that the host runs as root. */
static int control_groups_mounted(void) {
    return mounted("cgroup", "cgroup2", 0) || mounted("cgroup", "cgroup", 0);
}

/* Where the host has mounted it already, for writing, the answer is that it is busy. */
static int disk_mounted(const char *disk) { return mounted(disk, "ext4", MS_RDONLY) || errno == EBUSY; }

static int root_changed(void) { return chroot("/tmp") == 0; }

static int unmounted(void) { return syscall(SYS_umount2, "/proc", MNT_DETACH) == 0; }

static int program_made_writable(void) {
    return call_mount(NULL, "/bot", NULL, MS_REMOUNT | MS_BIND) == 0 && opens("/bot/new", O_WRONLY | O_CREAT);
}

enum { OPEN_TREE_ATTR = 467, STATMOUNT = 457, LISTMOUNT = 458 };

static void probe(void) {
    struct { uint64_t attr_set, attr_clr, propagation, userns_fd; } nothing = {0, 0, 0, 0};
    struct { uint32_t size, spare; uint64_t mnt_id, param, mnt_ns_id; } request = {32, 0, UINT64_MAX, 0, 0};
    uint64_t list[8];
    mkdir("/tmp/mnt", 0777);

    TRY("a tmpfs", mounted("tmpfs", "tmpfs", 0));
    TRY("another /proc", mounted("proc", "proc", 0));
    TRY("another /sys", mounted("sysfs", "sysfs", 0));
    TRY("an overlay", mounted("overlay", "overlay", 0) || errno == EINVAL);
    TRY("control groups", control_groups_mounted());
    TRY("the host's disk", disk_mounted("/dev/vda") || disk_mounted("/dev/sda1") || disk_mounted("/dev/nvme0n1p1"));
    TRY("the root, bound to another place", mounted("/", "", MS_BIND | MS_REC));
    TRY("the root, shared", call_mount(NULL, "/", NULL, MS_REC | MS_SHARED) == 0);
    TRY("its program, writable", in_child(program_made_writable));
    TRY("the root, writable", call_mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND) == 0);
    TRY("/tmp, with programs", call_mount(NULL, "/tmp/mnt", NULL, MS_REMOUNT | MS_BIND) == 0 || errno == EINVAL);
    TRY("what hides /proc", in_child(unmounted));
    TRY("another root", in_child(root_changed));
    DOOR("another root for all", syscall(SYS_pivot_root, "/tmp/mnt", "/tmp/mnt"));
    DOOR("a new file system", syscall(SYS_fsopen, "no such type", 0));
    DOOR("a file system to change", syscall(SYS_fspick, AT_FDCWD, "/nowhere", 0));
    DOOR("a file system's settings", syscall(SYS_fsconfig, -1, 6, NULL, NULL, 0));
    DOOR("a file system without a place", syscall(SYS_fsmount, -1, 0, 0));
    DOOR("a copied tree", syscall(SYS_open_tree, AT_FDCWD, "/nowhere", OPEN_TREE_CLONE));
    DOOR("a copied tree with attributes", syscall(OPEN_TREE_ATTR, AT_FDCWD, "/nowhere", OPEN_TREE_CLONE, &nothing, 32));
    DOOR("a moved tree", syscall(SYS_move_mount, -1, "", AT_FDCWD, "/tmp/mnt", 0));
    DOOR("a mount's attributes", syscall(SYS_mount_setattr, AT_FDCWD, "/nowhere", 0, &nothing, 32));
    DOOR("all mounts, listed", syscall(LISTMOUNT, &request, list, 8, 0));
    DOOR("a mount, described", syscall(STATMOUNT, &request, list, sizeof list, 0));
    TRY("a file system of its own", opens("/dev/fuse", O_RDWR));

    rmdir("/tmp/mnt");
}

PLAY(probe)
