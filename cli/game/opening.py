"""Opens a game's folder for the commands that inspect it, and plays matches of its bots in this process."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from deadheat.cli.console import USAGE, fail
from deadheat.engine.chance import seeds
from deadheat.engine.core import Message
from deadheat.engine.games.folder import SETTING, GameFolder, folders, problems
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.engine.trial import Bot

RANDOM = "random"

NewBot = Callable[[int], Bot]
"""A function that creates a bot for the match or the seat with this number."""

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The game's folder, with its __init__.py.")]


def opened(folder: Path) -> GameFolder:
    """Return the game of a folder. End the command with a sentence if it has none that can be played."""
    if not (folder / "__init__.py").is_file():
        fail(f"{folder} has no __init__.py: name the folder that holds the game", USAGE)
    mine = str(folder.absolute())
    others = (each for each in os.environ.get(SETTING, "").split(os.pathsep) if each not in {"", mine})
    os.environ[SETTING] = os.pathsep.join([mine, *others])
    found = [game for game in folders().values() if game.path.resolve() == folder.resolve()]
    if not found:
        fail(next((problem for problem in problems() if mine in problem), f"no game was found in {folder}"))
    return found[0]


def bot_class(folder: Path) -> Any:
    """Return the object named `Bot` in the Python bot of this folder."""
    name = f"bot_{folder.parent.name}_{folder.name}".replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, folder / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bot


def seated(bot: Bot) -> Player:
    """Return a bot in the form that the in-memory transport requires."""

    def play(message: Message) -> str | None:
        return None if message.line == "FINISH" else bot.answer(message.line + "\n")

    return play


def random_matches(game: GameFolder, new_bot: NewBot, seed: str, each: int = 1) -> Sequence[Transcript]:
    dice = seeds(seed)
    found = []
    for seats in game.rules.seats:
        for number in range(each):
            players = [seated(new_bot(100 * number + seat)) for seat in range(seats)]
            about = {"players": [f"{RANDOM} {seat}" for seat in range(1, seats + 1)]}
            found.append(run_match(game.rules, seats, next(dice), MemoryTransport(players), about))
    return found
