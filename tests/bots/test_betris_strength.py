"""The starter bots of Betris: always legal, and each stronger than the one before.

The Python bots are loaded into this process, the C++ bot is compiled and asked over pipes. None of them looks at a
clock or draws unseeded numbers, so a failure is the same everywhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.games.betris import Betris
from engine.memory import MemoryTransport, Player
from engine.referee import run_match
from engine.transcript import Transcript
from tests.bots.loading import NewBot, in_process
from tests.bots.test_strength import Program

BOTS = Path(__file__).parent.parent.parent / "bots" / "betris-large"
PYTHON_BOTS = ["random", "greedy", "expert"]


@pytest.fixture(scope="module")
def solid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ bot, compiled; a missing compiler fails where everything must be tested."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no C++ compiler for the C++ bot")
    program = tmp_path_factory.mktemp("solid") / "solid"
    options = ["-O2", "-std=gnu++20", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *options, "-o", program, BOTS / "solid" / "main.cpp"], check=True)
    return program


@pytest.fixture
def solids(solid: Path) -> Iterator[NewBot]:
    """Programs of the C++ bot; each must end well when its match has ended."""
    running: list[Program] = []

    def new(number: int) -> Player:
        running.append(Program(solid))
        return running[-1]

    yield new
    for program in running:
        assert program.end() == (0, "", "")


def play_seats(number: int, seats: list[Player]) -> Transcript:
    return run_match(Betris(), 2, b"strength" + number.to_bytes(8, "big"), MemoryTransport(seats))


def wins(first: NewBot, second: NewBot, matches: int) -> float:
    """The share of matches won by the first; draws are half. Seats change with every match, blocks are fresh."""
    score = 0.0
    for number in range(matches):
        seats = [first(2 * number), second(2 * number + 1)]
        transcript = play_seats(number, seats if number % 2 == 0 else seats[::-1])
        assert transcript.result.faults == {}, transcript.exchanges[-1].events
        ranks = transcript.result.ranks if number % 2 == 0 else transcript.result.ranks[::-1]
        score += 0.5 if ranks == (1, 1) else ranks == (1, 2)
    return score / matches


# Measured over 500 matches: 0.99, 0.91, 0.92 and 0.71. The bounds leave room for another compiler's arithmetic.


def test_greedy_beats_random() -> None:
    assert wins(in_process(BOTS / "greedy"), in_process(BOTS / "random"), 25) > 0.9


def test_solid_beats_greedy(solids: NewBot) -> None:
    assert wins(solids, in_process(BOTS / "greedy"), 25) > 0.75


def test_expert_beats_greedy() -> None:
    assert wins(in_process(BOTS / "expert"), in_process(BOTS / "greedy"), 20) > 0.75


def test_expert_beats_solid(solids: NewBot) -> None:
    assert wins(in_process(BOTS / "expert"), solids, 30) > 0.55


def test_random_play_never_faults_in_200_matches() -> None:
    assert 0.3 < wins(in_process(BOTS / "random"), in_process(BOTS / "random"), 200) < 0.7


@pytest.mark.parametrize("name", PYTHON_BOTS)
def test_a_python_bot_is_a_program_that_ends_when_told(name: str) -> None:
    first, second = (Program(sys.executable, "-I", BOTS / name / "main.py") for _ in range(2))
    assert play_seats(1, [first, second]).result.faults == {}
    assert [first.end(), second.end()] == [(0, "", "")] * 2


@pytest.mark.parametrize("name", PYTHON_BOTS)
def test_a_python_bot_ends_at_the_end_of_its_input(name: str) -> None:
    assert Program(sys.executable, "-I", BOTS / name / "main.py").end() == (0, "", "")


def test_the_cpp_bot_ends_at_the_end_of_its_input(solid: Path) -> None:
    assert Program(solid).end() == (0, "", "")
