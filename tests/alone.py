"""Tests that are marked `alone` wait until no other test runs, and the others wait for them. Some compare costs of
containers with costs of plain processes, and only the former grow while other tests make containers: by a third, and in
one run by a half. Others compare speeds over seconds, or disturb the whole host.

Processes of a run share two locks, which are folders: every test passes the door and enters the room. A test that is
`alone` shuts the door and waits until the room is empty, so that others cannot keep it waiting for ever. Forked
processes leave both at once, because they may outlive the test.
"""

import fcntl
import os
from collections.abc import Generator
from pathlib import Path

import pytest

DOOR, ROOM = Path(__file__).parent, Path(__file__).parent / "benchmarks"
_held: list[int] = []


def _leave() -> None:
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_leave)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if not hasattr(item.config, "workerinput"):  # the only process of its run
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    try:
        _held.extend(os.open(path, os.O_RDONLY) for path in (DOOR, ROOM))
        door, room = _held
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        return (yield)
    finally:
        _leave()
