"""The files that keep a bot's state, in Python and in C, read every line of recorded matches, and agree with each other
and with the results.
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deadheat.engine.core import Seat
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import Transcript
from deadheat.games.yacht_auction.rules import CATEGORIES
from deadheat.games.yacht_auction.training import FIVES
from tests.bots.houses import WARNINGS
from tests.engine.golden import TRANSCRIPTS, read

LONGEST = 150
"""Lines of a file that a new author is to read."""

PROGRAMS = Path(__file__).parent / "sdk"
"""For each game a C program that answers as recorded, and writes its state at each prompt to standard error."""

matches = pytest.mark.parametrize("name", sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl")))


@cache
def sdk(game: str) -> dict[str, Any]:
    return runpy.run_path(str(bots_of(game) / "_sdk" / "python" / f"{game.replace('-', '_')}.py"))


@cache
def program(game: str, compiler: str, language: str, folder: Path) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler} here")
    name = game.replace("-", "_")
    made = folder / f"{name}-{language}"
    source, sdk = PROGRAMS / f"{name}.c", bots_of(game) / "_sdk" / "c"
    subprocess.run([compiler, "-x", language, *WARNINGS, "-I", sdk, "-o", made, source], check=True)
    return made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sdk")


def told(transcript: Transcript, seat: Seat) -> Iterator[tuple[str, str | None]]:
    """Yield each line that a seat was sent, with its reply."""
    for messages, replies, _ in transcript.exchanges:
        for message in messages:
            if message.seat == seat:
                yield message.line, None if message.limit_ns is None else replies[seat].line


def recorded(transcript: Transcript, seat: Seat) -> tuple[Any, list[str]]:
    """Let the Python file read a seat's lines and give its replies; return the bot, and its state at each prompt."""
    states: list[str] = []
    reply: list[str] = []

    def answered(*_: object) -> object:
        states.append(STATES[transcript.game](bot))
        if transcript.game == "liars-dice":
            action = json.loads(" ".join(reply))
            return (action["quantity"], action["faceValue"]) if action["type"] == "bid" else action["type"]
        if reply[0] == "PLACE":
            return list(zip(map(int, reply[2::2]), map(int, reply[3::2]), strict=True))
        return reply[1], int(reply[2]) if reply[0] != "PUT" else reply[2]

    bot = sdk(transcript.game)["Bot"]()
    for name in ("on_roll", "on_score", "on_phase1", "on_phase2", "on_turn"):
        setattr(bot, name, answered)
    for line, answer in told(transcript, seat):
        if line != "FINISH":
            reply[:] = (answer or "").split()
            said = bot.answer(line + "\n")
            assert (said is None) == (answer is None), line
            if said is not None and transcript.game == "liars-dice" and answer != "OK":
                assert json.loads(said).items() <= json.loads(answer or "").items()
            elif said is not None:
                assert said.split() == [re.sub(r"^0+(?=\d)", "", word) for word in (answer or "").split()]
    return bot, states


def yacht(bot: Any) -> str:
    def one(who: Any) -> str:
        dice = "".join(sorted(who.dice))
        return f"{dice}. {who.total} {who.basic} {who.bids} {who.wanted}{who.bid}{who.got} {len(who.free)}"

    return f"{bot.round} {one(bot.me)} {one(bot.other)}"


def betris(bot: Any) -> str:
    def one(who: Any) -> str:
        return f"{who.chips} {who.time_ms} {''.join(f'{x}{y}' for x, y in sorted(who.filled))}."

    return f"{bot.round} {' '.join(bot.offered)} {one(bot.me)} {one(bot.other)}"


def liars(bot: Any) -> str:
    current = f"{bot.current.quantity} {bot.current.face} {bot.bidder[1:]}" if bot.current else "0 0 0"
    counts = "".join(str(bot.counts.get(f"P{number}", 0)) for number in range(1, 7))
    bids = "".join(f" {bid.quantity}x{bid.face}P{player[1:]}" for player, bid in bot.bids)
    return f"{bot.round} {bot.me[1:]} {''.join(map(str, sorted(bot.dice)))} {counts} {current}{bids}"


STATES: dict[str, Callable[[Any], str]] = {"yacht-auction": yacht, "betris-large": betris, "liars-dice": liars}


def honest(transcript: Transcript) -> list[Seat]:
    return [seat for seat in range(transcript.seats) if seat not in transcript.result.faults]


@matches
def test_the_state_at_the_end_is_the_result(name: str) -> None:
    transcript = read(name)
    for seat in honest(transcript):
        bot, states = recorded(transcript, seat)
        assert len(states) == sum(answer not in {None, "OK"} for _, answer in told(transcript, seat))
        points = transcript.result.points
        if points is None:
            continue
        if transcript.game == "liars-dice":
            assert bot.counts == {f"P{1 + winner}": left for winner, left in enumerate(points) if left}
        else:
            total = "total" if transcript.game == "yacht-auction" else "points"
            assert [getattr(bot.me, total), getattr(bot.other, total)] == [points[seat], points[1 - seat]]


@pytest.mark.parametrize(("compiler", "language"), [("gcc", "c"), ("g++", "c++")])
@matches
def test_the_header_keeps_the_same_state(name: str, compiler: str, language: str, folder: Path) -> None:
    transcript = read(name)
    command = program(transcript.game, compiler, language, folder)
    for seat in honest(transcript):
        _, expected = recorded(transcript, seat)
        lines = list(told(transcript, seat))
        replies = folder / f"{name}-{seat}-{language}"
        replies.write_text("".join(f"{answer}\n" for _, answer in lines if answer not in {None, "OK"}))
        sent = "".join(f"{line}\n" for line, _ in lines)
        done = subprocess.run([command, replies], input=sent, capture_output=True, text=True, check=True, timeout=60)
        assert done.stderr.splitlines() == expected
        assert len(done.stdout.splitlines()) == len(expected) + 1


def test_scores_are_those_of_the_rules() -> None:
    names = sdk("yacht-auction")
    assert tuple(CATEGORIES) == names["CATEGORIES"]
    for five in FIVES:
        for category, points in CATEGORIES.items():
            assert names["points"](category, five) == points(five)


@pytest.mark.parametrize("game", GAMES)
def test_a_file_is_short_and_needs_the_standard_library_only(game: str) -> None:
    for path in (*bots_of(game).glob("_sdk/python/*.py"), *bots_of(game).glob("_sdk/c/*")):
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) < LONGEST and max(map(len, lines)) <= 120, path
        if path.suffix == ".py":
            brought = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
            assert brought <= sys.stdlib_module_names | {game.replace("-", "_")}
