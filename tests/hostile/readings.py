"""Everything that a bot can read of its surroundings, and everything that it can push: to find what a match remembers.

`READER` is a bot. On DUMP it reads everything and keeps it; on PART n it prints the n-th part of that; on PUSH it moves
every counter that it can. `remembered` runs series of such matches in one box, of equal length, and names the readings
that show whether the match before pushed.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence

from deadheat.engine.core import NS_PER_S, Message
from deadheat.sandbox.box import Box
from deadheat.sandbox.pipes import PipeTransport

MATCH_SECONDS = 2.0
"""All matches last this long, pushing or not, so readings that only measure time agree. Where a push takes longer, all
last as long as that.
"""

LONGER = 3
"""At most how often a series is played again because a match took longer than all should."""

READER = r"""
import array, ctypes, fcntl, json, os, resource, select, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
found, kept = {}, []
sink = open("/dev/null", "w")

def tell(name, read):
    try: found[name] = read()
    except BaseException as error: found[name] = f"{type(error).__name__} {getattr(error, 'errno', '')}"

def fork():
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
    return pid

def about(name, path):
    tell(f"{name}: number", lambda: os.stat(path).st_ino)
    tell(f"{name}: device, mode, links, size", lambda: [
        os.stat(path).st_dev, os.stat(path).st_mode, os.stat(path).st_nlink, os.stat(path).st_size])
    for when in ("atime", "mtime", "ctime"):
        tell(f"{name}: {when}", lambda: getattr(os.stat(path), f"st_{when}_ns"))

def mounted(path):
    buffer = ctypes.create_string_buffer(256)
    if libc.statx(-100, path.encode(), 0, 0x7fff, buffer) != 0: raise OSError(ctypes.get_errno(), "statx")
    return struct.unpack_from("Q", buffer, 144)[0]

def autobound():
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("")
        return repr(s.getsockname())

def file_number(make):
    path = f"/tmp/{len(found)}"
    make(path)
    return os.stat(path).st_ino

def descriptor(make):
    ends = make()
    ends = ends if isinstance(ends, tuple) else (ends,)
    number = os.fstat(ends[0] if isinstance(ends[0], int) else ends[0].fileno()).st_ino
    for end in ends: os.close(end) if isinstance(end, int) else end.close()
    return number

def texts(top):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if not os.path.islink(f"{folder}/{name}")][:300]
        tell(f"names in {folder}", lambda: sorted(folders + files))
        for name in files:
            path = f"{folder}/{name}"
            if not name.endswith(("kmsg", "random", "urandom", "full", "zero", "tty", "console", "ptmx")):
                tell(f"text of {path}", lambda: open(path, "rb").read(2000).decode("latin-1"))

def dump():
    found.clear()
    tell("own number", os.getpid)
    tell("parent", os.getppid)
    tell("session", lambda: [os.getsid(0), os.getpgrp()])
    tell("a child's number", fork)
    for path in ("/", "/tmp", "/bot", "/bot/main.py", "/dev", "/dev/null", "/usr/bin/python3", "/proc/self/", "/sys"):
        about(path, path)
        tell(f"{path}: mount", lambda: mounted(path))
        tell(f"{path}: file system", lambda: list(os.statvfs(path)))
    for fd in range(3):
        about(f"descriptor {fd}", fd)
        for command in (fcntl.F_GETFL, fcntl.F_GETFD, fcntl.F_GETOWN, 1032, fcntl.F_GETSIG):
            tell(f"descriptor {fd}: fcntl {command}", lambda: fcntl.fcntl(fd, command))
    tell("a file's number", lambda: file_number(lambda path: open(path, "w").close()))
    tell("a folder's number", lambda: file_number(os.mkdir))
    tell("a FIFO's number", lambda: file_number(os.mkfifo))
    tell("a pipe's number", lambda: descriptor(os.pipe))
    tell("a socket's number", lambda: descriptor(lambda: socket.socket(socket.AF_UNIX)))
    tell("an event's number", lambda: descriptor(lambda: os.eventfd(0)))
    tell("an epoll's number", lambda: descriptor(lambda: libc.epoll_create1(0)))
    tell("a timer's number", lambda: descriptor(lambda: libc.timerfd_create(1, 0)))
    tell("a process handle's number", lambda: descriptor(lambda: os.pidfd_open(os.getpid())))
    tell("a name that the kernel gives", autobound)
    tell("a socket's cookie", lambda: socket.socket(socket.AF_UNIX).getsockopt(1, 57, 8).hex())
    tell("sysinfo", lambda: libc.sysinfo(ctypes.create_string_buffer(200)))
    tell("load", lambda: list(os.getloadavg()))
    tell("limits", lambda: [resource.getrlimit(i) for i in range(16)])
    tell("mask", lambda: os.umask(0o22))
    tell("priorities", lambda: [os.getpriority(which, 0) for which in (0, 1)] + [os.sched_getscheduler(0)])
    tell("processors", lambda: sorted(os.sched_getaffinity(0)))
    tell("signals", lambda: sorted(signal.sigpending()) + sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    tell("environment", lambda: dict(os.environ))
    for option in (2, 3, 7, 11, 21, 23, 25, 27, 30, 36, 37, 39, 42, 46):
        tell(f"prctl {option}", lambda: libc.prctl(option, 0, 0, 0, 0))
    tell("children's usage", lambda: list(resource.getrusage(resource.RUSAGE_CHILDREN))[4:6])
    tell("files of others", lambda: [p for p in range(1, 400) if p not in (os.getpid(),) and alive(p)])
    for top in ("/proc", "/sys", "/dev", "/run", "/var"):
        texts(top)
    for name in os.listdir("/tmp"):
        try: os.unlink(f"/tmp/{name}")
        except OSError: os.rmdir(f"/tmp/{name}")

def alive(pid):
    try: os.kill(pid, 0)
    except ProcessLookupError: return False
    except PermissionError: return True
    return True

def in_flight():
    ends = socket.socketpair()
    socket.send_fds(ends[0], [b"x"], [ends[0].fileno(), ends[1].fileno()])

def attempt(push):
    try: push()
    except OSError: pass

def push():
    for i in range(1500):
        path = f"/tmp/pushed-{i}"
        open(path, "w").write("x" * 100)
        if i % 2: os.unlink(path)
    for i in range(700): os.mkdir(f"/tmp/folder-{i}")
    for _ in range(150): fork()
    for _ in range(50): attempt(lambda: [os.close(end) for end in os.pipe()])
    for _ in range(50): attempt(lambda: [end.close() for end in socket.socketpair()])
    for _ in range(500): os.close(os.eventfd(0))
    for _ in range(50): attempt(autobound)
    for _ in range(50):
        kept.append(bytearray(2**20))
        kept[-1][::4096] = b"x" * 256
    for _ in range(2000):
        for path in (f"/usr/lib/none-{_}", f"/bot/none-{_}", f"/tmp/none-{_}"):
            os.path.exists(path)
    for path in ("/dev/null", "/dev/zero", "/dev/urandom", "/bot/main.py"):
        with open(path, "rb") as file: file.read(100)
    for folder in ("/", "/bot", "/dev", "/tmp", "/usr/lib", "/proc", "/sys"): os.listdir(folder)
    with open("/dev/null", "wb") as file: file.write(b"x")
    for fd in (0, 1, 2):
        for way in (lambda: os.utime(fd), lambda: os.fchmod(fd, 0o777), lambda: fcntl.fcntl(fd, 1031, 2**20),
                    lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid()), lambda: fcntl.fcntl(fd, 10, 40),
                    lambda: os.set_blocking(fd, True)):
            attempt(way)
    sys.stderr.write("x" * 200_000)
    os.umask(0o77)
    os.nice(5)
    attempt(in_flight)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    signal.setitimer(signal.ITIMER_REAL, 1000)
    while time.process_time() < 1: pass

for line in sys.stdin:
    order = line.split()
    if order[0] == "FINISH": break
    if order[0] == "DUMP":
        dump()
        text = json.dumps(found)
        print(len(text), flush=True)
    elif order[0] == "PART": print(text[int(order[1]) : int(order[1]) + 4000], flush=True)
    else:
        push()
        print("OK", flush=True)
"""


CLOCKS = ("atime", "mtime", "ctime")
"""The endings of readings' names that are instants, which the wall clock shows anyway."""


PUSHES = (False, False, True, False, True, False, False)
"""Which matches of a series push."""

SERIES = 2
"""Chance must repeat itself as often. The kernel counts some numbers for the whole host and assigns them to processors
in batches of 1024, so other processes can move one far in just those matches that follow a push.
"""


def remembered(box: Box) -> dict[str, list[object]]:
    """Return the readings in which, in each series, a match after a push differs from all others."""
    found = differing(told(box))
    for _ in range(SERIES - 1):
        if found:
            again = differing(told(box))
            found = {name: values for name, values in found.items() if name in again}
    return found


def told(box: Box, pushes: Sequence[bool] = PUSHES) -> list[dict[str, object]]:
    """Return the bot's reading at the beginning of each match, after which it pushes or does not."""
    seconds = MATCH_SECONDS
    series, longest = _series(box, pushes, seconds)
    for _ in range(LONGER):
        if longest > seconds:
            seconds = 1.5 * longest
            series, longest = _series(box, pushes, seconds)
    return series


def _series(box: Box, pushes: Sequence[bool], seconds: float) -> tuple[list[dict[str, object]], float]:
    """Return the readings, and how long the longest match took without its rest."""
    series, longest = [], 0.0
    for push in pushes:
        began = time.monotonic()
        transport = PipeTransport([box.start()])

        def ask(line: str, transport: PipeTransport = transport) -> str:
            reply = transport.exchange([Message(0, line, 60 * NS_PER_S)])[0]
            assert reply.line is not None, (line, reply)
            return reply.line

        series.append(json.loads(_all_parts(ask)))
        if push:
            ask("PUSH")
        longest = max(longest, time.monotonic() - began)
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        box.ask_stop(0)
        box.stopped()
    return series, longest


def _all_parts(ask: Callable[[str], str]) -> str:
    size = int(ask("DUMP"))
    return "".join(ask(f"PART {start}") for start in range(0, size, 4000))


def differing(series: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Return the readings in which a match after a push differs from all others. A number that moves anyway differs if
    it moves more than twice as far.
    """
    names = {name for readings in series for name in readings if not name.endswith(CLOCKS)}
    return {name: values for name in sorted(names) if _differs(values := [row.get(name) for row in series])}


def _differs(values: list[object]) -> bool:
    after = [(value, pushed) for value, pushed in zip(values[1:], PUSHES, strict=False)]
    quiet, loud = ([value for value, pushed in after if pushed is which] for which in (False, True))
    if all(value == quiet[0] for value in quiet):
        return any(value != quiet[0] for value in loud)
    if not all(isinstance(value, int) for value in values):
        return False  # it differs anyway
    numbers = [value for value in values if isinstance(value, int)]
    steps = [(after - before, pushed) for before, after, pushed in zip(numbers, numbers[1:], PUSHES, strict=False)]
    still, moved = ([abs(step) for step, pushed in steps if pushed is which] for which in (False, True))
    return min(moved) > 2 * max(still)
