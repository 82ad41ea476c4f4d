"""The figures that break ties between players of an evaluation. Each is defined once.

Each format says which figures decide, in order, unless an organiser chose others (`CHOICE`). Higher values are better;
after the last figure, the better seed decides. Places, records, and the columns of the site and the terminal follow.

An evaluation keeps the version of the rules under which it began (`Form.rules`). So published rules never change: other
figures, or another order, are a new version, and new evaluations use the newest.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deadheat.engine.language import N_, _, gettext


class Meeting(NamedTuple):
    """A meeting of players in a round, in the order of their seats in the first match, and the points that each took.
    A player that sits alone has a bye.
    """

    round: int
    players: tuple[int, ...]
    points: tuple[float, ...]


Figured = Mapping[int, float]
"""A figure by player; it is 0 where nothing was counted."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that breaks ties. `name` is its field in `league.records.contests.EvaluationStanding`; `heading` and
    `meaning` are the site's, `short` is the terminal's. `of` computes it; if None, it comes from the bracket and
    decides nothing.
    """

    name: str
    heading: str
    short: str
    meaning: str
    of: Callable[[Sequence[Meeting]], Figured] | None = None


DIGITS = 6
"""Decimal places of figures that are compared: fewer than floats hold, and more than two different ones need to differ.
"""


def points(played: Sequence[Meeting]) -> Figured:
    """Return the score of each player."""
    totals: defaultdict[int, float] = defaultdict(float)
    for _round, players, taken in played:
        for player, its in zip(players, taken, strict=True):
            totals[player] += its
    return totals


def _rounds_won(played: Sequence[Meeting]) -> Figured:
    won: Counter[int] = Counter()
    for _round, players, points in played:
        taken = [round(its, DIGITS) for its in points]
        if len(players) > 1 and taken.count(max(taken)) == 1:
            won[players[taken.index(max(taken))]] += 1
    return won


def _early_points(played: Sequence[Meeting]) -> Figured:
    rounds = max((meeting.round for meeting in played), default=0)
    totals: defaultdict[int, float] = defaultdict(float)
    for number, players, taken in played:
        for player, its in zip(players, taken, strict=True):
            totals[player] += its * (rounds - number + 1)  # the rounds after which these points were part of the score
    return totals


def _of_opponents(of: Callable[[Sequence[Meeting]], Figured]) -> Callable[[Sequence[Meeting]], Figured]:
    """Return a figure that adds up another figure of the opponents, once for each round in which they met."""

    def summed(played: Sequence[Meeting]) -> Figured:
        theirs = of(played)
        totals: defaultdict[int, float] = defaultdict(float)
        for _round, players, _taken in played:
            together = sum(theirs[player] for player in players)
            for player in players:
                totals[player] += together - theirs[player]
        return totals

    return summed


def _sonneborn_berger(played: Sequence[Meeting]) -> Figured:
    scores = points(played)
    totals: defaultdict[int, float] = defaultdict(float)
    for _round, players, taken in played:
        together = sum(scores[player] for player in players)
        for player, its in zip(players, taken, strict=True):
            if len(players) > 1:
                totals[player] += its * (together - scores[player]) / (len(players) - 1)
    return totals


ROUNDS_WON = Figure(
    "rounds_won", N_("Rounds won"), "won", N_("rounds with more points than every opponent"), _rounds_won
)
OPPONENTS_POINTS = Figure(
    "opponents_points", N_("Opponents"), "opp.", N_("sum of the opponents' points"), _of_opponents(points)
)
EARLY_POINTS = Figure(
    "early_points", N_("Early"), "early", N_("sum of the points that it had after each round"), _early_points
)
OPPONENTS_EARLY_POINTS = Figure(
    "opponents_early_points",
    N_("Opponents' early"),
    "opp. early",
    N_("sum of the opponents' early points"),
    _of_opponents(_early_points),
)
SONNEBORN_BERGER = Figure(
    "sonneborn_berger",
    N_("Sonneborn-Berger"),
    "S-B",
    N_("sum of each opponent's points times the points taken from it"),
    _sonneborn_berger,
)
TIES_WON = Figure("rounds_won", N_("Rounds won"), "won", N_("of the bracket, without byes"))

NEWEST = 3
"""The version of the rules, counted from 1. All have the same figures, but each another test at a stage's cut
(`league.pairing.evidence`).
"""

CHOICE: Mapping[str, Figure] = {
    figure.name: figure
    for figure in (ROUNDS_WON, OPPONENTS_POINTS, EARLY_POINTS, OPPONENTS_EARLY_POINTS, SONNEBORN_BERGER)
}
"""The figures that an organiser may choose, for any format with standings by points."""


def named(chosen: Sequence[str]) -> str:
    """Return the chosen figures as part of a sentence, in the order in which they decide."""
    return _(", then ").join(gettext(CHOICE[name].heading) for name in chosen)
