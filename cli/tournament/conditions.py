"""A gate: a panel of opponents and conditions that a bot must meet against them, from a TOML file.

    panel = ["panel/*", "house:greedy"]     # bots; paths are relative to this file
    games = 40                              # against each of them

    [[condition]]
    no_loss = "rush-*"                      # labels of the panel, with * and ?

    [[condition]]
    not_worse_than = "releases/12"          # another bot; it plays the same dice against each of these
    against = ["*"]

    [[condition]]
    no_fault_in = 200                       # games

`not_worse_than` asks one question about each opponent: does the bot score less against it than the other bot does? Both
play the same deals against the same opponent, so the differences of their points are compared deal by deal. Under the
hypothesis that the bot is no worse, each difference is as likely to have the other sign (the exact sign-flip test,
one-sided). With n opponents, each answer would be wrong in one of twenty cases; Holm's correction keeps the chance that
any answer is wrong at 5 % in all.

The condition must be able to fail: a bot that loses every game differs only in the pairs in which the other one took
points, so there must be enough of these against somebody. A fault is never "not worse", whatever the points say.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from deadheat.cli.local.bots import HOUSE
from deadheat.cli.local.recorded import RECORDED
from deadheat.cli.tournament.field import shared_name
from deadheat.cli.tournament.standings import Standings
from deadheat.engine.figures import counted
from deadheat.league.complaints import plainly

LEVEL = 0.05
"""The probability that a gate refuses a bot that is not worse than the other one against anybody."""

RULE_OF_THREE = 0.95

Patterns = Annotated[list[str], Field(min_length=1)]
_STRICT = ConfigDict(extra="forbid", frozen=True)


class BadGate(Exception):
    """The file is not a valid gate; the text is a sentence."""


class Condition(BaseModel):
    """One condition; exactly one of its three kinds is given."""

    model_config = _STRICT
    no_loss: str | Patterns | None = None
    not_worse_than: str | None = None
    against: str | Patterns = "*"
    no_fault_in: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Condition:
        if sum(kind is not None for kind in (self.no_loss, self.not_worse_than, self.no_fault_in)) != 1:
            raise ValueError("a condition is one of no_loss, not_worse_than and no_fault_in")
        if self.not_worse_than is None and self.against != "*":
            raise ValueError("against belongs to not_worse_than")
        return self


class Gate(BaseModel):
    """The content of a gate's file."""

    model_config = _STRICT
    panel: Patterns
    games: Annotated[int, Field(ge=2, le=100_000)] = 40
    condition: Annotated[list[Condition], Field(min_length=1)]

    @property
    def references(self) -> list[str]:
        """The bots with which candidates are compared, each once."""
        return list(dict.fromkeys(c.not_worse_than for c in self.condition if c.not_worse_than is not None))


def read(file: Path) -> Gate:
    """Read a gate. Its bots' paths, relative to the file, then lead there from the current folder. Raises BadGate."""
    try:
        gate = TypeAdapter(Gate).validate_python(tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadGate(f"cannot read {file}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise BadGate(f"{file}: {_where(first['loc'])}{plainly(first)}") from error
    except ValueError as error:
        raise BadGate(f"{file} is not TOML: {error}") from error
    panel = list(dict.fromkeys(name for given in gate.panel for name in _seen_from_here(file, given)))
    conditions = [
        c if c.not_worse_than is None else c.model_copy(update={"not_worse_than": _one(file, c.not_worse_than)})
        for c in gate.condition
    ]
    return gate.model_copy(update={"panel": panel, "condition": conditions})


def _where(location: Sequence[int | str]) -> str:
    """Name a field of a gate's file, counting conditions from 1. Deeper parts only name the possible types."""
    words: list[str] = []
    for part in location[:3]:
        words[-1:] = [f"{words[-1]} {part + 1}"] if isinstance(part, int) else [*words[-1:], part]
    return f"{', '.join(words)}: " if words else ""


def _one(file: Path, given: str) -> str:
    found = _seen_from_here(file, given)
    if len(found) != 1:
        raise BadGate(f"{file}: not_worse_than = {given!r} stands for {len(found)} bots instead of one")
    return found[0]


def _seen_from_here(file: Path, given: str) -> list[str]:
    if given.startswith((HOUSE, RECORDED)):
        return [given]
    if not any(mark in given for mark in "*?["):
        return [os.path.normpath(file.parent / given)]
    found = sorted(os.path.normpath(path) for path in file.parent.glob(given))
    if not found:
        raise BadGate(f"{file}: nothing is called {given}")
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a bot meets a condition, and a sentence with the numbers."""

    met: bool
    sentence: str


def judge(
    gate: Gate, standings: Standings, candidate: int, panel: Sequence[int], references: Mapping[str, int]
) -> list[Verdict]:
    """Return a verdict on each condition. `references`: the numbers of bots by their names in the gate."""
    verdicts = []
    for condition in gate.condition:
        if condition.no_loss is not None:
            verdicts.append(_no_loss(standings, candidate, _named(standings, panel, condition.no_loss)))
        elif condition.no_fault_in is not None:
            verdicts.append(_no_fault(standings, candidate, condition.no_fault_in))
        else:
            assert condition.not_worse_than is not None
            reference = references[condition.not_worse_than]
            against = [bot for bot in _named(standings, panel, condition.against) if bot != reference]
            verdicts.append(_not_worse(standings, candidate, reference, against))
    return verdicts


def unmatched(gate: Gate, labels: Sequence[str]) -> Iterator[str]:
    """Yield the patterns that match nobody on the panel: a condition about nobody would always be met."""
    for condition in gate.condition:
        for pattern in _patterns(condition.no_loss or condition.against):
            if not any(_fits(label, pattern) for label in labels):
                yield pattern


def most_compared(gate: Gate, labels: Sequence[str]) -> int:
    """Return the most opponents for which one condition compares the bot with another; 0 if no condition compares."""
    asked = [_patterns(one.against) for one in gate.condition if one.not_worse_than is not None]
    return max((sum(any(_fits(label, p) for p in patterns) for label in labels) for patterns in asked), default=0)


def pairs_needed(opponents: int) -> int:
    """Return how many pairs of games with fewer points, against one of `opponents`, show a difference at 95 %."""
    return math.floor(math.log2(opponents / LEVEL)) + 1


def games_needed(opponents: int) -> int:
    """Return the fewest games against each of so many opponents: the other bot may score in only half of the pairs."""
    return 4 * pairs_needed(opponents)


def _patterns(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _named(standings: Standings, panel: Sequence[int], given: str | list[str]) -> list[int]:
    return [bot for bot in panel if any(_fits(standings.labels[bot], pattern) for pattern in _patterns(given))]


def _fits(label: str, pattern: str) -> bool:
    """Return whether a pattern matches a bot, by its label or by the name that it shares with others."""
    return fnmatchcase(label, pattern) or fnmatchcase(shared_name(label), pattern)


def _no_loss(standings: Standings, candidate: int, against: Sequence[int]) -> Verdict:
    names = ", ".join(standings.labels[bot] for bot in against)
    won, drawn, lost = standings.total(candidate, against)
    games = won + drawn + lost
    if not games:
        return Verdict(False, f"no loss to {names}: no game was played")
    if not lost:
        rate = 100 * (1 - (1 - RULE_OF_THREE) ** (1 / games))
        bound = f"at 95 %, it loses fewer than {rate:.1f} % of them"
        return Verdict(True, f"no loss to {names} in {counted(games, 'game')} ({bound})")
    losses = {standings.labels[bot]: standings.score(candidate, bot)[2] for bot in against}
    to = ", ".join(f"{label} {count}" for label, count in losses.items() if count)
    return Verdict(False, f"no loss to {names}: it lost {lost} of {counted(games, 'game')} ({to})")


def _no_fault(standings: Standings, candidate: int, least: int) -> Verdict:
    seen = standings.seen[candidate]
    count = sum(seen.faults.values())
    if count:
        kinds = ", ".join(f"{n} x {what}" for what, n in sorted(seen.faults.items()))
        return Verdict(False, f"no fault in {least} games: {counted(count, 'fault')} in {seen.games} ({kinds})")
    if seen.games < least:
        return Verdict(False, f"no fault in {least} games: none in {seen.games}, which are too few")
    return Verdict(True, f"no fault in {counted(seen.games, 'game')}")


def _not_worse(standings: Standings, candidate: int, reference: int, against: Sequence[int]) -> Verdict:
    than = f"not worse than {standings.labels[reference]}"
    compared = {bot: _compared(standings, candidate, reference, bot) for bot in against}
    if not compared or not all(compared.values()):
        return Verdict(False, f"{than}: not every opponent has been played by both")
    if faults := _faults(standings, candidate, against):
        return Verdict(False, f"{than}: it failed in {counted(faults, 'game')} against these, which is always worse")
    needed = pairs_needed(len(compared))
    unshown = {bot for bot, pairs in compared.items() if sum(others > 0 for _, others in pairs) < needed}
    if len(unshown) == len(compared):
        why = f"{standings.labels[reference]} took points from nobody in {needed} pairs of games or more"
        return Verdict(False, f"{than}: not enough games. {why}, so losing every game would not show at 95 %")
    differences = {bot: [own - others for own, others in pairs] for bot, pairs in compared.items()}
    values = dict(zip(compared, holm([sign_flip(found) for found in differences.values()]), strict=True))
    shown = []
    for bot, found in differences.items():
        change = 25 * sum(found) / len(found)  # half points of two games, as a percentage of a point
        value = "hardly any to lose" if bot in unshown and values[bot] >= LEVEL else f"p {values[bot]:.3f}"
        shown.append(f"{standings.labels[bot]} {change:+.1f} points of 100 ({value})")
    pairs = counted(min(map(len, compared.values())), "pair")
    asked = f"against {counted(len(compared), 'opponent')}, at least {pairs} of games each"
    worse = [standings.labels[bot] for bot, value in values.items() if value < LEVEL]
    verdict = f"worse against {', '.join(worse)}" if worse else "met"
    return Verdict(not worse, f"{than} at 95 %, {asked}: {verdict}. " + "; ".join(shown))


def _compared(standings: Standings, candidate: int, reference: int, opponent: int) -> list[tuple[int, int]]:
    """Return both bots' half points against an opponent, in each pair of games with dice that both have played."""
    own, others = (standings.deal_points.get((bot, opponent), {}) for bot in (candidate, reference))
    return [(own[group], others[group]) for group in own.keys() & others.keys()]


def _faults(standings: Standings, candidate: int, against: Sequence[int]) -> int:
    """Return the number of games against these opponents in which a bot failed. Such games do not count."""
    label, others = standings.labels[candidate], {standings.labels[bot] for bot in against}
    return sum(
        game.players[fault.seat] == label
        for game in standings.games.values()
        if others.intersection(game.players)
        for fault in game.faults
    )


def sign_flip(differences: Sequence[int]) -> float:
    """Return the probability of a sum at most as high as that of these differences if every sign were random."""
    sizes = [abs(difference) for difference in differences if difference]
    total = sum(sizes)
    chances = np.zeros(2 * total + 1)
    chances[total] = 1.0  # the chance of each sum, from -total on
    for size in sizes:
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2  # no chance reaches the ends earlier
    return min(1.0, float(np.sum(chances[: total + sum(differences) + 1])))


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method for their number, in the same order."""
    corrected, most = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        most = max(most, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = most
    return corrected
