"""The starter bots of Yacht Auction: always legal, and each stronger than the one before.

The Python bots are loaded into this process, which is a hundred times quicker than talking over pipes; the C bot is
compiled and asked over pipes. Seeds are fixed, so a failure is the same everywhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.core import Message
from engine.games.yacht_auction import YachtAuction
from engine.memory import MemoryTransport, Player
from engine.referee import run_match
from engine.transcript import Transcript, decode
from tests.bots.loading import NewBot, in_process

ROOT = Path(__file__).parent.parent.parent
BOTS = ROOT / "bots" / "yacht-auction"
GAME = YachtAuction()


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


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C bot, compiled; a missing compiler fails where everything must be tested."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no C compiler for the C bot")
    program = tmp_path_factory.mktemp("counter") / "counter"
    sources = sorted((BOTS / "counter").glob("*.c"))
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, *sources], check=True)
    return program


@pytest.fixture
def counters(counter: Path) -> Iterator[NewBot]:
    """Programs of the C bot; each must end well when its match has ended."""
    running: list[Program] = []

    def new(number: int) -> Player:
        running.append(Program(counter))
        return running[-1]

    yield new
    for program in running:
        assert program.end() == (0, "", "")


def wins(first: NewBot, second: NewBot, matches: int) -> float:
    """The share of matches won by the first; draws are half. Seats change with every match, dice are fresh."""
    score = 0.0
    for number in range(matches):
        seats = [first(2 * number), second(2 * number + 1)]
        transcript = play_seats(number, seats if number % 2 == 0 else seats[::-1])
        assert transcript.result.faults == {}, transcript.exchanges[-1].events
        ranks = transcript.result.ranks if number % 2 == 0 else transcript.result.ranks[::-1]
        score += 0.5 if ranks == (1, 1) else ranks == (1, 2)
    return score / matches


def play_seats(number: int, seats: list[Player]) -> Transcript:
    return run_match(GAME, 2, b"strength" + number.to_bytes(8, "big"), MemoryTransport(seats))


# The bounds lie four standard deviations and more below what was measured over 500 matches.


def test_greedy_beats_random() -> None:
    assert wins(in_process(BOTS / "greedy"), in_process(BOTS / "random"), 100) > 0.95


def test_counter_beats_greedy(counters: NewBot) -> None:
    assert wins(counters, in_process(BOTS / "greedy"), 40) > 0.75


def test_expert_beats_greedy() -> None:
    assert wins(in_process(BOTS / "expert"), in_process(BOTS / "greedy"), 25) > 0.85


def test_expert_beats_counter(counters: NewBot) -> None:
    assert wins(in_process(BOTS / "expert"), counters, 40) > 0.6


def test_random_play_never_faults_in_500_matches() -> None:
    assert 0.3 < wins(in_process(BOTS / "random"), in_process(BOTS / "random"), 500) < 0.7


@pytest.mark.parametrize("name", ["random", "greedy", "expert"])
def test_a_python_bot_is_a_program_that_ends_when_told(name: str) -> None:
    first, second = (Program(sys.executable, "-I", BOTS / name / "main.py") for _ in range(2))
    transcript = play_seats(1, [first, second])
    assert transcript.result.faults == {}
    assert [first.end(), second.end()] == [(0, "", "")] * 2


@pytest.mark.parametrize("name", ["random", "greedy", "expert"])
def test_a_python_bot_ends_at_the_end_of_its_input(name: str) -> None:
    assert Program(sys.executable, "-I", BOTS / name / "main.py").end() == (0, "", "")


def test_the_c_bot_ends_at_the_end_of_its_input(counter: Path) -> None:
    assert Program(counter).end() == (0, "", "")


def test_the_match_in_the_authors_page_is_a_real_one() -> None:
    page = (ROOT / "docs" / "protocols" / "yacht-auction.md").read_text()
    shown = [line.strip() for line in page.split("```")[1].strip().splitlines()]
    cut = next(n for n, line in enumerate(shown) if line.startswith("..."))
    example = decode((ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl").read_bytes())
    lines: list[str] = []
    for exchange in example.exchanges:
        lines += [f"<< {message.line}" for message in exchange.messages if message.seat == 0]
        lines += [f">> {exchange.replies[0].line}"] if exchange.replies else []
    assert lines[:cut] == shown[:cut]
    assert lines[-len(shown) + cut + 1 :] == shown[cut + 1 :]
