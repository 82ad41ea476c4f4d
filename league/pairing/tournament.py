"""A tournament of any format, from its draw to its places.

Everything is a pure function of the seeds, the remaining players and the results, so anybody can recompute the whole
course: `league.pairing.contest` has the rules of a Swiss and the standings of a round robin, `league.pairing.bracket`
those of a knock-out. At larger tables, `league.pairing.blocks` draws a round robin, and `league.pairing.heats` has the
rules of a knock-out.

*Stages.* A tournament may be a stage, from which the first `keep` advance. If the last one in and the first one out are
not apart at the 5 % level (`league.pairing.lead`), these two meet again until they are, or at most `further` times.
Then the one with more points advances, counting the stage's rounds and these further matches; if their points are
equal, the one that is higher in the standings without them. Nobody else's place depends on further matches. Players
that were taken out rank behind everybody else. (A stage that began under version 1 or 2 of the rules keeps their test,
`league.pairing.evidence`.)

The test is about two players in one stage. The results determine which two, but these are the closest at the cut, so
their rounds show a difference less often, not more often, than those of two players named beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from deadheat.league.pairing.blocks import block_rounds
from deadheat.league.pairing.bracket import Tie, bracket, bracket_standings, next_ties, rounds_of
from deadheat.league.pairing.contest import Placed, draw, placed
from deadheat.league.pairing.evidence import APART, comparisons, evidence
from deadheat.league.pairing.figures import NEWEST, Meeting, figures
from deadheat.league.pairing.heats import heat_tables, heats
from deadheat.league.pairing.lead import are_apart, compare
from deadheat.league.pairing.rounds import berger
from deadheat.league.pairing.seating import around
from deadheat.league.states import EvaluationFormat

Drawn = tuple[list[tuple[int, ...]], tuple[int, ...]]
"""A drawn round: its tables, the best first, and the players with a bye."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a tournament. `matches`: per pair in a round. `keep`: how many advance; None: it is not a stage.

    `further`: the most further meetings of two players, at the cut of a stage or because they are level in a knock-out.
    `rules`: the version of the rules; `tie_breaks`: those chosen in place of theirs (`league.pairing.figures`).
    `seats`: of a table.
    """

    format: EvaluationFormat
    rounds: int
    matches: int
    keep: int | None = None
    further: int = 0
    third_place: bool = False
    rules: int = NEWEST
    tie_breaks: tuple[str, ...] | None = None
    seats: int = 2


INTERVAL_SINCE = 3
"""The version of the rules since which an interval tells the two at a cut apart."""


def rounds_in(format_: EvaluationFormat, players: int, chosen: int | None = None, seats: int = 2) -> int:
    """Return the number of rounds: of a Swiss those chosen, or as many as a knock-out of these players takes."""
    if format_ is EvaluationFormat.ROUND_ROBIN:
        return max(0, players - 1 + players % 2) if seats == 2 else len(block_rounds(players, seats))
    if format_ is EvaluationFormat.KNOCKOUT and seats > 2:
        return len(heat_tables(players, seats))
    return chosen or rounds_of(players)


def next_rounds(form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]) -> list[Drawn]:
    """Draw the next rounds, once all earlier ones are settled: one, or all of a round robin. The list is empty if the
    tournament is over.

    `seeded`: all players, the best seed first; `present`: those that were not taken out.
    """
    last = max((one.round for one in played), default=0)
    if form.format is EvaluationFormat.KNOCKOUT:
        tables = next_ties(ties(form, seeded, played))
        return [(tables, ())] if tables else []
    if form.format is EvaluationFormat.ROUND_ROBIN and last == 0:
        if form.seats > 2:
            rounds = block_rounds(len(seeded), form.seats)
            return [([tuple(seeded[place] for place in table) for table in tables], ()) for tables in rounds]
        return [([*one.pairs], () if one.bye is None else (one.bye,)) for one in berger(list(seeded))]
    if form.format is EvaluationFormat.SWISS and last < form.rounds and len(present) >= form.seats:
        return [draw(seeded, present, played, form.seats)]
    again = _at_the_cut(form, seeded, present, played)
    return [([again], ())] if again else []


def ties(form: Form, seeded: Sequence[int], played: Sequence[Meeting]) -> list[Tie]:
    """Return the bracket of a knock-out, round by round, with the results so far."""
    if form.seats > 2:
        return heats(seeded, played, form.seats, form.further)
    return bracket(seeded, played, form.further, form.third_place)


def standings(form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]) -> list[Placed]:
    """Return all players, the best first."""
    if form.format is EvaluationFormat.KNOCKOUT:
        return bracket_standings(seeded, ties(form, seeded, played))
    found = _of_the_rounds(form, seeded, played)
    if form.keep is None:
        return found
    order = sorted(found, key=lambda one: one.player not in present)
    two = _cut(form, order, present)
    if two is not None:
        above, below = two
        lead = above.points - below.points + sum(_leads(above.player, below.player, _further(form, played)))
        if lead < 0:
            order[form.keep - 1], order[form.keep] = below, above
    return [replace(one, place=place) for place, one in enumerate(order, 1)]


def _of_the_rounds(form: Form, seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
    breaks = figures(form.format, form.tie_breaks)
    return placed(breaks, seeded, [one for one in played if one.round <= form.rounds])


def _further(form: Form, played: Sequence[Meeting]) -> list[Meeting]:
    return [one for one in played if one.round > form.rounds]


def _cut(form: Form, order: Sequence[Placed], present: AbstractSet[int]) -> tuple[Placed, Placed] | None:
    """Return, among the remaining players, the last who advances and the first who does not."""
    there = [one for one in order if one.player in present]
    return (there[form.keep - 1], there[form.keep]) if form.keep is not None and len(there) > form.keep else None


def _apart(form: Form, one: int, other: int, played: Sequence[Meeting], present: AbstractSet[int]) -> bool:
    if form.rules < INTERVAL_SINCE:
        return evidence(comparisons(one, other, played, form.matches, present, form.rules)) >= APART
    return are_apart(*compare(one, other, played, form.matches, present))


def _at_the_cut(
    form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
) -> tuple[int, ...] | None:
    """Return the two who meet again, taking turns at the first seat, with their neighbours at a larger table; or None
    if they are apart or have met often enough.
    """
    order = _of_the_rounds(form, seeded, played)
    two = _cut(form, order, present) if form.further and len(present) >= form.seats else None
    if two is None:
        return None
    one, other = two[0].player, two[1].player
    further = _further(form, played)
    times = len(_leads(one, other, further))
    rounds = [meeting for meeting in played if meeting.round <= form.rounds]
    theirs = [meeting for meeting in further if {one, other} <= {*meeting.players}]
    if times >= form.further or _apart(form, one, other, [*rounds, *theirs], present):
        return None
    table = around([placed.player for placed in order if placed.player in present], one, form.seats)
    return table if times % 2 == 0 else table[::-1]


def _leads(one: int, other: int, played: Sequence[Meeting]) -> list[float]:
    """Return the first player's lead in points in each meeting of the two."""
    points = (dict(zip(meeting.players, meeting.points, strict=True)) for meeting in played)
    return [taken[one] - taken[other] for taken in points if one in taken and other in taken]
