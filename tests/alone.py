"""Tests that are marked `alone` wait until no other test runs, and the others wait for them. They compare costs of
containers with costs of plain processes, and only the former grow while other tests make containers: by a third, and
in one run by a half.

Processes of a run share two locks, which are folders: every test passes the door and enters the room. One that is
alone waits with the door shut behind it until the room is empty, so that others cannot keep it waiting for ever.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from pathlib import Path

import pytest

DOOR, ROOM = Path(__file__).parent, Path(__file__).parent / "benchmarks"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if not hasattr(item.config, "workerinput"):  # the only process of its run
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    door, room = os.open(DOOR, os.O_RDONLY), os.open(ROOM, os.O_RDONLY)
    try:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        return (yield)
    finally:
        os.close(door)
        os.close(room)
