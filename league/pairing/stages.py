"""The stages of a season's finals, as an organiser declares them: each is a line such as `swiss rounds=50 keep=100`.

The first word is the format. These follow in any order: `rounds` (of a Swiss), `matches` (per pair; in a Swiss, per
pair and round), `keep` (how many advance; omitted in the last stage, which has a winner), `further` (the most further
matches between the two at the cut, or between two that are level in a knock-out), `ties` (the tie-breaks, joined by
`+`) and `third-place` (of a knock-out).

This module is pure, as `league.terms` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deadheat.engine.figures import counted
from deadheat.engine.language import _, gettext
from deadheat.league.pairing.figures import NEWEST, named
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.tournament import Form
from deadheat.league.terms import STAGE

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
        said = [_("%(form)s of %(rounds)s", form=form, rounds=counted(self.rounds, "round")) if self.rounds else form]
        said.append(_("%(matches)s per meeting", matches=counted(self.matches, "match", "matches")))
        if self.further and self.format.rules.has_winner:
            said.append(_("up to %(n)s more if two are level", n=self.further))
        elif self.further:
            level = _("up to %(n)s more if places %(keep)s and %(next)s are close")
            said.append(level % {"n": self.further, "keep": self.keep, "next": self.keep + 1})
        if self.third_place:
            said.append(_("with a match for third place"))
        if self.tie_breaks:
            said.append(_("ties by %(names)s", names=named(self.tie_breaks)))
        said.append(_("%(n)s advance", n=self.keep) if self.keep > 1 else _("one wins"))
        return ", ".join(said)


def stages(declared: Sequence[str] | None) -> list[Stage]:
    """Parse the lines of stages; each matches `STAGE`."""
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


def stage_faults(declared: Sequence[str], seats: int = 2) -> Iterator[str]:
    """Yield the reasons why finals cannot be played in these stages, as ends of sentences."""
    for number, line in enumerate(declared, 1):
        if not re.fullmatch(STAGE, line):
            yield _('number %(number)s is not like "round-robin matches=6 keep=10"', number=number)
            return
        for name, most in MOST.items():
            if any(int(found) > most for found in re.findall(rf"{name}=(\d+)", line)):
                yield _("number %(number)s: %(name)s is at most %(most)s", number=number, name=name, most=most)
    found = stages(declared)
    for number, stage in enumerate(found, 1):
        wrong = _faults(stage, seats, is_last=number == len(found))
        yield from (_("number %(number)s: %(fault)s", number=number, fault=fault) for fault in wrong)
    kept = [stage.keep for stage in found]
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
