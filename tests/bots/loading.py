"""Load Python bots into the process of a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from deadheat.cli.game.check import bot_class
from deadheat.engine.core import Message
from deadheat.engine.memory import Player

__all__ = ["NewBot", "bot_class", "in_process"]

NewBot = Callable[[int], Player]
"""Makes a fresh bot for a match or a seat, by number."""


def in_process(folder: Path) -> NewBot:
    """Return a maker of this folder's Python bot, which must answer every prompt and no notice."""
    new_bot = bot_class(folder)

    def new(number: int) -> Player:
        bot = new_bot(number)

        def play(message: Message) -> str | None:
            reply: str | None = None if message.line == "FINISH" else bot.answer(message.line + "\n")
            assert (reply is None) == (message.limit_ns is None), f"{message.line}: {reply}"
            return reply

        return play

    return new
