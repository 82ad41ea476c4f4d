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
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from deadheat.engine.language import _
from deadheat.league.complaints import plainly
from deadheat.league.states import EvaluationFormat, FinalsFormat
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

REQUIRED = {Kind.PANEL: "against", Kind.FINALS: "format"}

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

_Number = Annotated[int, Field(ge=1, le=99_999)]


class _Stage(BaseModel, extra="forbid"):
    """A stage as declared here; `line` is the form in which a season stores it (`league.pairing.stages`)."""

    format: EvaluationFormat
    rounds: _Number | None = None
    matches: _Number | None = None
    keep: _Number | None = None
    further: Annotated[int, Field(ge=0, le=99_999)] = 0
    tie_breaks: Annotated[list[Annotated[str, StringConstraints(pattern=r"^[a-z_]+$")]], Field(min_length=1)] | None = (
        None
    )
    third_place: bool = False

    @property
    def line(self) -> str:
        numbers = ((name, getattr(self, name)) for name in ("rounds", "matches", "keep", "further"))
        words = [f"{name}={value}" for name, value in numbers if value]
        ties = [f"ties={'+'.join(self.tie_breaks)}"] if self.tie_breaks else []
        return " ".join([self.format, *words, *ties, *(["third-place"] if self.third_place else [])])


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
            about = re.match(r"([a-z_]+): ", why)
            word, why = (about[1], why.removeprefix(about[0])) if about else ("", why)
        return f"{CONTESTS}.{number}{word and '.'}{word}", why


def _one_of(origins: Sequence[tuple[int, str]], why: str) -> tuple[int, str]:
    """Return the contest that a mistake names by its place in a list or its name, and the rest of the words."""
    for place, (number, name) in enumerate(origins, 1):
        for start in (f"{name}: ", f"number {place}, ", _("number %(number)s: %(fault)s", number=place, fault="")):
            if why.startswith(start):
                return number, why.removeprefix(start)
    return origins[-1][0], why


def clause(sentence: str) -> str:
    """Return a sentence as the end of another."""
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")


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
    wrong: list[Mistake] = []
    if (needed := REQUIRED.get(kind, "kind")) not in {"kind", *words}:
        wrong.append((needed, _("this is required")))
    if kind is Kind.FINALS and words.get("format") in {FinalsFormat.NONE, FinalsFormat.STAGES}:
        wrong.append(("format", _("choose one of %(all)s", all="swiss, round-robin")))
    found: _Found = [("ladder", "", True)] if kind is Kind.LADDER else []
    found += ((setting, word, words.pop(word)) for word, setting in own.items() if word in words)
    if kind is Kind.GATE and not found:
        found = [("challenge_games", "", TERMS["challenge_games"].default)]
    if kind is not Kind.STAGE:
        return found, wrong + [(word, unknown(word, ["kind", *own])) for word in words]
    try:
        line = _Stage.model_validate_json(json.dumps(words, default=str), strict=True).line
    except ValidationError as error:
        known = ("kind", *_Stage.model_fields, *own)
        for one in error.errors(include_url=False):
            word = str(one["loc"][0])
            wrong.append((word, clause(plainly(one)) if word in known else unknown(word, known)))
        line = EvaluationFormat.SWISS.value  # so that the places of later stages in the list are right
    return [*found, ("finals", "", FinalsFormat.STAGES.value), ("stages", "", line)], wrong


def contests_of(season: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
    """Return the contests of a season with these settings, each as its words; None for a word that is not needed."""
    kinds = [
        (Kind.LADDER, season["ladder"]),
        (Kind.PANEL, season["panel"]),
        (Kind.GATE, season["challenge_games"]),
        (Kind.FINALS, season["finals"] not in {FinalsFormat.NONE, FinalsFormat.STAGES}),
    ]
    found = [
        (kind, {word: season[name] for word, name in SETTINGS[kind].items()}) for kind, is_played in kinds if is_played
    ]
    for one in season["evaluations"]:
        values = {info.alias or key: getattr(one, key) for key, info in DeclaredEvaluation.model_fields.items()}
        found.append((Kind.EVALUATION, {word: value for word, value in values.items() if value not in (None, [])}))
    lines = season["stages"] if season["finals"] is FinalsFormat.STAGES else None
    for number, line in enumerate(lines or ()):
        first = {} if number else {word: season[name] for word, name in _OF_FINALS.items()}
        found.append((Kind.STAGE, _words_of(line) | first))
    return sorted(found, key=lambda one: tuple(Kind).index(one[0]))
