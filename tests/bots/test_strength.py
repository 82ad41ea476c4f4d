"""The starter bots of every game are programs that play legally, and each for two is stronger than the one before it.

The Python bots are loaded into this process, which is a hundred times quicker than pipes; those in C and C++ are
compiled and asked over pipes. Seeds are fixed and no bot looks at a clock, so a failure is the same everywhere.
"""

from __future__ import annotations

import re
import sys

import pytest

from deadheat.engine.replay import replay
from tests.bots.houses import BETRIS, LIARS, YACHT, House, Program, compiled, play_seats, seated
from tests.bots.loading import NewBot, in_process
from tests.deployment import ROOT
from tests.engine.golden import read
from tests.lanes import scaled

HOUSES = (YACHT, BETRIS, LIARS)
every_python_bot = pytest.mark.parametrize(
    ("house", "name"), [(house, name) for house in HOUSES for name in house.pythons], ids=str
)


def wins(house: House, first: NewBot, second: NewBot, matches: int) -> float:
    """Return the first bot's share of the points (half for a draw). Seats alternate; every match has its own seed."""
    score = 0.0
    for number in range(matches):
        seats = [first(2 * number), second(2 * number + 1)]
        transcript = play_seats(house, number, seats if number % 2 == 0 else seats[::-1])
        ranks = transcript.result.ranks if number % 2 == 0 else transcript.result.ranks[::-1]
        score += 0.5 if ranks == (1, 1) else ranks == (1, 2)
    return score / matches


@pytest.mark.all
@pytest.mark.parametrize(
    ("house", "better", "worse", "matches", "bound"),
    [
        # The bounds lie at least four standard deviations below the measurements over 500 matches.
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
def test_each_bot_beats_the_one_before_it(house: House, better: str, worse: str, matches: int, bound: float) -> None:
    with seated(house, better) as first, seated(house, worse) as second:
        assert wins(house, first, second, matches) > bound


@pytest.mark.parametrize("house", [YACHT, BETRIS], ids=str)
def test_random_play_never_faults(house: House) -> None:
    new = in_process(house.folder / "random")
    assert abs(wins(house, new, new, scaled(house.matches, 10)) - 0.5) < scaled(2, 5) / 10


@every_python_bot
def test_a_python_bot_is_a_program_that_ends_when_told(house: House, name: str) -> None:
    programs = [Program(sys.executable, "-I", house.folder / name / "main.py") for _ in range(house.game.seats[-1])]
    play_seats(house, 1, [*programs])
    assert {program.end() for program in programs} == {(0, "", "")}


@every_python_bot
def test_a_python_bot_ends_at_the_end_of_its_input(house: House, name: str) -> None:
    assert Program(sys.executable, "-I", house.folder / name / "main.py").end() == (0, "", "")


@pytest.mark.parametrize("house", HOUSES, ids=str)
def test_the_compiled_bot_ends_when_told_and_at_the_end_of_its_input(house: House) -> None:
    programs = [Program(compiled(house)) for _ in range(house.game.seats[-1])]
    play_seats(house, 1, [*programs])
    assert {program.end() for program in [*programs, Program(compiled(house))]} == {(0, "", "")}


@pytest.mark.parametrize("house", [YACHT, LIARS], ids=str)
def test_the_match_in_the_authors_page_is_a_real_one(house: House) -> None:
    example = read(f"{house.game.name}-example")
    assert replay(house.game, example) == example
    lines: list[str] = []
    for exchange in example.exchanges:
        lines += [f"<< {message.line}" for message in exchange.messages if message.seat == 0]
        lines += [f">> {exchange.replies[0].line}"] if 0 in exchange.replies else []
    page = (ROOT / "games" / house.game.name.replace("-", "_") / "protocol.md").read_text()
    shown = next(block for block in page.split("```") if "<< READY" in block)
    said = [line.strip() for line in shown.strip().splitlines()]
    assert all(part in "\n".join(lines) for part in re.split(r"\n\.\.\. .*\n", "\n".join(said)))
    assert (said[0], said[-1]) == (lines[0], lines[-1])
