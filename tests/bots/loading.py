"""Python bots, loaded into the process of a test."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deadheat.engine.core import Message
from deadheat.engine.memory import Player

NewBot = Callable[[int], Player]
"""A fresh bot for the match or the seat of this number."""


def bot_class(folder: Path) -> Any:
    """What the Python bot in this folder calls `Bot`."""
    name = f"{folder.parent.name}_{folder.name}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, folder / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bot


def in_process(folder: Path) -> NewBot:
    """The Python bot in this folder. It must answer every prompt and no notice."""
    new_bot = bot_class(folder)

    def new(number: int) -> Player:
        bot = new_bot(number)

        def play(message: Message) -> str | None:
            reply: str | None = None if message.line == "FINISH" else bot.answer(message.line + "\n")
            assert (reply is None) == (message.limit_ns is None), f"{message.line}: {reply}"
            return reply

        return play

    return new
