"""The stages of a season's finals, as an organiser declares them: each is a line such as `swiss rounds=50 keep=100`.

The first word is the format. Then come, in any order: `rounds` (of a Swiss), `matches` (of a pair; of a Swiss, in a
round), `keep` (how many advance; left out in the last stage, which has a winner), `further` (the most further matches
between the two at the cut, or between two that are level in a knock-out), `ties` (what breaks them, joined by `+`) and
`third-place` (of a knock-out).

This module is pure, as `league.terms` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deadheat.engine.figures import plural
from deadheat.league.pairing.bracket import rounds_of
from deadheat.league.pairing.figures import NEWEST, choice_faults, named
from deadheat.league.pairing.tournament import Form
from deadheat.league.states import EvaluationFormat
from deadheat.league.terms import STAGE

MOST = {"rounds": 200, "matches": 1000, "keep": 10_000, "further": 2000}
"""The largest value of each number."""

WORDS = {
    EvaluationFormat.SWISS: "Swiss",
    EvaluationFormat.ROUND_ROBIN: "round robin",
    EvaluationFormat.KNOCKOUT: "knock-out",
}


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

    def form(self, players: int, matches: int, rules: int = NEWEST) -> Form:
        """Return the tournament's form for that many players; `matches` per pair, in whole turns."""
        rounds = self.rounds or (
            rounds_of(players) if self.format is EvaluationFormat.KNOCKOUT else players - 1 + players % 2
        )
        further = self.further // matches
        return Form(self.format, rounds, matches, self.keep, further, self.third_place, rules, self.tie_breaks)

    @property
    def words(self) -> str:
        """The line as people read it."""
        said = [WORDS[self.format] + (f" of {plural(self.rounds, 'round')}" if self.rounds else "")]
        said.append(f"{plural(self.matches, 'match', 'matches')} per pair")
        if self.further:
            knockout = self.format is EvaluationFormat.KNOCKOUT
            level = "if two are level" if knockout else f"if places {self.keep} and {self.keep + 1} are close"
            said.append(f"up to {self.further} more {level}")
        if self.third_place:
            said.append("with a match for third place")
        if self.tie_breaks:
            said.append(f"ties by {named(self.tie_breaks)}")
        said.append(f"{self.keep} advance" if self.keep > 1 else "one wins")
        return ", ".join(said)


def stages(declared: Sequence[str] | None) -> list[Stage]:
    """Read the lines of stages; each matches `STAGE`."""
    return [_stage(line) for line in declared or ()]


def _stage(line: str) -> Stage:
    format_, *words = line.split()
    given = dict(word.split("=") for word in words if "=" in word)
    ties = given.pop("ties", None)
    return Stage(
        EvaluationFormat(format_),
        third_place="third-place" in words,
        tie_breaks=None if ties is None else tuple(ties.split("+")),
        **{name: int(value) for name, value in given.items()},
    )


def stage_faults(declared: Sequence[str]) -> Iterator[str]:
    """Return why finals cannot be played in these stages, as ends of sentences."""
    for number, line in enumerate(declared, 1):
        if not re.fullmatch(STAGE, line):
            yield f'number {number} is not like "round-robin matches=6 keep=10"'
            return
        for name, most in MOST.items():
            if any(int(found) > most for found in re.findall(rf"{name}=(\d+)", line)):
                yield f"number {number}: {name} is at most {most}"
    found = stages(declared)
    for number, stage in enumerate(found, 1):
        yield from (f"number {number}: {fault}" for fault in _faults(stage, is_last=number == len(found)))
    kept = [stage.keep for stage in found]
    if any(later >= earlier for earlier, later in pairwise(kept)):
        yield "each stage must keep fewer than the one before"


def _faults(stage: Stage, *, is_last: bool) -> Iterator[str]:
    knockout = stage.format is EvaluationFormat.KNOCKOUT
    if (stage.format is EvaluationFormat.SWISS) != (stage.rounds is not None):
        yield "a Swiss needs rounds" if stage.rounds is None else "only a Swiss has rounds"
    if stage.third_place and not knockout:
        yield "only a knock-out has a match for third place"
    yield from choice_faults(stage.format, stage.tie_breaks or ())
    if is_last and stage.keep > 1:
        yield "the last stage has a winner; leave keep out"
    if knockout and not is_last:
        yield "a knock-out comes last, because it ends with a winner"
    elif not is_last and stage.keep == 1:
        yield "it needs keep: how many advance"
    if stage.further and stage.matches % 2 and not knockout:
        yield "with further matches, matches must be even, so that both sides count equally"
    if 0 < stage.further < stage.matches:
        yield "further must be at least matches, because that many are played at a time"
