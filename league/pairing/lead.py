"""Are two players of a tournament apart? The 95 % interval of one's lead, which may be looked at after every game.

Two players are compared by each pair of matches, from both sides, in which they met, and by each common opponent: half
the lead, or half the difference of their leads over that opponent. At larger tables, a meeting of both is one
comparison by its lead, and another player there is no common opponent. The lead is the sum S of the comparisons. If the
two are equal, each comparison is as likely to have the other sign. Then, with V the sum of the squares and any r, the
lead leaves the interval +- sqrt((V + r) (ln((V + r) / r) + 2 ln 20)) at some point in at most one case of 20, however
often one looks and whatever the share of draws. So the two are apart as soon as it does.

Of a meeting only the points are known, not its pairs of matches. V is highest, and the interval widest, if wins and
losses lie in separate pairs as far as possible, so that is assumed.

Sources: Robbins, Statistical methods related to the law of the iterated logarithm (1970); de la Pena, Klass and Lai,
Self-normalized processes (2004), for signs that are symmetric.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from statistics import fmean

from deadheat.league.pairing.figures import Meeting

INVERSE = 20
"""The inverse of the probability, 5 %, of finding a difference between equal players."""

R = 3
"""Where the interval is narrowest for its length: with it, ten won pairs in a row suffice, and fewer never do."""


def are_apart(lead: float, squares: float) -> bool:
    """Say whether the interval of a lead leaves out 0. `squares`: the sum of the comparisons' squares."""
    wide = squares + R
    return lead**2 >= wide * (math.log(wide / R) + 2 * math.log(INVERSE))


def compare(
    one: int, other: int, played: Sequence[Meeting], matches: int, opponents: Collection[int]
) -> tuple[float, float]:
    """Return the first player's lead over the other, and the sum of the comparisons' squares.

    `matches`: the number per table and round. A match counts by its points, so an unplayed one counts for nothing.
    `opponents`: those through whom they are compared.
    """
    leads: dict[int, dict[int, list[float]]] = {one: defaultdict(list), other: defaultdict(list)}
    lead = squares = 0.0
    for _round, players, taken in played:
        points = dict(zip(players, taken, strict=True))
        there = [player for player in (one, other) if player in points]
        if len(there) == 2:
            ahead = points[one] - points[other]
            lead += ahead / (2 if len(players) == 2 else matches)
            squares += _pairs(points[one], points[other], matches) if len(players) == 2 else (ahead / matches) ** 2
        elif there:
            for third in points.keys() - there:
                leads[there[0]][third].append((points[there[0]] - points[third]) / matches)
    for third in sorted(leads[one].keys() & leads[other].keys() & set(opponents)):
        ahead = (fmean(leads[one][third]) - fmean(leads[other][third])) / 2
        lead += ahead
        squares += ahead**2
    return lead, squares


def _pairs(mine: float, theirs: float, matches: int) -> float:
    """Return the highest sum of squares that the points of two in a meeting allow, if a match gives 1 point. Points
    left over belong to one pair if all matches were played; otherwise a win and a loss may belong to two.
    """
    won, lost = mine % 2 / 2, theirs % 2 / 2
    rest = (won - lost) ** 2 if mine + theirs == matches else won**2 + lost**2
    return mine // 2 + theirs // 2 + rest
