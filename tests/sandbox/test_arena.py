"""The referee's processor, and which bot takes precedence on a shared one."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import pytest

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import NS_PER_S, Message, Reply, Seat, TransportError
from deadheat.engine.games import GAMES
from deadheat.sandbox.arena import Arena, _Turns
from deadheat.sandbox.box import Limits, Program
from deadheat.sandbox.cgroup import Cgroup
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.slots import Slots, plan
from deadheat.sandbox.local import LocalSandbox
from tests.sandbox.boxes import Stub, python

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one processor")


def seats_of_the_referee(tmp_path: Path, attempts: int, spare: Collection[int] = ()) -> list[set[int]]:
    """Return the processors that the referee may use in each of some void attempts at a match of two pinned players."""
    program = Program(tmp_path, ("/bin/cat",), "nobody")
    limits = [Limits(cpus=str(cpu)) for cpu in CPUS[:2]]
    seen: list[set[int]] = []

    def look() -> None:
        seen.append(os.sched_getaffinity(0))
        raise TransportError("test", "for the test")

    with Arena(LocalSandbox(), [program, program], limits, referee_cpus=spare) as arena:
        for attempt in range(1, attempts + 1):
            with pytest.raises(TransportError, match="for the test"):
                arena.play(GAMES["yacht-auction"], (0, 1), bytes(SEED_BYTES), {}, look, attempt=attempt)
    assert os.sched_getaffinity(0) == set(CPUS)
    return seen


@two_cpus
def test_with_every_attempt_the_referee_moves_to_another_players_processor(tmp_path: Path) -> None:
    first, second = CPUS[:2]
    assert seats_of_the_referee(tmp_path, 3) == [{second}, {first}, {second}]


@two_cpus
def test_the_referee_stays_where_no_bot_is(tmp_path: Path) -> None:
    assert seats_of_the_referee(tmp_path, 2, spare=[CPUS[1]]) == [{CPUS[1]}] * 2


def test_a_processor_that_this_host_does_not_give_us_is_no_place(tmp_path: Path) -> None:
    assert seats_of_the_referee(tmp_path, 1, spare=[4095]) == [set(CPUS)]


def test_spare_processors_are_those_of_no_slot(tmp_path: Path) -> None:
    assert Slots(tmp_path, str(CPUS[0])).spare == tuple(CPUS[1:])


@pytest.mark.parametrize(
    ("spec", "cpus", "slots"),
    [
        ("", [5], [(5,)]),
        ("", [0, 1], [(0,), (1,)]),
        ("", [0, 1, 2, 3], [(1,), (2,), (3,)]),
        ("2,3;1", [0], [(2, 3), (1,)]),
    ],
)
def test_each_processor_is_a_slot_and_of_many_the_first_is_for_the_rest(
    spec: str, cpus: list[int], slots: list[tuple[int, ...]]
) -> None:
    assert plan(spec, cpus) == slots


def test_a_cpuset_is_read_as_the_kernel_writes_it() -> None:
    assert Limits(cpus="0,2-4").cpu_numbers == [0, 2, 3, 4]
    assert Limits().cpu_numbers == []


class Told(Stub):
    """A box that notes whether it is favoured."""

    favoured = True

    def favour(self, yes: bool) -> None:
        assert yes is not self.favoured, "told what it knows"
        self.favoured = yes


class Silent:
    """A transport that carries nothing."""

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        return {}


def test_who_is_asked_is_favoured_and_in_the_end_everybody_is() -> None:
    boxes = [Told(), Told(), Told()]
    turns = _Turns(Silent(), boxes)

    def favoured(*messages: Message) -> list[bool]:
        turns.exchange(messages)
        return [box.favoured for box in boxes]

    assert favoured(*[Message(seat, "READY", 1) for seat in range(3)]) == [True, True, True]
    assert favoured(Message(1, "TURN", 1), Message(0, "news")) == [False, True, False]
    assert favoured(Message(2, "TURN", 1)) == [False, False, True]
    assert favoured(*(Message(seat, "FINISH") for seat in range(3))) == [True, True, True]


@pytest.mark.parametrize(
    ("table", "file", "weights"), [("1:cpu:/x\n", "cpu/x/cpu.shares", "2 1024"), ("0::/x\n", "x/cpu.weight", "1 100")]
)
def test_both_versions_of_control_groups_have_a_weight(tmp_path: Path, table: str, file: str, weights: str) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    (proc / "7").mkdir(parents=True)
    (proc / "7" / "cgroup").write_text(table)
    (root / file).parent.mkdir(parents=True)
    (root / file).parent.joinpath("cgroup.procs").write_text("7\n")
    cgroup = Cgroup(7, root=root, proc=proc)
    written = []
    for favoured in (False, True):
        cgroup.favour(favoured)
        written.append((root / file).read_text())
    assert written == weights.split()
    cgroup.close()


@pytest.mark.containers
def test_a_bot_that_thinks_out_of_turn_leaves_a_shared_processor_to_the_one_whose_turn_it_is(
    docker_sandbox: DockerSandbox, tmp_path: Path
) -> None:
    program = python(tmp_path, "while True: pass\n")
    with ExitStack() as stack:
        limits = Limits(cpus=str(CPUS[0]))
        boxes = [stack.enter_context(closing(docker_sandbox.open(program, limits))) for _ in range(2)]
        meters = [box.start().meter for box in boxes]

        def share_of_a_while() -> float:
            """Return the first box's share until both together have used half a second, however long that takes."""
            before = [meter.counters().cpu_ns or 0 for meter in meters]
            mine = others = 0
            while mine + others < NS_PER_S // 2:
                time.sleep(0.05)
                mine, others = [(m.counters().cpu_ns or 0) - b for m, b in zip(meters, before, strict=True)]
            return mine / (mine + others)

        def share_of_the_first() -> float:
            return median(share_of_a_while() for _ in range(3))  # a pause of the host counts for whoever ran just then

        assert share_of_the_first() < 0.8
        boxes[1].favour(False)
        assert share_of_the_first() > 0.9
        boxes[1].favour(True)
        assert share_of_the_first() < 0.8
