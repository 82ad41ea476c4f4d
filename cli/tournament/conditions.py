"""A gate: a panel of opponents and conditions that a bot must meet against them, from a TOML file.

    panel = ["panel/*", "house:greedy"]     # bots; paths are relative to this file
    games = 40                              # against each of them

    [[condition]]
    no_loss = "rush-*"                      # labels of the panel, with * and ?

    [[condition]]
    sprt = [-100, 0]                        # the bounds of a sequential test, as for `--sprt`
    against = "release-12"                  # labels of the panel

    [[condition]]
    no_fault_in = 200                       # games

`sprt` fails if the test (`league.sprt`, of all pairs of games with the same dice against these) rejects: in at most 5 %
of cases, if the bot is better by the second bound. So a gate with few games lets pass, but it needs as many as reject a
bot that loses all of them. Older files ask `not_worse_than` another bot. That bot joins the panel, and the test of
`OLD_BOUNDS` compares the two; as before, no fault is allowed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from deadheat.cli.console import note
from deadheat.cli.local.bots import HOUSE
from deadheat.cli.local.recorded import RECORDED
from deadheat.cli.tournament.beginning import label_of, shared_name
from deadheat.cli.tournament.standings import Standings
from deadheat.engine.figures import counted
from deadheat.league.complaints import plainly
from deadheat.league.sprt import Terms, test

OLD_BOUNDS = (-100.0, 0.0)
"""The bounds that take the place of `not_worse_than`, in normalised Elo."""

RULE_OF_THREE = 0.95

Patterns = Annotated[list[str], Field(min_length=1)]
Bounds = tuple[float, float]
_STRICT = ConfigDict(extra="forbid", frozen=True)


class BadGate(Exception):
    """The file is not a valid gate; the text is a sentence."""


class Condition(BaseModel):
    """One condition; exactly one of its kinds is given. `not_worse_than` is in older files only (`read_gate`)."""

    model_config = _STRICT
    no_loss: str | Patterns | None = None
    not_worse_than: str | None = None
    sprt: Bounds | None = None
    against: str | Patterns = "*"
    no_fault_in: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Condition:
        if sum(kind is not None for kind in (self.no_loss, self.not_worse_than, self.sprt, self.no_fault_in)) != 1:
            raise ValueError("a condition is one of no_loss, sprt and no_fault_in")
        if self.not_worse_than is None and self.sprt is None and self.against != "*":
            raise ValueError("against belongs to sprt")
        if self.sprt is not None:
            Terms(*self.sprt)
        return self


class Gate(BaseModel):
    """The content of a gate's file."""

    model_config = _STRICT
    panel: Patterns
    games: Annotated[int, Field(ge=2, le=100_000)] = 40
    condition: Annotated[list[Condition], Field(min_length=1)]


def read_gate(file: Path) -> Gate:
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
    panel = [name for given in gate.panel for name in _seen_from_here(file, given)]
    conditions = []
    for condition in gate.condition:
        if condition.not_worse_than is None:
            conditions.append(condition)
            continue
        others = _seen_from_here(file, condition.not_worse_than)
        panel += others
        labels = [label_of(name) for name in others]
        conditions += [Condition(sprt=OLD_BOUNDS, against=labels), Condition(no_fault_in=1)]
        note(f"not_worse_than now tests the bot against the other: sprt = [-100, 0], against = {labels}", "translated")
    return gate.model_copy(update={"panel": list(dict.fromkeys(panel)), "condition": conditions})


def _where(location: Sequence[int | str]) -> str:
    """Name a field of a gate's file, counting conditions from 1. Deeper parts only name the possible types."""
    words: list[str] = []
    for part in location[:3]:
        words[-1:] = [f"{words[-1]} {part + 1}"] if isinstance(part, int) else [*words[-1:], part]
    return f"{', '.join(words)}: " if words else ""


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


def judge(gate: Gate, standings: Standings, candidate: int, panel: Sequence[int]) -> list[Verdict]:
    verdicts = []
    for condition in gate.condition:
        if condition.no_loss is not None:
            verdicts.append(_no_loss(standings, candidate, _named(standings, panel, condition.no_loss)))
        elif condition.no_fault_in is not None:
            verdicts.append(_no_fault(standings, candidate, condition.no_fault_in))
        else:
            assert condition.sprt is not None
            verdicts.append(_sprt(standings, candidate, condition.sprt, _named(standings, panel, condition.against)))
    return verdicts


def unmatched(gate: Gate, labels: Sequence[str]) -> Iterator[str]:
    """Yield the patterns that match nobody on the panel: a condition about nobody would always be met."""
    for condition in gate.condition:
        for pattern in _patterns(condition.no_loss or condition.against):
            if not any(_fits(label, pattern) for label in labels):
                yield pattern


def _patterns(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _named(standings: Standings, panel: Sequence[int], given: str | list[str]) -> list[int]:
    return [bot for bot in panel if any(_fits(standings.labels[bot], pattern) for pattern in _patterns(given))]


def _fits(label: str, pattern: str) -> bool:
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
    losses = {standings.labels[bot]: standings.total(candidate, [bot])[2] for bot in against}
    to = ", ".join(f"{label} {count}" for label, count in losses.items() if count)
    return Verdict(False, f"no loss to {names}: it lost {lost} of {counted(games, 'game')} ({to})")


def _no_fault(standings: Standings, candidate: int, least: int) -> Verdict:
    seen, asked = standings.seen[candidate], f"no fault in {counted(least, 'game')}"
    count = sum(seen.faults.values())
    if count:
        kinds = ", ".join(f"{n} x {what}" for what, n in sorted(seen.faults.items()))
        return Verdict(False, f"{asked}: {counted(count, 'fault')} in {seen.games} ({kinds})")
    if seen.games < least:
        return Verdict(False, f"{asked}: none in {seen.games}, which are too few")
    return Verdict(True, f"no fault in {counted(seen.games, 'game')}")


def _sprt(standings: Standings, candidate: int, bounds: Bounds, against: Sequence[int]) -> Verdict:
    counts = standings.halves_of(candidate, against)
    state = test(counts, Terms(*bounds))
    names, pairs = ", ".join(standings.labels[bot] for bot in against), counted(sum(counts), "pair")
    said = f"the test {bounds[0]:g},{bounds[1]:g} against {names} does not reject: it"
    told = {"accept": "accepts", "reject": "rejects", "continue": "is undecided"}[state.verdict.value]
    met = sum(counts) > 0 and state.verdict.value != "reject"
    return Verdict(met, f"{said} {told} after {pairs} of games (LLR {state.llr:.2f})")


def can_reject(bounds: Bounds, pairs: int) -> bool:
    return test([pairs, 0, 0, 0, 0], Terms(*bounds)).verdict.value == "reject"
