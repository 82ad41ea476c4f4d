"""Boxes for other people's bots without root and without a container engine: `bwrap`, by namespaces of the kernel.

A run has three processes: bwrap, which waits for the end; process 1 of the namespace, which also belongs to bwrap;
process 2, first a shell with `_SCRIPT`, then the bot. docs/why/walls-around-a-bot.md lists what this confines.

* The shell writes one byte to a socket, and the kernel adds the sender's process id (SO_PASSCRED): that is the bot's id
  on this host, which the meter measures. The shell then waits for one byte, so the bot begins only when everything is
  set up, including its limits.
* The bot's input and output pass through bwrap as numbers above 2, because bwrap keeps its own 0 to 2 open. So if the
  bot closes its output or ends, we notice at once. bwrap reports to the bot's stderr, before the bot begins.
* Killing process 1 ends a run: the kernel kills everything in the namespace, and process 1 ends last. If we die, bwrap
  does (`--die-with-parent`), and everything with it.
* If we die before the bot has begun, the shell finds its socket closed and ends. Process 1 first waits for bwrap, and
  would wait forever if bwrap died then: so bwrap itself holds a reader of what it tells us, and signals are blocked
  meanwhile. Of 200 kills aimed at these microseconds, one left that process behind, without a bot.

Root may not use it: without any capability, the kernel still lets root's processes exceed a limit on their number.
"""

import contextlib
import fcntl
import json
import os
import resource
import shutil
import signal
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from deadheat.engine.core import NS_PER_S
from deadheat.sandbox.box import ENVIRONMENT, Box, Limits, Program, SandboxError
from deadheat.sandbox.local import MAX_FILE_BYTES, LocalBox, Run, keep_open_files, wait
from deadheat.sandbox.pipes import readable

PATIENCE_S = 10
"""How long bwrap may take until the bot can begin, and the kernel to end everything."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""The folders of programs and their libraries. A bot sees only those parts of /etc that these need to start."""

SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/mono")
DEVICES = ("null", "zero", "full", "random", "urandom")
NOBODY = 1000
"""The user and group that every bot sees as its own."""

BUILD_TMP_BYTES = 512 * 1024 * 1024
"""The size of a build's /tmp, with compilers' caches and output."""

DATA_FACTOR = 2
"""RLIMIT_DATA counts what a process reserved, and virtual machines reserve more than they use."""

COUNTS_BY_NAMESPACE = (5, 14)
"""Since this version of Linux a limit on processes counts those of a namespace; before, all of the user's."""

_STDIN, _STDOUT, _INFO, _READER = 3, 4, 6, 7
_SCRIPT = 'echo && read -r _ && exec "$@" <&3 >&4 3<&- 4>&- 7<&-'
"""Starts the bot; its input and output are the socket. Some shells know no descriptors above 9."""

_CREDENTIALS = struct.Struct("3i")  # process, user and group; see unix(7)


_SYSCTL = "an administrator allows it: sysctl "
_PROFILE = "an administrator allows it with an AppArmor profile for bwrap, such as Ubuntu's bwrap-userns-restrict"
_SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", f"{_SYSCTL}kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", f"{_SYSCTL}user.max_user_namespaces=10000"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", _PROFILE),
)
"""What keeps ordinary users from namespaces, and the administrator's remedy."""


class BubblewrapSandbox:
    """See `sandbox.box.Sandbox`."""

    def __init__(self) -> None:
        """Start bubblewrap once to see that it works. Raises SandboxError: it does not; the text names a remedy."""
        if os.geteuid() == 0:
            raise SandboxError("no-start", "bubblewrap does not confine what root starts: use an ordinary account")
        self._bwrap = shutil.which("bwrap") or ""
        if not self._bwrap:
            cure = "there is no command bwrap; the package is called bubblewrap"
            raise SandboxError("no-start", f"bubblewrap is not installed: {cure}")
        box = self.open(Program(Path("/usr"), ("true",), "a trial"), Limits())
        try:
            box.start()
            box.ask_stop(NS_PER_S)
            box.stopped()
        except SandboxError as error:
            remedy = "in a container, the container must allow user namespaces; bubblewrap must be 0.8 or newer"
            for name, refusing, cure in _SWITCHES:
                with contextlib.suppress(OSError):
                    if Path("/proc/sys", name).read_text().strip() == refusing:
                        remedy = cure
                        break
            raise SandboxError("no-start", f"bubblewrap does not work here: {error.detail}; {remedy}") from error

    def open(self, program: Program, limits: Limits) -> Box:
        return _Box(self._bwrap, program, limits)


class _Box(LocalBox):
    """The box of a plain program; only the beginning and the end of a run differ."""

    def __init__(self, bwrap: str, program: Program, limits: Limits) -> None:
        super().__init__(program, limits)
        inside = ["/bin/sh", "-c", _SCRIPT, "sh", *program.command]
        self._arguments = [bwrap, *_confined(program.directory.absolute(), limits), "--", *inside]

    def begin(self, stdin: int, stdout: int, stderr: int) -> Run:
        with contextlib.ExitStack() as stack:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
            stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)  # else bwrap may be left half started
            ours, theirs = socket.socketpair()
            reader, writer = os.pipe()
            stack.callback(os.close, reader)
            for end in (ours, theirs):
                stack.enter_context(end)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            try:
                own = {0: theirs.fileno(), 1: theirs.fileno(), 2: stderr, _INFO: writer, _READER: reader}
                bwrap = _spawned(self._arguments, {**own, _STDIN: stdin, _STDOUT: stdout})
            except OSError as error:
                raise SandboxError("no-start", f"cannot start bwrap: {error}") from error
            finally:
                theirs.close()
                os.close(writer)
            try:
                text = b""  # in which bwrap names the namespace's process 1, as it is numbered on this host
                while b"}" not in text:
                    _await(reader)
                    if not (data := os.read(reader, 4096)):
                        raise OSError("bwrap ended")
                    text += data
                first = int(json.loads(text)["child-pid"])
                init = os.pidfd_open(first)
                _await(ours.fileno())
                data, extra, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
                if not data:
                    raise OSError("bwrap ended")
                [(_, _, credentials)] = extra
                bot = int(_CREDENTIALS.unpack(credentials)[0])
                _limit(bot, self._limits)
                ours.send(b"\n")
                return _Confined(bwrap, first, init, bot)
            except (OSError, ValueError, KeyError) as error:
                ours.close()  # anything that has started now ends by itself
                if not wait(bwrap, PATIENCE_S):
                    os.kill(bwrap, signal.SIGKILL)
                os.waitpid(bwrap, 0)
                why = os.pread(stderr, 1000, 0).decode("utf-8", "replace").strip() or str(error)
                raise SandboxError("no-start", f"{self._program.label} cannot be confined: {why}") from error


def _spawned(arguments: list[str], descriptors: Mapping[int, int]) -> int:
    """Start bwrap with exactly these descriptors under these numbers, out of reach of a terminal's Ctrl-C."""
    keep_open_files()
    high = [(fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 10), number) for number, ours in descriptors.items()]
    try:
        return os.posix_spawn(
            arguments[0],
            arguments,
            ENVIRONMENT,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in high],
            setpgroup=0,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT),
        )
    finally:
        for fd, _ in high:
            os.close(fd)


def _await(fd: int) -> None:
    """Wait until there is something to read. Raises TimeoutError."""
    if not readable(fd, PATIENCE_S):
        raise TimeoutError(f"nothing happened for {PATIENCE_S} s")


def _limit(pid: int, limits: Limits) -> None:
    """Limit what each process of a bot may use, as far as an ordinary user can."""
    values = {
        resource.RLIMIT_DATA: limits.memory_bytes * DATA_FACTOR,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_CORE: 1,  # with 0, a crash is still piped into a program of the host; see core(5)
    }
    major, minor = os.uname().release.split(".")[:2]
    if (int(major), int(minor.partition("-")[0])) >= COUNTS_BY_NAMESPACE:
        values[resource.RLIMIT_NPROC] = limits.processes
    for kind, value in values.items():
        _, most = resource.prlimit(pid, kind)
        least = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(pid, kind, (least, least))
    Path(f"/proc/{pid}/oom_score_adj").write_text("1000")  # killed first when memory runs out; the bot may undo that


class _Confined(Run):
    """A run inside bubblewrap."""

    def __init__(self, bwrap: int, first: int, init: int, bot: int) -> None:
        """`init` is a descriptor of the namespace's `first` process; the others are process ids."""
        self.pid, self.ended_pid = bot, bwrap
        self._first, self._init = first, init

    def signal(self, number: int) -> None:
        """Send a signal to everything in the namespace but its first process, whatever groups the bot has made."""
        signalled: set[int] = set()
        while new := {*_descendants(self._first)} - signalled:  # one of them may just have started another
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            signalled |= new

    def end(self) -> tuple[int | None, int | None]:
        """Like a shell, bwrap reports the end by signal n as exit code 128 + n."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._init, signal.SIGKILL)
        try:
            _await(self._init)
        except TimeoutError as error:
            raise SandboxError("container-stuck", f"a process cannot be killed: {error}") from error
        finally:
            os.close(self._init)
        code = os.waitstatus_to_exitcode(os.waitpid(self.ended_pid, 0)[1])
        return (code, None) if code <= 128 else (None, code - 128)


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                yield child
                yield from _descendants(child)


def _confined(directory: Path, limits: Limits) -> Iterator[str]:
    """Yield bwrap's arguments for a box, which define everything that a bot sees."""
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
    yield from ("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "box", "--info-fd", str(_INFO))
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for path in (*map(Path, SETTINGS), *Path("/etc").glob("java*")):
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))
    for name in DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    yield from ("--symlink", "/proc/self/fd", "/dev/fd", "--proc", "/proc")
    tmp_bytes = BUILD_TMP_BYTES if limits.building else limits.tmp_bytes
    for place in ("/tmp", "/dev/shm"):
        yield from ("--perms", "1777", "--size", str(tmp_bytes), "--tmpfs", place)
    yield from ("--ro-bind", str(directory), "/bot", "--chdir", "/bot", "--remount-ro", "/")
