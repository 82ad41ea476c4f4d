"""The pace of the pure engine, in CPU time: matches of every game.

    ./scripts/bench engine [--short]

Random legal matches of every game, of those in examples too, with their random bots in memory: rules, referee,
transcript and the bots' own calls; and the same matches with their replies read from a list, without players. The
garbage collector rests, as in a worker's match.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Protocol

from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from tests.benchmarks.targets import Targets, arguments
from tests.bots.loading import bot_class

ROOT = Path(__file__).resolve().parent.parent.parent

TARGETS_MS = {"yacht-auction": 1.0, "liars-dice": 2.0}
OTHERS_MS = 1000 / 300
"""The CPU time of a random match of two seats with its players."""


def main() -> int:
    short = arguments(__doc__, "a few matches").parse_args().short
    os.environ.setdefault("DEADHEAT_GAMES", os.pathsep.join(map(str, sorted((ROOT / "examples").glob("*/src")))))
    targets = Targets(short)
    all_games(targets, matches=5 if short else 100, rounds=2 if short else 7)
    return targets.report()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the garbage collector out of a measurement."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Bot(Protocol):
    """The class that a house bot's module calls ``Bot``."""

    def answer(self, line: str) -> str | None:
        """Return the reply to a line."""


def all_games(targets: Targets, matches: int, rounds: int) -> None:
    """Print matches a second of every game, with as few seats as possible and with as many."""
    tables = sorted({(name, seats) for name, game in GAMES.items() for seats in (game.seats[0], game.seats[-1])})
    bots = {name: bot_class(bots_of(name) / "random") for name in GAMES}
    spent_ms: dict[tuple[str, int], list[float]] = {table: [] for table in tables}
    alone_ms: dict[tuple[str, int], list[float]] = {table: [] for table in tables}
    for number in range(rounds + 1):
        for name, seats in tables:
            with quiet():
                before_ns = time.process_time_ns()
                played = [play_match(name, seats, bots[name], number * matches + match) for match in range(matches)]
                between_ns = time.process_time_ns()
            told = [lines_of(transcript) for transcript in played]
            with quiet():
                again_ns = time.process_time_ns()
                for transcript, lines in zip(played, told, strict=True):
                    play_again(transcript, lines)
                after_ns = time.process_time_ns()
            if number:  # the first round warms up
                spent_ms[name, seats].append((between_ns - before_ns) / 1e6 / matches)
                alone_ms[name, seats].append((after_ns - again_ns) / 1e6 / matches)
    print(f"Random matches in memory ({rounds} rounds of {matches})")
    print(f"{'':20}{'seats':>6}{'matches a second':>20}{'without players':>18}   CPU ms a match")
    for (name, seats), spent in spent_ms.items():
        whole, alone = statistics.median(spent), statistics.median(alone_ms[name, seats])
        most = TARGETS_MS.get(name, OTHERS_MS) if seats == 2 else inf
        cost = targets.shown(f"{name}, CPU ms a match", whole, most=most)
        print(f"{name:20}{seats:6}{1000 / whole:20.0f}{alone:18.3f}   {cost}")
    print()


def lines_of(transcript: Transcript) -> list[list[str]]:
    lines: list[list[str]] = [[] for _ in range(transcript.seats)]
    for prompt in transcript.prompts():
        lines[prompt.message.seat].append(str(prompt.reply.line))
    return lines


def play_again(transcript: Transcript, lines: list[list[str]]) -> None:
    """Play a match again with players that need no time to think."""
    players = [_told(iter(seat).__next__) for seat in lines]
    run_match(GAMES[transcript.game], transcript.seats, transcript.seed, MemoryTransport(players))


def _told(following: Callable[[], str]) -> Player:
    return lambda message: None if message.limit_ns is None else following()


def play_match(name: str, seats: int, new_bot: Callable[[int], Bot], number: int) -> Transcript:
    """Play a match as a worker does, without processes."""
    players = [seated(new_bot(10 * number + seat)) for seat in range(seats)]
    transcript = run_match(GAMES[name], seats, number.to_bytes(16, "big"), MemoryTransport(players))
    assert not transcript.result.faults, transcript.result
    return transcript


def seated(bot: Bot) -> Player:
    return lambda message: None if message.line == "FINISH" else bot.answer(message.line)


if __name__ == "__main__":
    sys.exit(main())
