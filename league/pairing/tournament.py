"""A tournament of any format, from its draw to its places.

Everything is a pure function of the seeds, the remaining players and the results, so anybody can recompute the whole
course. Each format is a module with its `Rules`: `swiss`, `round_robin`, `knockout`; `formats` lists them.

*Scores.* Points of matches: win 1, draw 1/2, loss and own failure 0; at larger tables `league.pairing.rounds` has the
points of a match. Matches that the service failed to play give nobody points, so nobody gains by causing a failure.
With two players, all points are multiples of a half, and all figures of a quarter, so floats hold them exactly. Larger
tables share points in thirds and fifths, so figures are rounded before they are compared.

*Stages.* A tournament may be a stage, from which the first `keep` advance. If the last one in and the first one out are
not apart at the 5 % level (`league.pairing.evidence`), these two meet again until they are, or at most `further` times.
Then the one with more points advances, counting the stage's rounds and these further matches; if their points are
equal, the one that is higher in the standings without them. Nobody else's place depends on further matches. Players
that were taken out rank behind everybody else.

The test is about two players in one stage. The results determine which two, but these are the closest at the cut, so
their rounds show a difference less often, not more often, than those of two players named beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deadheat.engine.language import N_, _, gettext
from deadheat.league.pairing.evidence import apart, comparisons
from deadheat.league.pairing.figures import CHOICE, DIGITS, NEWEST, Figure, Meeting, points
from deadheat.league.pairing.seating import around

if TYPE_CHECKING:
    from deadheat.league.pairing.formats import EvaluationFormat

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


@dataclass(frozen=True, slots=True)
class Placed:
    """A player in the standings. `seed` and `place` are from 1.

    `figures`: the points, then the tie-breaks of its format, by the names of `league.pairing.figures`.
    """

    player: int
    seed: int
    place: int
    figures: Mapping[str, float]

    @property
    def points(self) -> float:
        """The sum of the points taken."""
        return self.figures["points"]


@dataclass(frozen=True, slots=True)
class Tie:
    """A place in the bracket where two meet, or a table. `round` and `slot` count from 1. The
    final is slot 1 of the last round, and the match for the third place slot 2.

    `players`: None until they are known; at a table by seat, and none until all are known. The second of two stays None
    if the first has a bye (`is_bye`); at tables, who has one is alone. `points`: theirs. `times`: how often they have
    met here. `advancing`: the best first; None: not decided.
    """

    round: int
    slot: int
    players: tuple[int | None, ...] = ()
    points: tuple[float, ...] = ()
    times: int = 0
    advancing: tuple[int, ...] | None = None
    is_bye: bool = False

    @property
    def winner(self) -> int | None:
        """The first of those that advance, once it is decided."""
        return self.advancing[0] if self.advancing else None

    @property
    def loser(self) -> int | None:
        """The other one of two, once it is decided; None for a bye."""
        first, second = self.players
        return None if self.winner is None or self.is_bye else second if self.winner == first else first


class Rules:
    """The rules of a format. What a format does not say itself is as in a round robin."""

    words: str
    """What it is called in a sentence."""

    usual: tuple[Figure, ...] = ()
    """What breaks ties, in order, unless an organiser chose others."""

    has_rounds = False
    """Whether an organiser says how many rounds it has; if not, `no_rounds` says so."""

    no_rounds = N_("only a Swiss has rounds")

    has_winner = False
    """Whether a bracket decides the places. So it can only be the last stage, and has no tie-breaks."""

    bye_wins = False
    """Whether a bye is worth as much as a won round; else everybody sits out equally often, and it is worth nothing."""

    def rounds_in(self, players: int, chosen: int | None, seats: int) -> int:
        """Return the number of rounds: as many as a knock-out of these players takes, unless others were chosen."""
        return chosen or rounds_of(players)

    def draw(
        self, form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
    ) -> list[Drawn]:
        """Draw the rounds that follow, once all earlier ones are settled: none after the last. See `next_rounds`."""
        raise NotImplementedError

    def pools(self, form: Form, players: int) -> list[tuple[int, int]]:
        """Return the tables that are played at a time, one after another, as pairs of how often and how many."""
        raise NotImplementedError

    def ties(self, form: Form, seeded: Sequence[int], played: Sequence[Meeting]) -> list[Tie]:
        """Return the bracket, round by round, with the results so far; without one, nothing."""
        return []

    def places(self, form: Form, seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
        """Return all players after the rounds, without further matches at a cut, the best first."""
        breaks = self.figures(form.tie_breaks)
        return placed(breaks, seeded, [meeting for meeting in played if meeting.round <= form.rounds])

    def figures(self, chosen: Sequence[str] | None = None) -> tuple[Figure, ...]:
        """Return the figures in the order in which they decide: the chosen ones, or the usual ones."""
        return self.usual if chosen is None else tuple(CHOICE[name] for name in chosen)

    def faults(self, rounds: int | None, tie_breaks: Sequence[str] | None) -> Iterator[str]:
        """Yield the reasons why it cannot be played so, as ends of sentences."""
        if rounds is not None and not self.has_rounds:
            yield gettext(self.no_rounds)
        if tie_breaks and self.has_winner:
            yield _("a knock-out has no tie-breaks")
        for name in tie_breaks or ():
            if name not in CHOICE:
                yield _("there is no tie-break %(name)s; choose from %(all)s", name=name, all=", ".join(CHOICE))
        if len({*(tie_breaks or ())}) < len(tie_breaks or ()):
            yield _("list each tie-break only once")


def rounds_of(players: int) -> int:
    """Return the number of rounds that halve the field down to one."""
    return (players - 1).bit_length()


def next_rounds(form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]) -> list[Drawn]:
    """Draw the next rounds, once all earlier ones are settled: one, or all of a round robin. The list is empty if the
    tournament is over.

    `seeded`: all players, the best seed first; `present`: those that were not taken out.
    """
    drawn = form.format.rules.draw(form, seeded, present, played)
    again = None if drawn or form.format.rules.has_winner else _at_the_cut(form, seeded, present, played)
    return [([again], ())] if again else drawn


def standings(form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]) -> list[Placed]:
    """Return all players, the best first."""
    rows = form.format.rules.places(form, seeded, played)
    if form.keep is None or form.format.rules.has_winner:
        return rows
    order = sorted(rows, key=lambda row: row.player not in present)
    two = _cut(form, order, present)
    if two is not None:
        above, below = two
        lead = above.points - below.points + sum(_leads(above.player, below.player, _further(form, played)))
        if lead < 0:
            order[form.keep - 1], order[form.keep] = below, above
    return [replace(row, place=place) for place, row in enumerate(order, 1)]


def _further(form: Form, played: Sequence[Meeting]) -> list[Meeting]:
    return [meeting for meeting in played if meeting.round > form.rounds]


def _cut(form: Form, order: Sequence[Placed], present: AbstractSet[int]) -> tuple[Placed, Placed] | None:
    """Return, among the remaining players, the last who advances and the first who does not."""
    there = [row for row in order if row.player in present]
    return (there[form.keep - 1], there[form.keep]) if form.keep is not None and len(there) > form.keep else None


def _at_the_cut(
    form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
) -> tuple[int, ...] | None:
    """Return the table where the two at the cut meet again, in turns; None if they are apart or met often enough."""
    order = form.format.rules.places(form, seeded, played)
    two = _cut(form, order, present) if form.further and len(present) >= form.seats else None
    if two is None:
        return None
    first, other = two[0].player, two[1].player
    further = _further(form, played)
    times = len(_leads(first, other, further))
    rounds = [meeting for meeting in played if meeting.round <= form.rounds]
    theirs = [meeting for meeting in further if {first, other} <= {*meeting.players}]
    shares = comparisons(first, other, [*rounds, *theirs], form.matches, present, form.rules)
    if times >= form.further or apart(shares, form.rules):
        return None
    table = around([placed.player for placed in order if placed.player in present], first, form.seats)
    return table if times % 2 == 0 else table[::-1]


def _leads(first: int, other: int, played: Sequence[Meeting]) -> list[float]:
    """Return the first player's lead in points in each meeting of the two."""
    points = (dict(zip(meeting.players, meeting.points, strict=True)) for meeting in played)
    return [taken[first] - taken[other] for taken in points if first in taken and other in taken]


def placed(ties: Sequence[Figure], seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
    """Return all players, the best first: by points, then by the figures that break ties, then by seed."""
    by_name = {"points": points(played)} | {tie.name: tie.of(played) for tie in ties if tie.of is not None}
    figured = [{name: round(figure[player], DIGITS) for name, figure in by_name.items()} for player in seeded]
    order = sorted(range(len(seeded)), key=lambda row: [-figure for figure in figured[row].values()])  # stable: by seed
    return [Placed(seeded[row], row + 1, place, figured[row]) for place, row in enumerate(order, 1)]
