"""Were two players at a cut apart, by versions 1 and 2 of the rules? For stages that began under them, and archives.

It is a test at the 5 % level of whether two players differ, which may be repeated after every game.

The null hypothesis is that two players are equally strong: each has the same chances against any third one, and neither
is favoured when they meet. Then every *comparison* of the two is fair: given all before it, its mean is 0. There is one
for each common opponent (how much better the first fared against it than the second), and one for each pair of matches,
from both sides, in which they met each other; each lies between -1 and 1. At larger tables there is one for each round
in which both sat at one table, and another player there is no common opponent.

Only each player's points in a round are known, not the pairs of matches that gave them. Wins and losses are assumed to
lie in separate pairs as far as possible: of all arrangements with these points, this is the weakest evidence, for every
stake, since the logarithm of 1 + s d is concave in d. Under the first version of the rules a whole round was one
comparison, so 20 won matches in one round said no more than two.

A gambler who stakes a fixed share s of his money on the first player in each comparison d has the product of all
1 + s d. If the two are equal, he gains nothing on average, whatever s is, even if he divides his money evenly among all
s from -1 to 1. His capital in that case, starting from 1, is the *evidence*: the mean over s of the product. By Ville's
inequality it reaches 20 at some point in at most one case of 20. So the players differ as soon as the evidence is 20.
Testing after every round costs nothing: the bound holds for all tests together. Nothing is assumed about draws, or
about how much the two matches of a pair have in common.

It is computed in fractions, so everybody gets the same result. Eight won pairs in a row are evidence of 28.

Sources: Ville, Étude critique de la notion de collectif (1939); Waudby-Smith and Ramdas, Estimating means of bounded
random variables by betting (2024).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from deadheat.league.pairing.figures import Meeting

APART = 20
"""The inverse of the probability, 5 %, of finding a difference between equal players."""


def evidence(comparisons: Iterable[Fraction]) -> Fraction:
    """Return the evidence that two players are not equal. It depends neither on the order of comparisons nor on which
    player is the first.
    """
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
    one: int, other: int, played: Sequence[Meeting], matches: int, opponents: Collection[int], rules: int
) -> list[Fraction]:
    """Compare two players by their points against each other, and through each opponent that both have met.

    `matches`: the number per pair and round. A match counts by its points, so an unplayed one counts for nothing.
    `rules`: their version (`Form.rules`).
    """
    leads: dict[int, dict[int, list[Fraction]]] = {one: defaultdict(list), other: defaultdict(list)}
    direct: list[Fraction] = []
    for _round, players, taken in played:
        points = dict(zip(players, map(Fraction, taken), strict=True))
        there = [player for player in (one, other) if player in points]
        if len(there) == 2:
            mine, theirs = points[one], points[other]
            whole = rules == 1 or len(players) > 2
            direct += [_bounded((mine - theirs) / matches)] if whole else _pairs(mine, theirs, matches)
        elif there:
            for third in points.keys() - there:
                leads[there[0]][third].append((points[there[0]] - points[third]) / matches)
    common = sorted(leads[one].keys() & leads[other].keys() & set(opponents))
    return direct + [_bounded((_mean(leads[one][third]) - _mean(leads[other][third])) / 2) for third in common]


def _pairs(mine: Fraction, theirs: Fraction, matches: int) -> list[Fraction]:
    """Return the weakest comparisons that a round's points allow, if a match gives 1 point. Points left over belong to
    one pair if all matches were played; otherwise a win and a loss may belong to two.
    """
    won, lost = mine % 2 / 2, theirs % 2 / 2
    rest = [won - lost] if mine + theirs == matches else [won, -lost]
    return [*[Fraction(1)] * (mine // 2), *[Fraction(-1)] * (theirs // 2), *filter(None, rest)]


def _mean(leads: Sequence[Fraction]) -> Fraction:
    return sum(leads, Fraction()) / len(leads)


def _bounded(share: Fraction) -> Fraction:
    """Limit a share to [-1, 1]: a round may have more matches than planned if one of them was played again."""
    return max(Fraction(-1), min(Fraction(1), share))
