"""The house bots of all games, as programs or in this process, and their matches."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
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
from deadheat.engine.transcript import Transcript
from tests.bots.loading import NewBot, in_process

WARNINGS = ("-Wall", "-Wextra", "-Werror")


class Program:
    """A bot over pipes, without a match's deadlines. The real transport has tests of its own."""

    def __init__(self, *command: str | Path) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __call__(self, message: Message) -> str | None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(message.line + "\n")
        self.process.stdin.flush()
        if message.limit_ns is None:
            return None
        assert select.select([self.process.stdout], [], [], 60)[0], f"no answer to {message.line}"
        return self.process.stdout.readline().removesuffix("\n")

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; return the exit code, unread output, and standard error."""
        output, errors = self.process.communicate()
        return self.process.returncode, output, errors


@dataclass(frozen=True)
class House:
    """The house bots of a game: those in Python, and the compiled one with its compilers and their options."""

    game: Game
    pythons: tuple[str, ...]
    compiled: str
    compilers: tuple[str, ...]
    options: tuple[str, ...]
    matches: int
    seed: bytes  # the beginning of each match's seed

    def __str__(self) -> str:
        return self.game.name

    @property
    def folder(self) -> Path:
        return bots_of(self.game.name)

    def program(self) -> Path:
        """Compile the bot. Without a compiler, skip the test, or fail it if CI=true."""
        compiler = next(filter(None, map(shutil.which, self.compilers)), None)
        if compiler is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no compiler for {self.compiled}")
        program = Path(tempfile.mkdtemp(prefix="deadheat-test-")) / self.compiled
        atexit.register(shutil.rmtree, program.parent, ignore_errors=True)
        sources = sorted((self.folder / self.compiled).glob("*.c*"))
        subprocess.run([compiler, "-O2", *self.options, *WARNINGS, "-o", program, *sources], check=True)
        return program


DUEL = ("random", "greedy", "expert")
YACHT = House(GAMES["yacht-auction"], DUEL, "counter", ("cc", "gcc"), (), 500, b"strength")
BETRIS = House(GAMES["betris-large"], DUEL, "solid", ("c++", "g++"), ("-std=gnu++20",), 200, b"strength")
LIARS = House(
    GAMES["liars-dice"], ("random", "honest", "expert"), "teller", ("c++", "g++"), ("-std=c++17",), 50, b"liars"
)

compiled = cache(House.program)


@contextmanager
def seated(house: House, name: str) -> Iterator[NewBot]:
    """Seat a bot in this process, or programs of the compiled one, each of which must end well after its match."""
    running: list[Program] = []

    def new(_: int) -> Player:
        while len(running) > 1:  # matches run one after the other, at most two at a time
            assert running.pop(0).end() == (0, "", "")
        running.append(Program(compiled(house)))
        return running[-1]

    yield new if name == house.compiled else in_process(house.folder / name)
    assert all(bot.end() == (0, "", "") for bot in running)


def play_seats(house: House, number: int, players: list[Player]) -> Transcript:
    """Play match `number`, in which nobody may fail."""
    seed = house.seed + number.to_bytes(16 - len(house.seed), "big")
    transcript = run_match(house.game, len(players), seed, MemoryTransport(players))
    assert transcript.result.faults == {}, transcript.exchanges[-1].events
    return transcript
