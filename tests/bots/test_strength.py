"""The starter bots of the games for two: always legal, and each stronger than the one before.

The Python bots are loaded into this process, which is a hundred times quicker than talking over pipes; those in C and
C++ are compiled and asked over pipes. Seeds are fixed and none looks at a clock, so a failure is the same everywhere.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from deadheat.engine.core import Game, Message
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript, decode
from tests.bots.loading import NewBot, in_process
from tests.lanes import scaled

ROOT = Path(__file__).parent.parent.parent


class Program:
    """A bot over pipes, without the deadlines; a real transport has tests of its own."""

    def __init__(self, *command: str | Path) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __call__(self, message: Message) -> str | None:
        """See `engine.memory.Player`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(message.line + "\n")
        self.process.stdin.flush()
        return None if message.limit_ns is None else self.process.stdout.readline().removesuffix("\n")

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, unasked output, standard error."""
        output, errors = self.process.communicate(timeout=10)
        return self.process.returncode, output, errors


@dataclass(frozen=True)
class House:
    """The bots of a game for two: those in Python, and the compiled one with its compilers and their options."""

    game: Game
    compiled: str
    compilers: tuple[str, ...]
    options: tuple[str, ...]
    matches: int

    def __str__(self) -> str:
        return self.game.name

    @property
    def folder(self) -> Path:
        """The folder of its bots."""
        return bots_of(self.game.name)

    def program(self) -> Path:
        """The compiled bot; a missing compiler fails where everything must be tested."""
        compiler = next(filter(None, map(shutil.which, self.compilers)), None)
        if compiler is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no compiler for {self.compiled}")
        program = Path(tempfile.mkdtemp(prefix="deadheat-test-")) / self.compiled
        atexit.register(shutil.rmtree, program.parent, ignore_errors=True)
        sources = sorted((self.folder / self.compiled).glob("*.c*"))
        subprocess.run([compiler, "-O2", *self.options, *WARNINGS, "-o", program, *sources], check=True)
        return program


PYTHON = ("random", "greedy", "expert")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
YACHT = House(GAMES["yacht-auction"], "counter", ("cc", "gcc"), (), 500)
BETRIS = House(GAMES["betris-large"], "solid", ("c++", "g++"), ("-std=gnu++20",), 200)

program = cache(House.program)
houses = pytest.mark.parametrize("house", [YACHT, BETRIS], ids=str)
bots = pytest.mark.parametrize("name", PYTHON)


@contextmanager
def seated(house: House, name: str) -> Iterator[NewBot]:
    """A bot in this process, or programs of the compiled one: each must end well when its match has ended."""
    running: list[Program] = []

    def new(_: int) -> Player:
        while len(running) > 1:  # matches run one after the other, at most two at a time
            assert running.pop(0).end() == (0, "", "")
        running.append(Program(program(house)))
        return running[-1]

    yield new if name == house.compiled else in_process(house.folder / name)
    assert all(bot.end() == (0, "", "") for bot in running)


def wins(house: House, first: NewBot, second: NewBot, matches: int) -> float:
    """The share of matches won by the first; draws are half. Seats change with every match, chance is fresh."""
    score = 0.0
    for number in range(matches):
        seats = [first(2 * number), second(2 * number + 1)]
        transcript = play_seats(house, number, seats if number % 2 == 0 else seats[::-1])
        assert transcript.result.faults == {}, transcript.exchanges[-1].events
        ranks = transcript.result.ranks if number % 2 == 0 else transcript.result.ranks[::-1]
        score += 0.5 if ranks == (1, 1) else ranks == (1, 2)
    return score / matches


def play_seats(house: House, number: int, seats: list[Player]) -> Transcript:
    return run_match(house.game, 2, b"strength" + number.to_bytes(8, "big"), MemoryTransport(seats))


@pytest.mark.all
@pytest.mark.parametrize(
    ("house", "better", "worse", "matches", "bound"),
    [
        # The bounds lie four standard deviations and more below what was measured over 500 matches.
        (YACHT, "greedy", "random", 100, 0.95),
        (YACHT, "counter", "greedy", 40, 0.75),
        (YACHT, "expert", "greedy", 25, 0.85),
        (YACHT, "expert", "counter", 40, 0.6),
        # Measured over 500 matches: 0.99, 0.91, 0.92 and 0.71. The bounds leave room for another compiler's arithmetic.
        (BETRIS, "greedy", "random", 25, 0.9),
        (BETRIS, "solid", "greedy", 25, 0.75),
        (BETRIS, "expert", "greedy", 20, 0.75),
        (BETRIS, "expert", "solid", 30, 0.55),
    ],
    ids=str,
)
def test_each_bot_is_stronger_than_the_one_before(
    house: House, better: str, worse: str, matches: int, bound: float
) -> None:
    with seated(house, better) as first, seated(house, worse) as second:
        assert wins(house, first, second, matches) > bound


@houses
def test_random_play_never_faults(house: House) -> None:
    new = in_process(house.folder / "random")
    assert abs(wins(house, new, new, scaled(house.matches, 10)) - 0.5) < scaled(2, 5) / 10


@houses
@bots
def test_a_python_bot_is_a_program_that_ends_when_told(house: House, name: str) -> None:
    first, second = (Program(sys.executable, "-I", house.folder / name / "main.py") for _ in range(2))
    assert play_seats(house, 1, [first, second]).result.faults == {}
    assert [first.end(), second.end()] == [(0, "", "")] * 2


@houses
@bots
def test_a_python_bot_ends_at_the_end_of_its_input(house: House, name: str) -> None:
    assert Program(sys.executable, "-I", house.folder / name / "main.py").end() == (0, "", "")


@houses
def test_the_compiled_bot_ends_at_the_end_of_its_input(house: House) -> None:
    assert Program(program(house)).end() == (0, "", "")


def test_the_match_in_the_authors_page_is_a_real_one() -> None:
    page = (ROOT / "games" / "yacht_auction" / "protocol.md").read_text()
    shown = [line.strip() for line in page.split("```")[1].strip().splitlines()]
    cut = next(n for n, line in enumerate(shown) if line.startswith("..."))
    example = decode((ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl").read_bytes())
    lines: list[str] = []
    for exchange in example.exchanges:
        lines += [f"<< {message.line}" for message in exchange.messages if message.seat == 0]
        lines += [f">> {exchange.replies[0].line}"] if exchange.replies else []
    assert lines[:cut] == shown[:cut]
    assert lines[-len(shown) + cut + 1 :] == shown[cut + 1 :]
