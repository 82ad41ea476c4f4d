"""A build's limit is one of its own time, so a busy host breaks no version."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from deadheat.engine.core import NS_PER_S
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import Box, Channel, Exit, Limits, Meter, Program, SandboxError
from deadheat.sandbox.build import BUILD_SECONDS, WATCH_FACTOR, BuildFailed, build
from deadheat.sandbox.languages import LANGUAGES
from tests.sandbox.boxes import Stub

STEP_SECONDS = 5


class Clock:
    """A clock on the wall that makes a step at each look."""

    now = 0

    def monotonic(self) -> int:
        self.now += STEP_SECONDS
        return self.now


@dataclass
class Busy(Meter):
    """A host that takes a share of all time."""

    clock: Clock
    share: float

    def counters(self, fresh: bool = True) -> Counters:
        return Counters(cpu_ns=0, full_ns=int(self.clock.now * self.share * NS_PER_S))


class Frozen(Meter):
    def counters(self, fresh: bool = True) -> Counters:
        return Counters(frozen=True)


@dataclass
class Endless(Stub):
    """A sandbox and its one box, whose program never ends."""

    meter: Meter

    def open(self, program: Program, limits: Limits) -> Box:
        return self

    def start(self) -> Channel:
        self.fds = os.pipe()
        return Channel(-1, self.fds[0], self.meter)

    def stopped(self) -> Exit:
        return Exit(None, None, True, b"")

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("deadheat.sandbox.build.time", made)
    monkeypatch.setattr("deadheat.sandbox.build.POLL_SECONDS", 0)
    return made


@pytest.mark.parametrize("share", [None, 0.0, 0.5, 0.7])
def test_it_may_take_as_much_longer_as_the_host_takes(clock: Clock, tmp_path: Path, share: float | None) -> None:
    meter = Meter() if share is None else Busy(clock, share)
    with pytest.raises(BuildFailed, match="the build took longer than 60 s"):
        build(Endless(meter), tmp_path, LANGUAGES["c"])
    due = BUILD_SECONDS / (1 - (share or 0))
    assert due < clock.now <= due + 8 * STEP_SECONDS


def test_a_build_that_is_frozen_from_outside_is_not_judged(clock: Clock, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="frozen") as caught:
        build(Endless(Frozen()), tmp_path, LANGUAGES["c"])
    assert caught.value.cause == "host-unknown"


def test_a_host_that_gives_it_almost_no_time_has_failed(clock: Clock, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="almost no processor time") as caught:
        build(Endless(Busy(clock, 0.95)), tmp_path, LANGUAGES["c"])
    assert caught.value.cause == "host-starved"
    assert clock.now > WATCH_FACTOR * BUILD_SECONDS
