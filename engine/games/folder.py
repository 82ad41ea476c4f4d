"""The content of a game's folder, and how the rest of Deadheat reads it. `games` finds the folders.

The folder is a Python package whose ``__init__`` has a `GameFolder` named ``GAME``. Every process imports it, so it
must be quick and need the standard library only. The other parts are modules beside it, which are imported only when
needed; all of them are optional:

| module | has | without it |
|---|---|---|
| ``scenes`` | ``DIRECTOR``, see `engine.scenes.core.Director` | matches are told event by event |
| ``terminal`` | ``VIEW``, see `cli.replays.pages.View` | a terminal shows every line |
| ``forms`` | ``FORMS``: by command an `engine.games.forms.Form` | a person types lines of the protocol |
| ``advice`` | ``ADVICE``, see `engine.advice.Adviser` | nobody is advised after a match |
| ``training`` | ``VIEW``, see `training.view.View` | nobody can train for it |

and other files:

| file | is | without it |
|---|---|---|
| ``bots/NAME/`` | a house bot, as its author would upload it | there is none of that name |
| ``bots/random/main.py`` | the opponent in uploads' trial matches | no upload becomes ready |
| ``bots/_sdk/python/`` | the starter: `main.py`, with a file that keeps the state | ``bots/random/main.py`` is it |
| ``bots/_sdk/c/`` | the same in C, which is C++ as well | ``bots/starter/main.c`` is it |
| ``action.schema.json`` | JSON schema of an answer, for games that speak JSON | agents send lines |
| ``protocol.md`` | the page for bot authors; ``protocol.ko.md``: the same in Korean | the site shows no rules |
| ``locale/ko/LC_MESSAGES/messages.po`` | the game's texts in Korean, a gettext catalogue | they are English |
| ``turns.html`` | the forms of a person's seat: a macro (offer, complaint) for each kind of turn | lines are typed |
| ``web/`` | what browsers are given, at an address that changes with the folder | |
| ``web/picture.svg`` | the picture beside the game's name | a general picture |
| ``web/board.js`` | draws a scene (``static/replay.js`` says how); ``board.css`` is its style | the record in words |
| ``web/moves.js`` | fills the forms in on the board (``static/play.js`` says how) | forms alone |
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deadheat.engine.core import Game

ADDRESSED_DIGITS = 12
"""Digits of the folder's hash in its files' addresses, so that a changed file has another address."""

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""The form of a game's name."""

SETTING = "DEADHEAT_GAMES"
"""The variable that names folders of further games."""


@dataclass(frozen=True, slots=True)
class GameFolder:
    """A game and its description.

    `package` is the folder's own ``__name__``. `place`: its position in lists. `seats_differ`: how its seats differ,
    for a person who chooses one, or None if all are asked at once, so that there is nothing to choose. `pace`: the
    seconds that a slot needs for a series and for each of its matches, of house bots on a machine of two processors.
    `same_deals`: hands are private, so a league plays each deal once with every bot in every seat, and luck with the
    cards cancels out; in other games everybody sees the same dice, and playing them again would only repeat the match.
    `panel`: the house bots by which newcomers are measured, the strongest first.
    """

    rules: Game
    package: str
    place: int = 100
    seats_differ: str | None = ""
    pace: tuple[float, float] | None = None
    same_deals: bool = False
    panel: tuple[str, ...] = ("random",)

    @property
    def path(self) -> Path:
        """Return the game's folder."""
        return Path(str(sys.modules[self.package].__file__)).parent

    def translations(self, language: str) -> Path:
        """Return the path of the game's texts in a language, whether or not it exists."""
        return self.path / "locale" / language / "LC_MESSAGES" / "messages.po"


@dataclass(frozen=True, slots=True)
class Identity:
    """The exact game that a process plays under a name. Processes that differ in it might play different matches."""

    name: str
    rules_version: int
    digest: str


@cache
def _search() -> Any:
    """Return the games that can be found, a `games.Found`. The search runs once: a process keeps its games."""
    return import_module("deadheat.games").find()


def folders() -> Mapping[str, GameFolder]:
    """Return every available game, by the name used in URLs, folders and transcripts."""
    games: Mapping[str, GameFolder] = _search().games
    return games


def problems() -> tuple[str, ...]:
    """Return a sentence about each folder that was found but cannot be used."""
    sentences: tuple[str, ...] = _search().problems
    return sentences


@cache
def identities() -> tuple[Identity, ...]:
    """Return the identities of these games, by which workers and the API compare them."""
    games = import_module("deadheat.games")
    return tuple(Identity(name, each.rules.rules_version, games.digest(each.path)) for name, each in folders().items())


def bots_of(game: str) -> Path:
    """Return the folder of a game's house bots, whether or not it exists."""
    return folders()[game].path / "bots"


def bot_digest(game: str, bot: str) -> str:
    """Return the SHA-256 over the files of a house bot, the same on every machine."""
    digest: str = import_module("deadheat.games").digest(bots_of(game) / bot)
    return digest


def house_bots(game: str) -> tuple[str, ...]:
    """Return the names of a game's house bots, in alphabetical order."""
    return tuple(sorted(path.name for path in bots_of(game).glob("[!._]*") if path.is_dir()))


def protocol_of(game: str, language: str = "en") -> Path | None:
    """Return the game's page for bot authors, in English if there is none in that language; None if it has no page."""
    named = (folders()[game].path / name for name in (f"protocol.{language}.md", "protocol.md"))
    return next((path for path in named if path.is_file()), None)


def web_address(game: str, file: str) -> str | None:
    """Return the site's address of a file in the game's folder ``web``, or None if there is no such file."""
    if not (folders()[game].path / "web" / file).is_file():
        return None
    (digest,) = (each.digest for each in identities() if each.name == game)
    return f"/static/games/{game}/{digest[:ADDRESSED_DIGITS]}/{file}"


class Games(Mapping[str, Game]):
    """The rules of every available game. The games are searched for at the first access."""

    def __getitem__(self, name: str) -> Game:
        return folders()[name].rules

    def __iter__(self) -> Iterator[str]:
        return iter(folders())

    def __len__(self) -> int:
        return len(folders())


class Parts(Mapping[str, Any]):
    """The objects of a given name in a given module of each game's folder, by game; games without it are left out."""

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
