"""Where the referee sits while bots play."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from engine.chance import SEED_BYTES
from engine.core import TransportError
from engine.games import GAMES
from sandbox.arena import Arena
from sandbox.box import Limits, Program
from sandbox.local import LocalSandbox
from sandbox.slots import Slots

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one processor")


def seats_of_the_referee(tmp_path: Path, attempts: int, spare: Collection[int] = ()) -> list[set[int]]:
    """The processors that the referee may use in each of some void attempts at a match of two pinned players."""
    program = Program(tmp_path, ("/bin/cat",), "nobody")
    limits = [Limits(cpus=str(cpu)) for cpu in CPUS[:2]]
    seen: list[set[int]] = []

    def look() -> None:
        seen.append(os.sched_getaffinity(0))
        raise TransportError("test", "for the test")

    with Arena(LocalSandbox(), [program, program], limits, referee_cpus=spare) as arena:
        for _ in range(attempts):
            with pytest.raises(TransportError, match="for the test"):
                arena.play(GAMES["yacht-auction"], (0, 1), bytes(SEED_BYTES), {}, look)
    assert os.sched_getaffinity(0) == set(CPUS)
    return seen


@two_cpus
def test_with_every_void_attempt_the_referee_moves_to_another_players_processor(tmp_path: Path) -> None:
    first, second = CPUS[:2]
    assert seats_of_the_referee(tmp_path, 3) == [{first}, {second}, {first}]


@two_cpus
def test_the_referee_stays_where_no_bot_is(tmp_path: Path) -> None:
    assert seats_of_the_referee(tmp_path, 2, spare=[CPUS[1]]) == [{CPUS[1]}] * 2


def test_a_processor_that_this_host_does_not_give_us_is_no_place(tmp_path: Path) -> None:
    assert seats_of_the_referee(tmp_path, 1, spare=[4095]) == [set(CPUS)]


def test_spare_processors_are_those_of_no_slot(tmp_path: Path) -> None:
    assert Slots(tmp_path, str(CPUS[0])).spare == tuple(CPUS[1:])


def test_a_cpuset_is_read_as_the_kernel_writes_it() -> None:
    assert Limits(cpus="0,2-4").cpu_numbers == [0, 2, 3, 4]
    assert Limits().cpu_numbers == []
