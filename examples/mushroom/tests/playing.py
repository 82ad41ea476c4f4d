"""Matches in memory, of scripts and of the package's bots."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deadheat_mushroom
from deadheat.engine.chance import Chance
from deadheat.engine.core import Message
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat_mushroom.rules import Mushroom

BOTS = Path(deadheat_mushroom.__file__).parent / "bots"

ROWS = [
    "52466443835422223",
    "13254826938785712",
    "87598398564241564",
    "72722154162442227",
    "43968227685821641",
    "27727492381231148",
    "56138649164249527",
    "36281415328768234",
    "62682694189422313",
    "62269566965435457",
]
"""The board of the text."""


class Drawn(Chance):
    """Draws the digits of a board that is given."""

    __slots__ = ("digits",)

    def __init__(self, rows: list[str]) -> None:
        super().__init__(b"")
        self.digits: Iterator[str] = iter("".join(rows))

    def below(self, bound: int) -> int:
        """See `Chance.below`."""
        assert bound == 9
        return int(next(self.digits)) - 1


@dataclass(frozen=True)
class OnBoard(Mushroom):
    """The rules, on a board that is given."""

    drawn: tuple[str, ...] = ()

    def play(self, seats: int, chance: Chance) -> Any:
        """See `engine.core.Game`."""
        return super().play(seats, Drawn(list(self.drawn)))


class Script:
    """Answers TIME with these lines or answers, one after the other, then passes; remembers what it is sent."""

    def __init__(self, *answers: str | Answer, ready: str | Answer = "OK") -> None:
        self.answers = list(answers)
        self.ready = ready
        self.heard: list[str] = []
        self.limits: list[int] = []

    def __call__(self, message: Message) -> str | Answer | None:
        """See `engine.memory.Player`."""
        self.heard.append(message.line)
        if message.limit_ns is None:
            return None
        self.limits.append(message.limit_ns)
        if message.command == "READY":
            return self.ready
        return self.answers.pop(0) if self.answers else "-1 -1 -1 -1"


def match(first: Player, second: Player, rows: list[str] | None = None, seed: int = 0) -> Transcript:
    """Play one match, on the board of the text or of a seed."""
    game = Mushroom() if rows is None else OnBoard(drawn=tuple(rows))
    return run_match(game, 2, seed.to_bytes(16, "big"), MemoryTransport([first, second]))


def bot(name: str) -> Any:
    """Load a Python bot's class."""
    spec = importlib.util.spec_from_file_location(f"mushroom_{name}", BOTS / name / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bot


def seated(playing: Any) -> Player:
    """Seat a bot; it must answer every prompt and no notice."""

    def play(message: Message) -> str | None:
        line: str | None = None if message.line == "FINISH" else playing.answer(message.line + "\n")
        assert (line is None) == (message.limit_ns is None), message
        return line

    return play
