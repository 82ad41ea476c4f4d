"""Tests of the quick lane are pure: they open no socket, start no process and connect to no database, and a container
needs one of the three. So they cost next to nothing, and a machine cannot make them fail.

Python announces such acts to an audit hook, which refuses them; the test fails even if the code under it survives the
refusal. Threads of other tests may still run beside a pure one where the lane is not `--quick`; there only what the
test's own thread does counts.
"""

import sys
from collections.abc import Generator
from threading import get_ident

import pytest

from tests.lanes import Lane

REFUSED = frozenset(
    {
        *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg"),
        *("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"),
        *("sqlite3.connect",),
    }
)
"""Acts that leave the process. A pair of sockets inside it, which every event loop makes, is not one."""


class Impure(Exception):
    """A test that is marked `quick` does what no pure test may do."""


class _Watch:
    """What the hook refuses at the moment, and what it has refused since the test began."""

    hooked = False
    thread: int | None = None  # of the running pure test
    acts: list[str]


def _refuse(event: str, arguments: tuple[object, ...], watch: type[_Watch] = _Watch) -> None:
    if watch.thread is None or event not in REFUSED or not (Lane.quick or get_ident() == watch.thread):
        return
    if not str(sys._getframe(1).f_globals.get("__name__")).startswith("coverage."):  # it keeps its data in SQLite
        watch.acts.append(event)
        raise Impure(event)


def watch() -> None:
    """Refuse impure acts from now on."""
    if not _Watch.hooked:
        sys.addaudithook(_refuse)  # nothing removes it again, and it slows the process down: only if it is needed
        _Watch.hooked = True
    _Watch.thread, _Watch.acts = get_ident(), []


def release() -> list[str]:
    """Allow everything again; return what was refused."""
    acts, _Watch.thread, _Watch.acts = _Watch.acts, None, []
    return acts


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    if item.get_closest_marker("quick"):
        watch()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    done = yield
    if _Watch.thread is not None and (acts := release()):
        raise Impure(f"a test of the quick lane must not do this: {', '.join(acts)}")
    return done


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    if _Watch.thread is not None:  # the test has failed, or it was skipped
        release()
