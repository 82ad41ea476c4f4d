"""Boxes that rest while a person thinks: nothing in them runs, they resume unharmed, and none is left behind."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import NS_PER_S, Message, Reply, Seat, Transport
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.replay import replay
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Limits, Program, Sandbox, bot_limits
from deadheat.sandbox.cgroup import Cgroup
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.slots import Slots
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.sandbox.rooms import Room
from tests.sandbox.boxes import asker, leader_of, python, stop, until

COUNTER = """
import sys, threading, time
count = 0
def work():
    global count
    while True: count += 1
threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    if line.strip() == "FINISH": break
    print(count, flush=True)
"""

YACHT = bots_of("yacht-auction") / "greedy"


@pytest.fixture(params=["local", pytest.param("docker", marks=pytest.mark.containers)])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return LocalSandbox() if request.param == "local" else request.getfixturevalue("docker_sandbox")


@pytest.fixture
def counter(tmp_path: Path) -> Program:
    """A bot that counts for as long as it runs, and answers with its count."""
    return python(tmp_path, COUNTER)


def test_nothing_of_a_box_that_rests_runs(sandbox: Sandbox, counter: Program) -> None:
    with closing(sandbox.open(counter, Limits())) as box:
        channel = box.start()
        transport = PipeTransport([channel])

        def count() -> int:
            return int(str(transport.exchange([Message(0, "HOW FAR", 20 * NS_PER_S)])[0].line))

        def cpu_ns() -> int:
            used = channel.meter.counters().cpu_ns
            assert used is not None
            return used

        before, used = count(), cpu_ns()
        assert until(lambda: cpu_ns() != used, 60), "it computes without being asked"

        def rests() -> bool:
            box.rest(True)
            used = cpu_ns()
            time.sleep(0.3)
            return cpu_ns() == used

        assert until(rests, 60)
        box.rest(False)
        assert count() > before
        transport.exchange([Message(0, "FINISH")])
        assert stop(box, 20 * NS_PER_S).exit_code == 0


def test_a_box_is_closed_while_it_rests(sandbox: Sandbox, counter: Program) -> None:
    box = sandbox.open(counter, Limits())
    box.start()
    box.rest(True)
    box.close()
    again = sandbox.open(counter, Limits())
    assert asker(again)("HOW FAR").fault is None
    again.close()


@pytest.mark.containers
@pytest.mark.parametrize("building", [False, True])
def test_a_box_that_cannot_be_frozen_goes_on_behind_all_others(
    docker_sandbox: DockerSandbox, counter: Program, monkeypatch: pytest.MonkeyPatch, building: bool
) -> None:
    freeze = Cgroup.freeze
    with closing(docker_sandbox.open(counter, Limits(building=building))) as box:
        ask = asker(box)
        meter: Cgroup = box._meter  # type: ignore[attr-defined]
        assert meter.weight is not None
        favoured = meter.weight.read_text()
        for freezes in (False, True):
            monkeypatch.setattr(Cgroup, "freeze", freeze if freezes else lambda *_: None)
            box.rest(True)
            assert until(lambda: meter.counters().frozen is freezes, 60)  # noqa: B023  it is called at once
            assert meter.weight.read_text() != favoured, "whatever runs on, it is behind everything else"
            box.rest(False)
            assert not meter.counters().frozen and meter.weight.read_text() == favoured
            assert ask("HOW FAR").fault is None


@pytest.mark.containers
def test_a_box_that_is_not_asked_stays_behind_after_its_rest(docker_sandbox: DockerSandbox, counter: Program) -> None:
    with closing(docker_sandbox.open(counter, Limits())) as box:
        box.start()
        assert isinstance(box, Room) and box._meter is not None
        assert box._meter.weight is not None
        box.favour(False)
        behind = box._meter.weight.read_text()
        box.rest(True)
        box.rest(False)
        assert box._meter.weight.read_text() == behind
        box.favour(True)
        assert box._meter.weight.read_text() != behind


@pytest.mark.containers
def test_only_the_room_that_rests_is_frozen(docker_sandbox: DockerSandbox, counter: Program) -> None:
    with (
        closing(docker_sandbox.open(counter, Limits())) as resting,
        closing(docker_sandbox.open(counter, Limits())) as other,
    ):
        first, second = resting.start(), other.start()
        resting.rest(True)
        assert until(lambda: first.meter.counters().frozen, 60)
        before_ns = second.meter.counters().cpu_ns
        assert before_ns is not None and not second.meter.counters().frozen
        assert until(lambda: (second.meter.counters().cpu_ns or 0) > before_ns + NS_PER_S // 100, 60)
        assert stop(other, 0).lingered
        assert isinstance(resting, Room) and Path(f"/proc/{leader_of(resting)}").exists()


class Guest:
    """A person in the last seat who answers at once, and who needs the slot to do so."""

    def __init__(self, bots: Transport, slots: Slots) -> None:
        self._bots, self._slots = bots, slots
        self.moves = 0

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        replies = dict(self._bots.exchange([message for message in messages if message.seat == 0]))
        for message in messages:
            if message.seat == 1 and message.limit_ns is not None:
                with self._slots.take():  # otherwise this waits for ever
                    replies[1] = Reply("OK" if message.line == "READY" else "BID A 5", 0)
                    self.moves += 1
        return replies


def test_a_match_beside_a_guest_holds_its_slot_only_while_bots_run(sandbox: Sandbox, tmp_path: Path) -> None:
    slots = Slots(tmp_path / "slots")
    cpus = slots.slots[0]
    guests: list[Guest] = []

    def beside(bots: Transport) -> Transport:
        guests.append(Guest(bots, slots))
        return guests[-1]

    program = Program(YACHT, ("/usr/bin/python3", "main.py"), "greedy")
    with Arena(sandbox, [program], bot_limits(cpus)) as arena:
        played = arena.play_beside(
            GAMES["yacht-auction"], 2, bytes(SEED_BYTES), {}, lambda: slots.take(only=cpus), beside, [0]
        )
    assert dict(played.transcript.result.faults).keys() == {1}, "a guest who knows one answer"
    assert guests[0].moves == 4, "READY, two times ROLL, and SCORE"
    assert played.exits[0].exit_code == 0
    replay(GAMES["yacht-auction"], played.transcript)
