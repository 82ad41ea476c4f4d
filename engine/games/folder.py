"""What a game's folder holds, and how the rest of Deadheat gets at it. Where folders are looked for: `games`.

The folder is a Python package whose ``__init__`` has a `GameFolder` named ``GAME``. Every process imports it, so it
must be quick and need the standard library only. What fewer need lies in modules beside it, which are imported when
they are asked for, and each of which a game may leave out:

| module | has | without it |
|---|---|---|
| ``scenes`` | ``DIRECTOR``, see `engine.scenes.core.Director` | matches are told event by event |
| ``terminal`` | ``VIEW``, see `cli.replays.pages.View` | a terminal shows every line |
| ``forms`` | ``FORMS``: by command an `engine.games.forms.Form` | a person types lines of the protocol |
| ``training`` | ``VIEW``, see `training.view.View` | nobody can train for it |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from deadheat.engine.core import Game


@dataclass(frozen=True, slots=True)
class GameFolder:
    """A game with what is said of it in a word.

    `package` is the folder's own ``__name__``. `place`: where it stands among others. `seats_differ`: how its seats
    differ, for a person who chooses one; None: all are asked at once, so there is nothing to choose. `pace`: the
    seconds that a slot needs for a series and for each of its matches, of house bots on a machine of two processors.
    `bank_ns`: what a seat has for all its replies but READY, if it has a time bank. `same_deals`: hands are private, so
    a league plays each deal once with every bot in every seat, and luck with the cards cancels out; in other games
    everybody sees the same dice, and playing them again would only repeat the match.
    """

    rules: Game
    package: str
    place: int = 100
    seats_differ: str | None = ""
    pace: tuple[float, float] | None = None
    bank_ns: int | None = None
    same_deals: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """Which game a process plays under a name. Two processes that differ in it might play different matches."""

    name: str
    rules_version: int
    digest: str


@cache
def _found() -> Any:
    """What is there, a `games.Found`. It is looked for once: a process keeps the games with which it began."""
    return import_module("deadheat.games").find()


def folders() -> Mapping[str, GameFolder]:
    """Return every game that is there, by the name used in URLs, folders and transcripts."""
    found: Mapping[str, GameFolder] = _found().games
    return found


def problems() -> tuple[str, ...]:
    """Return a sentence about each folder that was found and cannot be used."""
    told: tuple[str, ...] = _found().problems
    return told


@cache
def identities() -> tuple[Identity, ...]:
    """Return which games these are, with a hash of each folder, as workers and the API compare them."""
    games = import_module("deadheat.games")
    return tuple(
        Identity(name, each.rules.rules_version, games.digest(games.folder_of(each)))
        for name, each in folders().items()
    )


class Games(Mapping[str, Game]):
    """The rules of every game that is there. They are looked for when they are first asked for."""

    def __getitem__(self, name: str) -> Game:
        return folders()[name].rules

    def __iter__(self) -> Iterator[str]:
        return iter(folders())

    def __len__(self) -> int:
        return len(folders())


class Parts(Mapping[str, Any]):
    """By game, what a module of its folder has under a name; only games that have the module are in it."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __getitem__(self, game: str) -> Any:
        module = _module(folders()[game].package, self._module)
        if module is None:
            raise KeyError(game)
        return getattr(module, self._name)

    def __iter__(self) -> Iterator[str]:
        return (game for game, folder in folders().items() if _is_there(f"{folder.package}.{self._module}"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _is_there(module: str) -> bool:
    return find_spec(module) is not None


@cache
def _module(package: str, name: str) -> Any:
    module = f"{package}.{name}"
    return import_module(module) if _is_there(module) else None
