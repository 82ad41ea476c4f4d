"""Two bots of one author, in different boxes at the same time, find no way to tell each other anything.

Both evaluate what each prompt contains. For each way, the listener looks before and after the speaker speaks, and must
see no difference. What a host counts as a whole remains visible: its load, its memory, the numbers of new objects. That
carries little, and slowly.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerSandbox
from tests.sandbox.boxes import Insider, inside, python

pytestmark = pytest.mark.containers

EITHER = """
import ctypes, fcntl, os, pathlib, select, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
kept = []
def keep(thing): kept.append(thing); return thing
def event(): return os.fdopen(os.eventfd(0), "rb+")
def byte(file, command): return fcntl.fcntl(file, command, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 7, 1, 0))
def whole(file): return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
def hear(way):
    try: return repr(way())
    except BaseException as error: return f"{type(error).__name__}: {error}"
for line in sys.stdin:
    if line.strip() == "FINISH": break
    print(hear(lambda: eval(line)), flush=True)
"""
OPEN_FILE_LOCK, ASK_FOR_LOCK = 37, 36  # F_OFD_SETLK, F_OFD_GETLK
BY_LOCKS = {
    "a lock on an event descriptor": ("whole(keep(event()))", "whole(event())"),
    "a lock on a byte of one": (f"byte(keep(event()), {OPEN_FILE_LOCK})", f"byte(event(), {ASK_FOR_LOCK})[:2]"),
    "a process's lock on a byte of one": ("byte(keep(event()), fcntl.F_SETLK)", "byte(event(), fcntl.F_GETLK)[:2]"),
    "a lock on a namespace": ("whole(keep(open('/proc/self/ns/user')))", "whole(open('/proc/self/ns/user'))"),
}
WAYS = BY_LOCKS | {
    "a lock on a file of the image": ("whole(keep(open('/usr/bin/python3')))", "whole(open('/usr/bin/python3'))"),
    "the list of locks": (f"byte(keep(open('/tmp/x', 'w')), {OPEN_FILE_LOCK})", "open('/proc/locks').read()"),
    "an abstract socket": ("keep(socket.socket(socket.AF_UNIX)).bind('\\0x')", "socket.socket(1).connect('\\0x')"),
    "a file": ("open('/tmp/said', 'w').close()", "os.listdir('/tmp')"),
    "shared memory": ("libc.shmget(1234, 4096, 0o1666)", "libc.shmget(1234, 0, 0)"),
    "a queue": ("libc.msgget(1234, 0o1666)", "libc.msgget(1234, 0)"),
    "a semaphore": ("libc.semget(1234, 1, 0o1666)", "libc.semget(1234, 0, 0)"),
    "a file in memory": ("open('/dev/shm/x', 'w').close()", "os.listdir('/dev/shm')"),
    "a key": ("libc.syscall(248, b'user', b'x', b'x', 1, -4)", "libc.syscall(249, b'user', b'x', 0, -4)"),
    "a watch on a namespace": (
        "open('/proc/self/ns/user').close()",
        "libc.inotify_add_watch(libc.inotify_init(), b'/', 1)",
    ),
    "how many files are open": ("[keep(os.dup(0)) for _ in range(200)]", "open('/proc/sys/fs/file-nr').read()"),
    "how many terminals there are": (
        "keep(open('/dev/ptmx', 'rb', buffering=0))",
        "open('/proc/sys/kernel/pty/nr').read()",
    ),
    "how many disks were read": ("len(open('/usr/bin/gcc', 'rb').read())", "open('/proc/diskstats').read()"),
    "who waits": ("sum(range(10**6))", "open('/proc/pressure/cpu').read()"),
}

Pair = Callable[[Limits], tuple[Insider, Insider]]


@pytest.fixture
def pair(docker_sandbox: DockerSandbox, tmp_path: Path) -> Iterator[Pair]:
    """Opens two boxes: the speaker's and the listener's."""
    with ExitStack() as stack:

        def open_both(limits: Limits) -> tuple[Insider, Insider]:
            boxes = [docker_sandbox.open(python(tmp_path, EITHER), limits) for _ in range(2)]
            for box in boxes:
                stack.callback(box.close)
            return inside(boxes[0]), inside(boxes[1])

        yield open_both


def heard(speaker: Insider, listener: Insider) -> dict[str, tuple[str, str, str]]:
    """Return the ways that work, each with the speaker's answer and what was heard before and after."""
    through = {}
    for way, (say, hear) in WAYS.items():
        before = listener(hear)
        said = speaker(say)
        if (after := listener(hear)) != before:
            through[way] = (said, before, after)
        speaker("[thing.close() for thing in kept if hasattr(thing, 'close')], kept.clear()")
    return through


def test_what_one_box_does_is_not_seen_in_another(pair: Pair) -> None:
    assert not heard(*pair(Limits()))


def test_it_would_be_seen_with_locks_and_without_masks(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes with locks, as builds have them, and with all of /proc have these channels, so the test above can fail."""
    monkeypatch.setattr("deadheat.sandbox.containers.MASKED", "")
    through = heard(*pair(Limits(building=True)))
    assert {*BY_LOCKS, "the list of locks", "how many terminals there are", "who waits"} <= set(through), through
