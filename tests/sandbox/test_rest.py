"""Boxes that rest while a person thinks: nothing in them runs, they resume unharmed, and none is left behind."""

import os
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from deadheat.engine.chance import SEED_BYTES, turns_seed
from deadheat.engine.core import NS_PER_S, Message, Reply, Seat, Transport, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.replay import replay
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Limits, Program, Sandbox, bot_limits
from deadheat.sandbox.cgroup import Cgroup, groups_of
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.slots import Slots, plan
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import InTurn, PipeTransport
from deadheat.sandbox.rooms import Room
from tests.sandbox.boxes import Stub, asker, leader_of, python, stop, stops_unless_asked, until

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


CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one processor")


def processors_of_the_referee(tmp_path: Path, spare: Collection[int] = ()) -> set[int]:
    """Return the processors that the referee may use in a match of two players on the first one."""
    program = Program(tmp_path, ("/bin/cat",), "nobody")
    seen: list[set[int]] = []

    def look() -> None:
        seen.append(os.sched_getaffinity(0))
        raise TransportError("test", "for the test")

    arena = Arena(LocalSandbox(), [program, program], Limits(cpus=str(CPUS[0])), spare)
    with arena, pytest.raises(TransportError, match="for the test"):
        arena.play(GAMES["yacht-auction"], (0, 1), bytes(SEED_BYTES), {}, look)
    assert os.sched_getaffinity(0) == set(CPUS)
    return seen[0]


@two_cpus
def test_the_referee_stays_where_no_bot_is_or_else_with_the_bots(tmp_path: Path) -> None:
    assert processors_of_the_referee(tmp_path, spare=[CPUS[1]]) == {CPUS[1]}
    assert processors_of_the_referee(tmp_path) == {CPUS[0]}


def test_a_processor_that_this_host_does_not_give_us_is_no_place(tmp_path: Path) -> None:
    assert processors_of_the_referee(tmp_path, spare=[4095]) == set(CPUS)


@two_cpus
def test_the_bots_of_a_match_have_the_first_processor_of_its_slot_and_the_referee_the_others(tmp_path: Path) -> None:
    slots = Slots(tmp_path, ",".join(map(str, CPUS)))
    with slots.take() as cpus:
        assert (bot_limits(cpus).cpu_numbers, list(slots.referee(cpus))) == ([CPUS[0]], CPUS[1:])


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
    assert plan(spec, cpus, 2, 64 * 2**30) == slots


@pytest.mark.parametrize(("memory", "beside", "most"), [(1, 0, 1), (5, 0, 2), (5, 2, 1), (7.9, 2, 2), (17, 2, 7)])
def test_no_more_bots_run_than_the_memory_holds(memory: float, beside: int, most: int) -> None:
    """Otherwise a bot below its own limit could void its match by filling the machine."""
    cpus = list(range(8))
    assert plan("", cpus, beside, int(memory * 2**30)) == [(cpu,) for cpu in range(1, most + 1)]
    assert len(plan("0;1;2", cpus, beside, int(memory * 2**30))) == 3, "an operator's own choice is only remarked on"


def test_a_cpuset_is_read_as_the_kernel_writes_it() -> None:
    assert Limits(cpus="0,2-4").cpu_numbers == [0, 2, 3, 4]
    assert Limits().cpu_numbers == []


class Told(Stub):
    """A box that notes whether it is favoured."""

    favoured = True

    def favour(self, yes: bool) -> None:
        assert yes is not self.favoured, "told what it knows"
        self.favoured = yes


def test_c17_who_is_asked_is_favoured_alone_and_in_the_end_everybody_is() -> None:
    boxes = [Told(), Told(), Told()]
    turns = InTurn(boxes, bytes(SEED_BYTES))

    def favoured(seat: Seat | None) -> list[bool]:
        turns.give(seat)
        return [box.favoured for box in boxes]

    assert favoured(1) == [False, True, False]
    assert favoured(1) == [False, True, False]
    assert favoured(2) == [False, False, True]
    assert favoured(None) == [True, True, True]


def test_c17_each_order_is_equally_likely_and_follows_from_the_secret_seed() -> None:
    def drawn(attempt: int) -> list[tuple[Seat, ...]]:
        turns = InTurn([Told()] * 3, turns_seed(bytes(SEED_BYTES), attempt))
        return [tuple(turns.order([0, 1, 2])) for _ in range(3000)]

    assert drawn(1) == drawn(1) != drawn(2)
    counted = Counter(drawn(1))
    assert len(counted) == 6 and min(counted.values()) > 400
    pairs = Counter(pairwise(drawn(1)))
    assert len(pairs) == 36 and min(pairs.values()) > 40, "no order tells the next"


def test_a_plain_program_that_is_not_asked_is_stopped(tmp_path: Path) -> None:
    with closing(LocalSandbox().open(python(tmp_path, "while True: pass\n"), Limits())) as box:
        meter = box.start().meter
        stops_unless_asked(box, lambda: meter.counters().cpu_ns or 0)


def test_a_plain_program_runs_on_the_processors_of_its_box(tmp_path: Path) -> None:
    code = "import os\nprint(input(), *os.sched_getaffinity(0), flush=True)\n"
    with closing(LocalSandbox().open(python(tmp_path, code), Limits(cpus=str(CPUS[-1])))) as box:
        assert asker(box)("ON").line == f"ON {CPUS[-1]}"
    assert os.sched_getaffinity(0) == {*CPUS}


@pytest.mark.parametrize(
    ("table", "file", "weights"), [("1:cpu:/x\n", "cpu/x/cpu.shares", "2 1024"), ("0::/x\n", "x/cpu.weight", "1 500")]
)
def test_both_versions_of_control_groups_have_a_weight(tmp_path: Path, table: str, file: str, weights: str) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    (proc / "7").mkdir(parents=True)
    (proc / "7" / "cgroup").write_text(table)
    (proc / "stat").touch()
    (root / file).parent.mkdir(parents=True)
    (root / file).touch()
    cgroup = Cgroup(groups_of(7, root, proc), proc=proc)
    written = []
    for favoured in (False, True):
        (root / file).write_text("")
        cgroup.favour(favoured)
        written.append((root / file).read_text())
    assert written == weights.split()
    (root / file).write_text("")
    assert cgroup.can_favour()
    (root / file).write_text("7")
    (root / file).rename(root / "moved")  # what is written no longer arrives
    assert not cgroup.can_favour()
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
