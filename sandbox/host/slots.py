"""This machine's processors and who holds them: a registry for all users and processes, and in it a league's slots.

A bot that shares its processor with a compiler is slow through no fault of its own. So everything that runs bots, or
measures, first takes processors here. A processor is a file in one folder that everybody can use; holding it means
holding a lock (flock) on that file, which the kernel drops with the last process that has it open, and of which it
tells the holder. The folder is sticky, so nobody can remove another user's file, and links are not followed, so a
planted file can at most be locked. It is no protection: any program can run without it.

Processes that want processors wait in a queue, which is one more lock: a tournament that releases its processors for a
moment (`wanted`) cannot take them back before one that waits.

A *slot* is a set of processors that one match or build owns while it runs. The league keeps its slots: while it waits
in the queue, tournaments let go after the game that they play, and after `PATIENCE_SECONDS` it takes its slot all the
same and shares the processors with whoever holds them, which costs no bot anything. So a slot has locks of the league's
own, too, which exclude only its processes from each other.
"""

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deadheat.sandbox.box import BOT_MEMORY_BYTES

PARENTS = (Path("/run/lock"), Path("/tmp"))
"""The parents of the folder; the first that works is used. Not TMPDIR, which may differ between users."""

NAME = "deadheat"
RETRY_SECONDS = 0.05
OPEN = os.O_RDONLY
for _flag in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_NOINHERIT"):  # Windows has the last alone
    OPEN |= getattr(os, _flag, 0)
QUEUE = "queue"

MOST_CHARACTERS = 80
"""The most characters shown of a holder's command."""

_INTERPRETER = re.compile(r"(python|pypy)[0-9.]*|(ba|da|z)?sh")
_OPTION = re.compile(r"-[BEIPsSu]+")
"""The options that may precede a script: pipx, for one, starts programs with python -E."""


def usable() -> set[int]:
    """Return the numbers of the processors that this process may use; where nothing tells, of all that there are."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


@contextlib.contextmanager
def pinned(cpus: Collection[int]) -> Iterator[None]:
    """Keep this thread, and what it starts, on those of the processors that it may use; without any, where it is.
    Linux alone can do so.
    """
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    if wanted := before.intersection(cpus):
        os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def lock(fd: int) -> bool:
    """Lock a file until it is closed, or return False if another process has it."""
    try:
        import fcntl
    except ModuleNotFoundError:
        return _lock_on_windows(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(fd: int) -> bool:
    """Lock one byte far behind the end of the file: Windows lets nobody else read what is locked."""
    import msvcrt

    windows: Any = msvcrt
    os.lseek(fd, 2**30, os.SEEK_SET)
    try:
        windows.locking(fd, windows.LK_NBLCK, 1)
    except OSError:
        return False
    return True


class NoRegistry(Exception):
    """No folder for locks can be created or used on this machine."""


def shared_folder(parents: Sequence[Path] = PARENTS) -> Path:
    """Return this machine's folder of locks, and create it if needed. Raises NoRegistry."""
    for parent in parents if hasattr(os, "geteuid") else ():
        folder = parent / NAME
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode):
                if about.st_uid == os.geteuid() and about.st_mode & 0o1777 != 0o1777:
                    folder.chmod(0o1777)  # it was created just now, or by a container engine
                if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                    return folder
    raise NoRegistry(f"neither {' nor '.join(str(parent / NAME) for parent in parents)} can be used for locks")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds processors. `pid` is 0 if the kernel does not tell us."""

    pid: int
    cpus: tuple[int, ...]

    def __str__(self) -> str:
        which = f"processor{'s' if len(self.cpus) > 1 else ''} {', '.join(map(str, self.cpus))}"
        if (known := _known(self.pid)) is None:
            return f"{which}: {f'process {self.pid}' if self.pid else 'a process that this one cannot see'}"
        return f"{which}: {known[0]} (process {self.pid}, {known[1]})"

    @property
    def brief(self) -> str:
        """The program and its user without arguments, as anybody may know them: "deadheat tournament of ada"."""
        if (known := _known(self.pid)) is None:
            return "another program"
        words = known[0].split()[: 2 if known[0].startswith("deadheat ") else 1]
        return f"{' '.join(words)} of {known[1]}"


class Hold(contextlib.ExitStack):
    """Locks that are ours until `close`, or until this process ends, among them those of the processors `cpus`."""

    def __init__(self) -> None:
        super().__init__()
        self.cpus: tuple[int, ...] = ()
        self.fds: list[int] = []

    def inherit(self) -> None:
        """Let programs that this process starts, or becomes, keep the processors until the last of them ends."""
        for fd in self.fds:
            os.set_inheritable(fd, True)


class Processors:
    """The registry in a folder, shared by everybody who names the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, count: int, among: Sequence[int], waiting: Callable[[], None] = lambda: None) -> Hold:
        """Wait until `count` of these processors are free, and hold them. An exception from `waiting` ends the wait."""
        assert 0 < count <= len(among)
        with _insisted(lambda: self.locked(QUEUE), waiting):
            return _insisted(lambda: self.some(count, among), waiting)

    def some(self, count: int, among: Sequence[int]) -> Hold | None:
        """Hold the first `count` of these processors that are free, or none, without queueing."""
        hold = Hold()
        for cpu in among:
            if len(hold.cpus) < count and self._lock(hold, f"cpu-{cpu}"):
                hold.cpus += (cpu,)
        if len(hold.cpus) == count:
            return hold
        hold.close()
        return None

    def locked(self, *names: str) -> Hold | None:
        """Hold all locks with these names, or none."""
        hold = Hold()
        if all(self._lock(hold, name) for name in names):
            return hold
        hold.close()
        return None

    def wanted(self) -> bool:
        """Say whether any process waits in the queue."""
        if (hold := self.locked(QUEUE)) is not None:
            hold.close()
        return hold is None

    def holders(self) -> list[Holder]:
        """Return the holders of processors, by process."""
        files = {self._inode(path): int(path.name.removeprefix("cpu-")) for path in self._folder.glob("cpu-*[0-9]")}
        taken: dict[int, list[int]] = {}
        with contextlib.suppress(OSError):
            for line in Path("/proc/locks").read_text().splitlines():  # those of waiting processes begin with an arrow
                words = line.split()  # see proc_locks(5)
                if len(words) > 5 and words[1] == "FLOCK" and (inode := int(words[5].rpartition(":")[2])) in files:
                    taken.setdefault(max(0, int(words[4])), []).append(files[inode])
        return [Holder(pid, tuple(sorted(cpus))) for pid, cpus in sorted(taken.items())]

    @staticmethod
    def _inode(path: Path) -> int:
        try:
            return path.lstat().st_ino
        except OSError:
            return -1

    def _lock(self, hold: Hold, name: str) -> bool:
        """Add a lock to the hold; return False if another process has it. That of a removed file does not count."""
        path = self._folder / name
        while True:
            with contextlib.ExitStack() as opened:
                fd = _opened(path)
                opened.callback(os.close, fd)
                if not lock(fd):
                    return False
                if self._inode(path) == os.fstat(fd).st_ino:
                    hold.fds.append(fd)
                    hold.push(opened.pop_all())
                    return True


def _insisted(attempt: Callable[[], Hold | None], waiting: Callable[[], None]) -> Hold:
    while (hold := attempt()) is None:
        waiting()
        time.sleep(RETRY_SECONDS)
    return hold


def _opened(path: Path) -> int:
    """Open a file, or create it. Linux refuses O_CREAT for another's file in a sticky folder (fs.protected_regular)."""
    for create in (0, os.O_CREAT | os.O_EXCL) * 100:  # another process may remove it, or create it, in between
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            fd = os.open(path, OPEN | create, 0o644)
            if create and hasattr(os, "fchmod"):
                os.fchmod(fd, 0o644)  # whatever the umask is: other users open it too
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
            os.close(fd)
            break
    raise OSError(errno.EINVAL, "not a plain file", str(path))


def _known(pid: int) -> tuple[str, str] | None:
    """Return a process's command and user, or None if it cannot be seen."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()  # an ending process has only this
        uid = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
    import pwd  # Unix has it, and only Linux comes so far

    user = f"user {uid}"
    with contextlib.suppress(KeyError):
        user = pwd.getpwuid(uid).pw_name
    return _shown([word.decode("utf-8", "replace") for word in words]) or name, user


def _shown(words: Sequence[str]) -> str:
    """Return a command as people know it, on one line: without the interpreter before a script, and without folders."""
    words = [word for word in words if word]
    if words[1:3] == ["-m", "deadheat.cli.main"]:  # the form in which a server starts its own processes
        words = ["deadheat", *words[3:]]
    while len(words) > 1 and _INTERPRETER.fullmatch(Path(words[0]).name):
        script = next((place for place, word in enumerate(words[1:], 1) if not _OPTION.fullmatch(word)), 0)
        if not script or words[script].startswith("-"):
            break
        words = words[script:]
    line = " ".join(" ".join([Path(words[0]).name, *words[1:]]).split()) if words else ""
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


SHORT_RETRY_SECONDS = 0.002

PATIENCE_SECONDS = 5.0
"""How long the league waits for processors that others hold: a tournament lets go after a game, which mostly takes
less. Whoever reserved them for longer loses half of them, but no league stands still."""

TABLE = 2
"""The number of bots for whose memory a slot has room. Where tables are larger, operators name fewer slots."""

MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
ROOM_BYTES = 2 * 2**30
"""The memory that must be free for a build beside matches: the most that it may take, and as much for the bots."""


def free_bytes() -> int:
    """Return this machine's memory that programs may still take; 0 if the kernel does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def needed_bytes(bots: int) -> int:
    """Return the memory of a machine on which this many bots may use all their memory, with 1 GiB for the rest."""
    return 2**30 + bots * BOT_MEMORY_BYTES


def people(wanted: int, cpus: int, has_bytes: int = MEMORY_BYTES) -> int:
    """Return how many of `wanted` matches of people a host plays at a time: what its memory holds beside two slots."""
    room = (has_bytes - needed_bytes(TABLE * min(cpus, 2))) // BOT_MEMORY_BYTES
    return min(wanted, max(1, room))


def plan(spec: str, cpus: Sequence[int], bots_beside: int = 0, has_bytes: int = MEMORY_BYTES) -> list[tuple[int, ...]]:
    """Return the slots of a host with these CPUs.

    `spec` names them ("2,3;4,5"). If it is empty, each CPU is a slot, but the first is kept for the referees and the
    engine if there are more than two. There are only as many as the memory has room for, besides `bots_beside` without
    a slot: if it ran out below a bot's limit, a losing bot could void its match by filling it. Raises ValueError:
    `spec` is not of that form, or names a CPU twice.
    """
    if spec:
        slots = [tuple(int(cpu) for cpu in slot.split(",")) for slot in spec.split(";")]
        named = [cpu for slot in slots for cpu in slot]
        if len(set(named)) != len(named):
            raise ValueError(f"slots {spec!r} name a CPU twice")
        return slots
    most = max(1, (has_bytes - needed_bytes(bots_beside)) // (TABLE * BOT_MEMORY_BYTES))
    return [(cpu,) for cpu in (cpus if len(cpus) <= 2 else cpus[1:])[:most]]


class Slots:
    """The slots of this host, shared by all processes that name the same directory."""

    def __init__(self, directory: Path, spec: str = "", bots_beside: int = 0) -> None:
        """`directory` is the registry's directory. `bots_beside` may run at a time without a slot."""
        directory.mkdir(parents=True, exist_ok=True)
        self._processors = Processors(directory)
        cpus = sorted(usable())
        self.slots = plan(spec, cpus, bots_beside)
        self.bots = TABLE * len(self.slots) + bots_beside
        self.spare = tuple(cpu for cpu in cpus if all(cpu not in slot for slot in self.slots))
        """The processors on which none of our bots runs; a host with two processors has none."""

    def referee(self, cpus: Sequence[int]) -> Sequence[int]:
        """Return the processors for the referee of a match on this slot, whose bots use the first; maybe none."""
        return self.spare or cpus[1:]

    @contextlib.contextmanager
    def take(
        self, waiting: Callable[[], None] = lambda: None, only: tuple[int, ...] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Wait for a free slot, own it, and yield its CPU numbers. `waiting` is called repeatedly meanwhile. `only`
        requests that slot: a person who waits, or a check, gets it briefly, between two owners and ahead of the queue.
        """
        slots, retry = (self.slots, RETRY_SECONDS) if only is None else ([only], SHORT_RETRY_SECONDS)
        with contextlib.ExitStack() as locks:
            ahead, patience = only is not None, PATIENCE_SECONDS
            while True:
                if only is None:
                    ahead = ahead or self._own(locks, QUEUE)
                else:
                    self._own(locks, f"first-{only[0]}")
                others_hold = False
                for slot in slots:
                    with contextlib.ExitStack() as ours:
                        if only is None and self._wanted_first(slot):
                            continue
                        if not self._own(ours, *(f"slot-{cpu}" for cpu in slot)):
                            continue
                        others_hold = True
                        turn = ahead or patience < 0
                        if (turn and self._own(ours, *(f"cpu-{cpu}" for cpu in slot))) or patience < 0:
                            locks.close()  # the queue is for the next one
                            yield slot
                            return
                patience -= retry * others_hold
                waiting()
                time.sleep(retry)

    @contextlib.contextmanager
    def share(self, waiting: Callable[[], None] = lambda: None) -> Iterator[tuple[int, ...]]:
        """Yield the CPU numbers of a free slot, or else of the processors that are no slot's, or of all beside the
        matches there: one process at a time, and only while `ROOM_BYTES` are free. For programs that no clock judges.
        """
        everywhere = self.spare or tuple(cpu for slot in self.slots for cpu in slot)
        with contextlib.ExitStack() as locks:
            while True:
                for slot in self.slots:
                    if self._own(locks, *(f"{kind}-{cpu}" for cpu in slot for kind in ("slot", "cpu"))):
                        yield slot
                        return
                if free_bytes() >= ROOM_BYTES and self._own(locks, "beside"):
                    yield everywhere
                    return
                waiting()
                time.sleep(RETRY_SECONDS)

    def others(self) -> list[Holder]:
        """Return the programs outside the league that hold processors of its slots."""
        taken = set()
        for cpu in (cpu for slot in self.slots for cpu in slot):
            with contextlib.ExitStack() as ours:
                if self._own(ours, f"slot-{cpu}") and not self._own(ours, f"cpu-{cpu}"):
                    taken.add(cpu)
        return [holder for holder in self._processors.holders() if taken & set(holder.cpus)] if taken else []

    def _wanted_first(self, slot: tuple[int, ...]) -> bool:
        with contextlib.ExitStack() as briefly:
            return not self._own(briefly, f"first-{slot[0]}")

    def _own(self, locks: contextlib.ExitStack, *names: str) -> bool:
        """Lock all of these files until `locks` is closed, or none."""
        if (hold := self._processors.locked(*names)) is not None:
            locks.enter_context(hold)
        return hold is not None
