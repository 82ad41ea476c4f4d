"""The system calls that a bot may make: our own list, stricter than any engine's default.

Calls that are not named here do not exist for a bot (ENOSYS, so that runtimes fall back to older calls; engines before
23.0 do not support this and return EPERM), and dangerous calls are refused (EPERM). docs/why/walls-around-a-bot.md and
docs/decisions/sandbox.md say what was done with some of them. Left out on purpose:

* ways out and ways in: namespaces, mounts, chroot, ptrace and reading other processes' memory, kernel modules, kexec,
  bpf, perf, userfaultfd, handles to files, quotas, swap, accounting, ports; sockets but of AF_UNIX (engines' defaults
  allow AF_VSOCK and AF_NETLINK), io_uring;
* objects that outlive a match or cross containers: System V and POSIX message queues, shared segments and semaphores,
  keys, asynchronous I/O with its host-wide budget, fanotify, inotify, and (except in a build) locks: to the kernel, all
  event descriptors of a host are one file, and the holder of one notices a lock on any other;
* moving pages instead of copying them (splice, tee, vmsplice, sendfile);
* memory that belongs to no process (memfd_create and memfd_secret, beyond what /tmp, pipes and sockets can hold): when
  memory runs out, the kernel must find a process of the bot that is larger than init;
* calls that slow down others: evicting files that they are about to read (POSIX_FADV_DONTNEED), making the host flush
  its disks (sync, syncfs), keeping tasks of others off a core (PR_SCHED_CORE), sharing equal pages with them
  (MADV_MERGEABLE, PR_SET_MEMORY_MERGE), timers that wake all waiters on a descriptor in one interrupt (timerfd,
  signalfd, POSIX timers);
* shared state that bots in different boxes could read: memory policies attached to a file (mbind), hints about a file's
  life (F_SET_RW_HINT, which kernels before 6.13 let every reader set), MADV_COLLAPSE, the free space of the pipes' file
  system (fstatfs), the account of pipes that belong to the referee's user (F_SETPIPE_SZ), the numbers of mounts (statx,
  which reports them unasked);
* filters of a bot's own: those of calls (seccomp) and Landlock write to the host's audit log; the machine code of those
  of calls and of sockets (SO_ATTACH_FILTER) has a limit and a lock of the whole kernel, for which new rooms waited 5 s;
* ioctl but for terminals and descriptors: on a local socket it takes the lock of the host's networks (SIOCGIFCONF: new
  rooms waited for more than 10 s), and loads modules (SIOCGIFBR, SIOCGIFVLAN);
* the host's huge pages (MAP_HUGETLB), which no memory limit of a room counts;
* the limit on core dumps, which must stay 1 (see `sandbox.containers`); setting a clock.

Arguments of 32 bits are compared as 64, so rules name allowed values or blocks of them, never "different from" a value:
otherwise a set upper half would slip through.

init (images/init.c) runs under the same filter before it becomes the bot, so its calls are allowed too. A wall also
mounts, filters, makes namespaces (clone3) and reads signals from a descriptor, and its starter asks for the file system
of /proc (fstatfs); init's own filter forbids these in a room.

A build has no opponent, and its tools need locks (Go) and ask how much memory there is. A match reveals no host-wide
counts: free memory and the number of processes (sysinfo), the numbers given to processes (pidfd_open, CLONE_PIDFD,
SO_PEERPIDFD, SO_PASSPIDFD) and to sockets (SO_COOKIE, SO_NETNS_COOKIE).
"""

import json
from collections.abc import Iterable
from functools import cache

_ALLOWED = """
accept accept4 access alarm arch_prctl bind brk capget capset chdir chmod chown clock_getres clock_gettime
clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fallocate
fchdir fchmod fchmodat fchmodat2 fchown fchownat fdatasync fgetxattr flistxattr fork fremovexattr fsetxattr fstat
fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_robust_list getcpu getcwd
getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority
getrandom getresgid getresuid getrlimit getrusage getsid getsockname gettid gettimeofday getuid getxattr kill lchown
lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat membarrier mincore mkdir mkdirat
mknod mknodat mlock mlock2 mlockall mprotect mremap msync munlock munlockall munmap nanosleep newfstatat open openat
openat2 pause pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64 preadv preadv2
pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg removexattr
rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity
sched_setattr sched_setparam sched_setscheduler sched_yield select sendmmsg sendmsg sendto set_robust_list
set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid
setsid setuid setxattr shutdown sigaltstack signalfd signalfd4 stat symlink symlinkat sync_file_range tgkill time
times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork wait4 waitid write writev
"""

_OF_BUILDS = """
flock get_mempolicy mbind pidfd_open set_mempolicy statfs sysinfo timer_create timer_delete timer_getoverrun
timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
"""
"""The calls that builds may use and matches may not; the reasons are above."""

_AF_UNIX = 1
_NAMESPACES = 0x7E02_0080  # every CLONE_NEW* flag
_CLONE_PIDFD = 0x1000
_SO_PASSPIDFD, _SO_LAST = 76, 96
_SO_COOKIES = (57, 71, 77)  # cookies of sockets and of their namespace, and the peers' processes
# Linux, its 32-bit and legacy variants, addresses without randomisation (init's choice for bots), and the query.
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0x40000, 0xFFFF_FFFF)
_ARGUMENT = 2**64 - 1  # all its bits
_EPERM, _EINVAL, _ENOSYS, _EAFNOSUPPORT = 1, 22, 38, 97

_F_GETLK = 5
_FCNTL_LOCKS = (5, 6, 7, 36, 37, 38)  # locks of a process, and of an open file
_F_SETPIPE_SZ = 1031
_FCNTL_BUT_LOCKS = (*range(8, 18), *range(1027, 1031), *range(1032, 1035))  # owners and signals; duplicates; seals
_FADV_DONTNEED, _FADV_NOREUSE = 4, 5
_MADV_MERGEABLE, _MADV_LAST = 12, 24  # 25 is MADV_COLLAPSE
_STATX_MOUNTS = 0x1000 | 0x4000  # numbers of mounts
_MAP_HUGETLB = 0x40000
_IOCTLS = (*range(0x5400, 0x5500), 0x802C542A)  # terminals, FIONREAD, FIONBIO, FIOCLEX and the like; TCGETS2
_NOTIFICATIONS = (0xC0502100, 0xC0182101)  # with which a warden counts pipes and sockets
_SO_FILTERS = (26, 50, 51, 52)  # SO_ATTACH_FILTER, _BPF and both for ports that are shared
_RLIMIT_CORE, _RLIMITS = 4, 16
_PR_SET_SECCOMP, _PR_SCHED_CORE = 22, 62
_PR_GET_AUXV, _PR_SET_VMA = 0x4155_5856, 0x5356_4D41  # the last names memory, for debuggers

_REFUSED = """
acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module finit_module init_module ioperm iopl
kexec_file_load kexec_load keyctl lookup_dcookie mount mount_setattr move_mount name_to_handle_at open_by_handle_at
open_tree perf_event_open pivot_root process_vm_readv process_vm_writev ptrace quotactl reboot request_key
seccomp setdomainname sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd vhangup
"""


@cache
def profile(building: bool = False, says_eperm: bool = False, rooms: bool = False) -> str:
    """Return the filter as JSON for the engine (``--security-opt seccomp=...``). Calls of foreign architectures kill.

    `rooms`: allow the calls with which rooms are made, and which are then forbidden in them. `says_eperm`: the runtime
    refuses only with EPERM. The C library needs ENOSYS to do without clone3, which gVisor's kernel then says itself.
    """
    allowed = _ALLOWED.split()
    absent = ["splice", "tee", "vmsplice"]  # named, because engines before 23.0 refuse what is not named (EPERM)
    (allowed if building else absent).extend(_OF_BUILDS.split())
    (allowed if says_eperm or rooms else absent).append("clone3")
    if not says_eperm:  # the C library then does without; gVisor's numbers are its own
        absent.append("statx")
    sockets = ["socket", "socketpair"]
    of_makers = {"mount", "umount2", "pivot_root", "seccomp"} if rooms else set()
    rules: list[dict[str, object]] = [
        {"names": sorted({*allowed, *of_makers}), "action": "SCMP_ACT_ALLOW"},
        {"names": sorted({*_REFUSED.split()} - of_makers), "action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM},
        _if_argument(sockets, 0, _AF_UNIX, "SCMP_CMP_EQ"),
        _if_argument(sockets, 0, _AF_UNIX, "SCMP_CMP_NE") | {"action": "SCMP_ACT_ERRNO", "errnoRet": _EAFNOSUPPORT},
        # The flags of clone are an argument; those of clone3 are in memory, which filters cannot read.
        _if_masked("clone", 0, _NAMESPACES | _CLONE_PIDFD),
        {"names": absent, "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        # It passes pages on, too. With this error all runtimes copy instead; Node gives up at ENOSYS.
        {"names": ["sendfile"], "action": "SCMP_ACT_ERRNO", "errnoRet": _EINVAL},
    ]
    rules += _only("personality", 0, _PERSONALITIES)
    locks = (*_FCNTL_LOCKS, _F_SETPIPE_SZ) if building else ()
    rules += _only("fcntl", 1, (*range(_F_GETLK), *_FCNTL_BUT_LOCKS, *locks))
    if says_eperm:
        rules.append(_if_masked("statx", 3, _STATX_MOUNTS))
    rules.append(_if_masked("mmap", 3, _MAP_HUGETLB))
    rules += _only("ioctl", 1, (*_IOCTLS, *(_NOTIFICATIONS if rooms else ())))
    rules += _only("fadvise64", 3, {*range(_FADV_NOREUSE + 1)} - {_FADV_DONTNEED})
    rules += _only("madvise", 2, {*range(_MADV_LAST + 1)} - {_MADV_MERGEABLE})
    rules += _only("setrlimit", 0, {*range(_RLIMITS)} - {_RLIMIT_CORE})
    rules += _only("prlimit64", 1, {*range(_RLIMITS)} - {_RLIMIT_CORE})
    rules.append(_if_argument(["prlimit64"], 2, 0, "SCMP_CMP_EQ"))  # a query only
    rules += _only("getsockopt", 2, {*range(_SO_LAST)} - {*_SO_COOKIES})
    rules += _only("setsockopt", 2, {*range(_SO_LAST)} - {_SO_PASSPIDFD, *_SO_FILTERS})
    rules += _only("prctl", 0, (*{*range(_PR_SCHED_CORE)} - {_PR_SET_SECCOMP}, _PR_GET_AUXV, _PR_SET_VMA))
    return json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": _ENOSYS, "syscalls": rules})


def _only(name: str, index: int, values: Iterable[int]) -> list[dict[str, object]]:
    """Allow a call if this argument is one of `values`: one rule for each block of 2^n values that begins at a multiple
    of 2^n, because every container pays for each rule when its filter is sent, parsed and compiled.
    """
    rules, left = [], set(values)
    while left:
        first, size = min(left), 1
        while first % (2 * size) == 0 and left.issuperset(range(first, first + 2 * size)):
            size *= 2
        left.difference_update(range(first, first + size))
        rules.append(_if_masked(name, index, _ARGUMENT - (size - 1), first))
    return rules


def _if_masked(name: str, index: int, bits: int, value: int = 0) -> dict[str, object]:
    """Allow a call if these bits of this argument equal those of `value`."""
    return _if_argument([name], index, bits, "SCMP_CMP_MASKED_EQ", value)


def _if_argument(names: list[str], index: int, value: int, operator: str, second: int = 0) -> dict[str, object]:
    argument = {"index": index, "value": value, "valueTwo": second, "op": operator}
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": [argument]}
