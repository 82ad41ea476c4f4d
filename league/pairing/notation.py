"""The contests of a season's file: one notation for everything that bots play against each other.

Each table of `[[contests]]` has a `kind`. The other words mean the same for every kind that has them. Together the
tables are the whole list: what is not listed is not played. They are translated to the season's settings before these
are checked, and mistakes in the settings are translated back to the contest that caused them.

A season stores each stage of its finals as a line, such as `swiss rounds=50 keep=100`: the format; then, in any order,
`rounds` (of a Swiss), `matches` (per pair; in a Swiss, per pair and round), `keep` (how many advance; omitted in the
last stage, which has a winner), `further` (the most further matches between the two at the cut, or between two that are
level in a knock-out), `ties` (the tie-breaks, joined by `+`) and `third-place` (of a knock-out).

This module is pure, as `league.terms` is.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise
from typing import Any

from deadheat.engine.figures import counted
from deadheat.engine.language import _, gettext
from deadheat.league.pairing.figures import NEWEST, named
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.tournament import Form
from deadheat.league.states import FinalsFormat
from deadheat.league.terms import STAGE, TERMS
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
    Kind.PANEL: {"against": "panel", "matches": "panel_games", "minimum": "panel_minimum", "test": "panel_test"},
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
    """Return a stage in the form that a season stores, which is checked like all settings."""
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
        """Return a mistake in a setting as one in its contest: `contests`, its number and, if known, the word."""
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
        translation, wrong = _settings_of(kind, words, kind in seen)
        mistakes += ((f"{CONTESTS}.{number}{word and '.'}{word}", why) for word, why in wrong)
        for setting, word, value in translation:
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
    given: _Found = [(setting, word, words[word]) for word, setting in own.items() if word in words]
    if kind is Kind.PANEL and "," in str(words.get("test", "")):
        given[-1] = ("panel_test", "test", [bound.strip() for bound in str(words["test"]).split(",")])
    if kind is Kind.LADDER:
        given.append(("ladder", "", True))
    elif kind is Kind.GATE and not given:
        given.append(("challenge_games", "", TERMS["challenge_games"].default))
    elif kind is Kind.STAGE:
        given.append(("finals", "", FinalsFormat.STAGES.value))
        if "format" in words:
            given.append(("stages", "", _line_of(words)))
    return given, wrong


def contests_of(season: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
    """Return the contests of a season with these settings, each as its words; None for a word that is not needed."""

    def words(kind: Kind) -> dict[str, Any]:
        values = {word: season[name] for word, name in SETTINGS[kind].items()}
        return values | ({"test": ",".join(values["test"])} if values.get("test") else {})

    played = {Kind.LADDER: "ladder", Kind.PANEL: "panel", Kind.GATE: "challenge_games"}
    contests = [(kind, words(kind)) for kind, setting in played.items() if season[setting]]
    for evaluation in season["evaluations"]:
        values = {info.alias or key: getattr(evaluation, key) for key, info in DeclaredEvaluation.model_fields.items()}
        contests.append((Kind.EVALUATION, {word: value for word, value in values.items() if value not in (None, [])}))
    if season["finals"] is FinalsFormat.STAGES:
        stages = [_words_of(line) for line in season["stages"] or ()]
        contests += ((Kind.STAGE, stage | (words(Kind.STAGE) if stage is stages[0] else {})) for stage in stages)
    elif season["finals"] is not FinalsFormat.NONE:
        contests.append((Kind.FINALS, words(Kind.FINALS)))
    return contests


MOST = {"rounds": 200, "matches": 1000, "keep": 10_000, "further": 2000}
"""The largest value of each option."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A parsed line. `further`: matches; `keep` 1 is the winner."""

    format: EvaluationFormat
    rounds: int | None = None
    matches: int = 2
    keep: int = 1
    further: int = 0
    third_place: bool = False
    tie_breaks: tuple[str, ...] | None = None

    def form(self, players: int, matches: int, rules: int = NEWEST, seats: int = 2) -> Form:
        """Return the tournament's form for that many players; `matches` per table, in whole turns."""
        rounds = self.format.rules.rounds_in(players, self.rounds, seats)
        further = self.further // matches
        return Form(self.format, rounds, matches, self.keep, further, self.third_place, rules, self.tie_breaks, seats)

    @property
    def words(self) -> str:
        """The line in words."""
        form = gettext(self.format.rules.words)
        parts = [_("%(form)s of %(rounds)s", form=form, rounds=counted(self.rounds, "round")) if self.rounds else form]
        parts.append(_("%(matches)s per meeting", matches=counted(self.matches, "match", "matches")))
        if self.further and self.format.rules.has_winner:
            parts.append(_("up to %(n)s more if two are level", n=self.further))
        elif self.further:
            level = _("up to %(n)s more if places %(keep)s and %(next)s are close")
            parts.append(level % {"n": self.further, "keep": self.keep, "next": self.keep + 1})
        if self.third_place:
            parts.append(_("with a match for third place"))
        if self.tie_breaks:
            parts.append(_("ties by %(names)s", names=named(self.tie_breaks)))
        parts.append(_("%(n)s advance", n=self.keep) if self.keep > 1 else _("one wins"))
        return ", ".join(parts)


def stages(declared: Sequence[str] | None) -> list[Stage]:
    """Parse the lines of stages; each matches `STAGE`."""
    parsed = []
    for words in map(_words_of, declared or ()):
        form, ties = EvaluationFormat(words.pop("format")), words.pop("tie_breaks", None)
        parsed.append(Stage(form, tie_breaks=None if ties is None else tuple(ties), **words))
    return parsed


def stage_faults(declared: Sequence[str], seats: int = 2) -> Iterator[str]:
    """Yield the reasons why finals cannot be played in these stages, as ends of sentences."""
    for number, line in enumerate(declared, 1):
        if not re.fullmatch(STAGE, line):
            yield _('number %(number)s is not like "round-robin matches=6 keep=10"', number=number)
            return
        for name, most in MOST.items():
            if any(int(count) > most for count in re.findall(rf"{name}=(\d+)", line)):
                yield _("number %(number)s: %(name)s is at most %(most)s", number=number, name=name, most=most)
    parsed = stages(declared)
    for number, stage in enumerate(parsed, 1):
        wrong = _faults(stage, seats, is_last=number == len(parsed))
        yield from (_("number %(number)s: %(fault)s", number=number, fault=fault) for fault in wrong)
    kept = [stage.keep for stage in parsed]
    if any(later >= earlier for earlier, later in pairwise(kept)):
        yield _("each stage must keep fewer than the one before")


def _faults(stage: Stage, seats: int, *, is_last: bool) -> Iterator[str]:
    knockout = stage.format.rules.has_winner
    if not is_last and stage.keep < seats and stage.keep > 1:
        yield _("“keep” must leave enough for a table of %(seats)s", seats=seats)
    yield from stage.format.rules.faults(stage.rounds, stage.tie_breaks)
    if stage.third_place and not knockout:
        yield _("only a knock-out has a match for third place")
    elif stage.third_place and seats > 2:
        yield _("the final table decides the third place; leave “third-place” out")
    if is_last and stage.keep > 1:
        yield _("the last stage has a winner; leave “keep” out")
    if knockout and not is_last:
        yield _("a knock-out comes last, because it ends with a winner")
    elif not is_last and stage.keep == 1:
        yield _("it needs “keep”: how many advance")
    if stage.further and stage.matches % 2 and not knockout and seats == 2:
        yield _("with further matches, “matches” must be even, so that both sides count equally")
    if 0 < stage.further < stage.matches:
        yield _("“further” must be at least “matches”, because that many are played at a time")
