"""Are two players of a tournament apart? A test at the 5 % level, which may be repeated after every game.

The null hypothesis is that two players are equally strong: each has the same chances against any third one, and neither
is favoured when they meet. Then every *comparison* of the two is fair: given all before it, its mean is 0, and it is as
likely to have the other sign. There is one for each common opponent (half the difference of their leads over it), and
one for each pair of matches, from both sides, in which they met each other. At larger tables a meeting of both is one
comparison, and another player there is no common opponent.

*Since version 3 of the rules.* The lead is the sum S of the comparisons. With V the sum of their squares and any r, it
leaves the interval +- sqrt((V + r) (ln((V + r) / r) + 2 ln 20)) at some point in at most one case of 20, however often
one looks and whatever the share of draws. So the two are apart as soon as it does.

*Versions 1 and 2*, for stages that began under them, and archives. A gambler who stakes a fixed share s of his money on
the first player in each comparison d has the product of all 1 + s d. If the two are equal, he gains nothing on average,
even if he divides his money evenly among all s from -1 to 1. His capital in that case, starting from 1, is the
*evidence*: the mean over s of the product. By Ville's inequality it reaches 20 at some point in at most one case of 20.
Eight won pairs in a row are evidence of 28. Under version 1 a whole round was one comparison, so 20 won matches in one
round said no more than two.

Only each player's points in a round are known, not the pairs of matches that gave them. Wins and losses are assumed to
lie in separate pairs as far as possible: of all arrangements with these points, this is the weakest evidence, and makes
V highest. All is computed in fractions, so everybody gets the same result.

Sources: Robbins, Statistical methods related to the law of the iterated logarithm (1970); de la Pena, Klass and Lai,
Self-normalized processes (2004), for signs that are symmetric; Ville, Etude critique de la notion de collectif (1939);
Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (2024).
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from deadheat.league.pairing.figures import Meeting

APART = 20
"""The inverse of the probability, 5 %, of finding a difference between equal players."""

INTERVAL_SINCE = 3
"""The version of the rules since which an interval tells two players apart."""

R = 3
"""Where the interval is narrowest for its length: with it, ten won pairs in a row suffice, and fewer never do."""


def apart(shares: Sequence[Fraction], rules: int) -> bool:
    """Say whether two players with these `comparisons` are apart, by that version of the rules."""
    if rules < INTERVAL_SINCE:
        return evidence(shares) >= APART
    return are_apart(float(sum(shares)), float(sum(share**2 for share in shares)))


def are_apart(lead: float, squares: float) -> bool:
    """Say whether the interval of a lead leaves out 0. `squares`: the sum of the comparisons' squares."""
    wide = squares + R
    return lead**2 >= wide * (math.log(wide / R) + 2 * math.log(APART))


def evidence(comparisons: Iterable[Fraction]) -> Fraction:
    """Return the evidence that two players are not equal, whatever the order of comparisons and of the two."""
    shares = list(comparisons)
    assert all(-1 <= share <= 1 for share in shares)
    common = math.lcm(*(share.denominator for share in shares))
    polynomial = [1]  # the product's coefficients from the constant up, multiplied by `common` for each comparison
    for share in shares:
        staked = int(share * common)
        raised = [0, *(coefficient * staked for coefficient in polynomial)]
        polynomial = [coefficient * common + more for coefficient, more in zip([*polynomial, 0], raised, strict=True)]
    even = enumerate(polynomial[::2])  # the odd ones vanish in the mean
    mean = sum((Fraction(coefficient, 2 * half + 1) for half, coefficient in even), Fraction())
    return mean / Fraction(common ** len(shares))


def comparisons(
    first: int, other: int, played: Sequence[Meeting], matches: int, opponents: Collection[int], rules: int
) -> list[Fraction]:
    """Compare two players by their points against each other, and through each of the `opponents` that both have met.

    `matches`: the number per table and round. A match counts by its points, so an unplayed one counts for nothing.
    `rules`: their version (`Form.rules`).
    """
    most = Fraction(1) if rules < INTERVAL_SINCE else None
    leads: dict[int, dict[int, list[Fraction]]] = {first: defaultdict(list), other: defaultdict(list)}
    direct: list[Fraction] = []
    for _round, players, taken in played:
        there = [player for player in (first, other) if player in players]
        points = dict(zip(players, map(Fraction, taken), strict=True)) if there else {}
        if len(there) == 2:
            mine, theirs = points[first], points[other]
            whole = rules == 1 or len(players) > 2
            direct += [_bounded((mine - theirs) / matches, most)] if whole else _pairs(mine, theirs, matches)
        elif there:
            for third in points.keys() - there:
                leads[there[0]][third].append((points[there[0]] - points[third]) / matches)
    common = sorted(leads[first].keys() & leads[other].keys() & set(opponents))
    return direct + [_bounded((_mean(leads[first][third]) - _mean(leads[other][third])) / 2, most) for third in common]


def _pairs(mine: Fraction, theirs: Fraction, matches: int) -> list[Fraction]:
    """Return the weakest comparisons that a round's points allow, if a match gives 1 point. Points left over belong to
    one pair if all matches were played; otherwise a win and a loss may belong to two.
    """
    won, lost = mine % 2 / 2, theirs % 2 / 2
    rest = [won - lost] if mine + theirs == matches else [won, -lost]
    return [*[Fraction(1)] * (mine // 2), *[Fraction(-1)] * (theirs // 2), *filter(None, rest)]


def _mean(leads: Sequence[Fraction]) -> Fraction:
    return sum(leads, Fraction()) / len(leads)


def _bounded(share: Fraction, most: Fraction | None) -> Fraction:
    """Limit a share to [-most, most]: a round may have more matches than planned if one of them was played again."""
    return share if most is None else max(-most, min(most, share))
