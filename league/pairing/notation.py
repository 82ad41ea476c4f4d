"""The contests of a season's file: one notation for everything that bots play against each other.

Each table of `[[contests]]` has a `kind`. The other words mean the same for every kind that has them. Together the
tables are the whole list: what is not listed is not played. They are translated to the season's settings before these
are checked, and mistakes in the settings are translated back to the contest that caused them.

This module is pure, as `league.terms` is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from deadheat.engine.language import _
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.states import FinalsFormat
from deadheat.league.terms import TERMS
from deadheat.league.timetable import DeclaredEvaluation

CONTESTS = "contests"

Mistake = tuple[str, str]
"""A key's path (empty: the whole file), and what is wrong there, as the end of a sentence."""


class Kind(StrEnum):
    """The kinds of contests, in the order in which a file is written."""

    LADDER = "ladder"
    PANEL = "panel"
    GATE = "gate"
    EVALUATION = "evaluation"
    STAGE = "stage"
    FINALS = "finals"


MEANINGS: Mapping[Kind, str] = {
    Kind.LADDER: "The ladder: rated matches between neighbours, as long as the season is open.",
    Kind.PANEL: "The panel that each new version meets before anybody else.",
    Kind.GATE: "The gate at which a version must beat the one that plays, if its author wants that.",
    Kind.EVALUATION: "A tournament beside the ladder, at the times `at`, or `every_minutes` from `from` to `until`.",
    Kind.STAGE: "A stage of the finals: `keep` bots advance to the next one, and the last one has a winner.",
    Kind.FINALS: "The finals, ranked by ratings.",
}
"""What a written file says above the first contest of each kind."""

_OF_FINALS = {"top": "finals_top", "at": "finals_at"}

SETTINGS: Mapping[Kind, Mapping[str, str]] = {
    Kind.LADDER: {"matches": "games_per_pair"},
    Kind.PANEL: {"against": "panel", "matches": "panel_games", "minimum": "panel_minimum"},
    Kind.GATE: {"matches": "challenge_games"},
    Kind.STAGE: _OF_FINALS,  # words of the first stage only
    Kind.FINALS: {
        "format": "finals",
        "rounds": "finals_rounds",
        "matches": "finals_games",
        "further": "finals_extra_games",
        "ranked_by": "finals_log",
        **_OF_FINALS,
    },
}
"""For each kind, its words that are settings. An evaluation has the words of `DeclaredEvaluation`."""

REQUIRED = {Kind.PANEL: "against", Kind.STAGE: "format", Kind.FINALS: "format"}

FORMATS: Mapping[Kind, tuple[str, ...]] = {
    Kind.STAGE: tuple(EvaluationFormat),
    Kind.FINALS: (FinalsFormat.SWISS, FinalsFormat.ROUND_ROBIN),
}
"""The formats of a kind. `DeclaredEvaluation` checks those of an evaluation."""

ABSENT: Mapping[str, Any] = {
    "ladder": False,
    "panel": None,
    "challenge_games": 0,
    "finals": FinalsFormat.NONE.value,
    "stages": None,
    "evaluations": [],
}
"""The settings of a season in which nothing is played. Every list of contests decides these."""

COVERED = frozenset({*ABSENT, *(setting for words in SETTINGS.values() for setting in words.values())})
"""All settings that contests can declare."""

NUMBERS = ("rounds", "matches", "keep", "further")
STAGE_WORDS = ("format", *NUMBERS, "tie_breaks", "third_place")


def _line_of(words: Mapping[str, Any]) -> str:
    """Return a stage in the form that a season stores (`league.pairing.stages`), which is checked like all settings."""
    given = [f"{name}={json.dumps(words[name], default=str)}" for name in NUMBERS if name in words]
    ties, third = words.get("tie_breaks"), words.get("third_place", False)
    if ties is not None:
        given.append(f"ties={'+'.join(map(str, ties)) if isinstance(ties, list) else ties}")
    if third is not False:
        given.append("third-place" if third is True else f"third_place={third}")
    return " ".join([str(words.get("format", "")), *(word for word in given if word != "further=0")])


def _words_of(line: str) -> dict[str, Any]:
    """Return the words of a stored stage."""
    format_, *words = line.split()
    given = {name: value for name, _, value in (word.partition("=") for word in words)}
    ties = {"tie_breaks": given.pop("ties").split("+")} if "ties" in given else {}
    third = {"third_place": True} if given.pop("third-place", None) is not None else {}
    return {"format": format_, **{name: int(value) for name, value in given.items()}, **ties, **third}


@dataclass(frozen=True, slots=True)
class Contests:
    """The settings that a list of contests declares, unchecked. `origins`: for each, the contests (counted from 1) with
    the word, or an evaluation's name.
    """

    settings: Mapping[str, Any]
    origins: Mapping[str, Sequence[tuple[int, str]]]

    def located(self, mistake: Mistake) -> Mistake:
        """Return a mistake in a setting as one in its contest: the path is `contests`, the contest's number and, if it
        is known, the word.
        """
        path, why = mistake
        setting = path.rpartition(".")[2]
        if not (origins := self.origins.get(setting)):
            return mistake
        number, word = origins[-1]
        if setting in {"stages", "evaluations"}:
            number, why = _one_of(origins, why)
            about = re.match(r"([a-z_]+): |“([a-z_]+)[=”]", why)
            word = about[about.lastindex or 0] if about else ""
            why = why.removeprefix(f"{word}: ")
        return f"{CONTESTS}.{number}{word and '.'}{word}", why


def _one_of(origins: Sequence[tuple[int, str]], why: str) -> tuple[int, str]:
    """Return the contest that a mistake names by its place in a list or its name, and the rest of the words."""
    for place, (number, name) in enumerate(origins, 1):
        for start in (f"{name}: ", f"number {place}, ", _("number %(number)s: %(fault)s", number=place, fault="")):
            if why.startswith(start):
                return number, why.removeprefix(start)
    return origins[-1][0], why


def unknown(word: str, known: Iterable[str]) -> str:
    """Say that there is no such key, and which one may be meant."""
    names = list(known)
    close = get_close_matches(word, names, 1)
    all_names = _("there are %(names)s", names=", ".join(names))
    hint = _("did you mean %(name)s", name=close[0]) if close else all_names
    return _("there is no such key; %(hint)s", hint=hint)


def translated(listed: object, mistakes: list[Mistake]) -> Contests:
    """Translate a file's contests to settings. Mistakes that are not about settings are added to `mistakes`."""
    settings: dict[str, Any] = {**ABSENT, "evaluations": []}
    origins: dict[str, list[tuple[int, str]]] = defaultdict(list)
    seen: set[Kind] = set()
    contests = listed if isinstance(listed, list) else [None]
    for number, contest in enumerate(contests, 1):
        if not isinstance(contest, dict):
            mistakes.append((CONTESTS, _("it is a list of tables; write [[contests]] before each")))
            continue
        words = dict(contest)
        if (given := words.pop("kind", None)) not in tuple(Kind):
            mistakes.append((f"{CONTESTS}.{number}.kind", _("choose one of %(all)s", all=", ".join(Kind))))
            continue
        kind = Kind(given)
        found, wrong = _settings_of(kind, words, kind in seen)
        mistakes += ((f"{CONTESTS}.{number}{word and '.'}{word}", why) for word, why in wrong)
        for setting, word, value in found:
            origins[setting].append((number, word))
            settings[setting] = [*(settings[setting] or ()), value] if setting in _LISTS else value
        seen.add(kind)
    if {Kind.STAGE, Kind.FINALS} <= seen:
        mistakes.append((CONTESTS, _("finals are played in stages or ranked by ratings; choose one")))
    return Contests(settings, origins)


_LISTS = frozenset({"stages", "evaluations"})

_Found = list[tuple[str, str, Any]]
"""Settings with the word that each comes from, and their values."""


def _settings_of(kind: Kind, words: dict[str, Any], again: bool) -> tuple[_Found, list[Mistake]]:
    """Return one contest's settings, and its mistakes by word. `again`: there was one of its kind before."""
    if kind is Kind.EVALUATION:
        return [("evaluations", str(words.get("name", "")), words)], []
    if again and kind is not Kind.STAGE:
        return [], [("", _("there is a %(kind)s already", kind=kind))]
    own = {} if again else SETTINGS[kind]
    known = ("kind", *own, *(STAGE_WORDS if kind is Kind.STAGE else ()))
    wrong = [(word, unknown(word, known)) for word in words if word not in known]
    if kind in REQUIRED and REQUIRED[kind] not in words:
        wrong.append((REQUIRED[kind], _("this is required")))
    formats = FORMATS.get(kind, ())
    if formats and words.get("format", formats[0]) not in formats:
        del words["format"]
        wrong.append(("format", _("choose one of %(all)s", all=", ".join(formats))))
    found: _Found = [(setting, word, words[word]) for word, setting in own.items() if word in words]
    if kind is Kind.LADDER:
        found.append(("ladder", "", True))
    elif kind is Kind.GATE and not found:
        found.append(("challenge_games", "", TERMS["challenge_games"].default))
    elif kind is Kind.STAGE:
        found.append(("finals", "", FinalsFormat.STAGES.value))
        if "format" in words:
            found.append(("stages", "", _line_of(words)))
    return found, wrong


def contests_of(season: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
    """Return the contests of a season with these settings, each as its words; None for a word that is not needed."""

    def words(kind: Kind) -> dict[str, Any]:
        return {word: season[name] for word, name in SETTINGS[kind].items()}

    played = {Kind.LADDER: "ladder", Kind.PANEL: "panel", Kind.GATE: "challenge_games"}
    found = [(kind, words(kind)) for kind, setting in played.items() if season[setting]]
    for one in season["evaluations"]:
        values = {info.alias or key: getattr(one, key) for key, info in DeclaredEvaluation.model_fields.items()}
        found.append((Kind.EVALUATION, {word: value for word, value in values.items() if value not in (None, [])}))
    if season["finals"] is FinalsFormat.STAGES:
        stages = [_words_of(line) for line in season["stages"] or ()]
        found += ((Kind.STAGE, one | (words(Kind.STAGE) if one is stages[0] else {})) for one in stages)
    elif season["finals"] is not FinalsFormat.NONE:
        found.append((Kind.FINALS, words(Kind.FINALS)))
    return found
