"""Parameters of games: numbers of the rules that a season may change, within bounds.

A game declares them as the fields of its class, a frozen dataclass, and reads them from itself::

    dice: Annotated[int, Parameter(1, 5, "Dice of a player at the beginning")] = 5

Its defaults are the rules. A *variant* names those that differ, with their numbers; an empty one is the game itself. A
transcript carries its variant, so everybody replays it by the same numbers (`rules_of`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, cast, get_args, get_type_hints

from deadheat.engine.core import Game
from deadheat.engine.games import GAMES
from deadheat.engine.language import _, gettext
from deadheat.engine.transcript import Transcript

WORD = r"^[a-z][a-z0-9_]{0,31}=[0-9]{1,9}$"
"""A parameter with its number, as people write it: ``dice=3``."""

Variant = Mapping[str, int]


class BadVariant(ValueError):
    """The game has no such parameter, or does not allow that number; the text is a clause."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """The range of a number, and its name for people, such as "Dice of a player at the beginning"."""

    least: int
    most: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter of a game, with its usual value."""

    name: str
    parameter: Parameter
    usual: int
    value: int

    @property
    def words(self) -> str:
        """A clause for people, in the reader's language."""
        meaning = gettext(self.parameter.meaning)
        return _("%(meaning)s: %(value)s instead of %(usual)s", meaning=meaning, value=self.value, usual=self.usual)


def parameters(game: Game) -> Iterator[Value]:
    """Yield every parameter of these rules."""
    for name, (parameter, usual) in _declared(type(game)).items():
        yield Value(name, parameter, usual, getattr(game, name))


def variant_of(game: Game) -> dict[str, int]:
    """Return the numbers of these rules that differ from the usual ones, in alphabetical order."""
    declared = sorted(_declared(type(game)).items())  # once a match: without a `Value` for each
    return {name: getattr(game, name) for name, (_, usual) in declared if getattr(game, name) != usual}


def differences(game: Game) -> list[str]:
    """Describe each number that differs from the usual rules by a clause in the reader's language."""
    return [each.words for each in parameters(game) if each.value != each.usual]


def varied(game: Game, variant: Variant) -> Game:
    """Return the rules with these numbers. Raises BadVariant."""
    if not variant:
        return game
    known = {each.name: each for each in parameters(game)}
    for name, value in variant.items():
        if name not in known:
            there = _("there are %(names)s", names=", ".join(sorted(known))) if known else _("it has none")
            raise BadVariant(_("%(game)s has no parameter %(name)s; %(there)s", game=game.name, name=name, there=there))
        bounds = known[name].parameter
        if not bounds.least <= value <= bounds.most:
            sentence = _("%(name)s is %(value)s, and must be from %(least)s to %(most)s")
            raise BadVariant(sentence % {"name": name, "value": value, "least": bounds.least, "most": bounds.most})
    return cast("Game", replace(cast("Any", game), **variant))


def read(words: Iterable[str] | None) -> dict[str, int]:
    """Read a variant as people write it, a word for each parameter. Raises BadVariant."""
    values: dict[str, int] = {}
    for word in words or ():
        name, _, number = word.partition("=")
        if not re.fullmatch(WORD, word) or name in values:
            raise BadVariant(gettext("%(word)r must be NAME=NUMBER, each name once") % {"word": word[:50]})
        values[name] = int(number)
    return values


def rules(game: str, words: Iterable[str] | None) -> Game:
    """Return the rules of a game with a variant as people write it. Raises KeyError, BadVariant."""
    return varied(GAMES[game], read(words))


def rules_of(transcript: Transcript) -> Game:
    """Return the rules by which a match was played. Raises KeyError, BadVariant."""
    return varied(GAMES[transcript.game], transcript.variant)


@cache
def _declared(kind: type) -> dict[str, tuple[Parameter, int]]:
    if not is_dataclass(kind):
        return {}
    hints = get_type_hints(kind, include_extras=True)
    declared = {field.name: (_parameter(hints[field.name]), field.default) for field in fields(kind)}
    return {name: (parameter, cast("int", usual)) for name, (parameter, usual) in declared.items() if parameter}


def _parameter(hint: Any) -> Any:
    return next((each for each in get_args(hint) if isinstance(each, Parameter)), None)
