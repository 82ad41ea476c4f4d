"""The test at a cut of stages that began under version 1 or 2 of the rules, as archives are verified by it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.pairing.evidence import APART, comparisons, evidence
from tests.lanes import examples
from tests.league.meetings import Pair

pytestmark = pytest.mark.quick


@examples(50)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=12))
def test_the_evidence_is_the_mean_wealth_of_all_gamblers(shares: list[float]) -> None:
    assert float(evidence(map(Fraction, shares))) == pytest.approx(mean_wealth(shares), rel=0.01)


def mean_wealth(shares: Sequence[float]) -> float:
    """Return the mean wealth of a thousand gamblers, each with a different stake."""
    wealth = [prod(1 + stake / 500 * share for share in shares) for stake in [number - 499.5 for number in range(1000)]]
    return sum(wealth) / len(wealth)


def test_evidence_by_hand() -> None:
    assert evidence([]) == 1
    assert evidence([Fraction(1)]) == 1, "one win says nothing of which of the two is better"
    assert evidence([Fraction(1)] * 7) == Fraction(2**8, 2 * 8) < APART
    assert evidence([Fraction(-1)] * 8) == Fraction(2**9, 2 * 9) > APART
    assert evidence([Fraction(1), Fraction(-1)]) == Fraction(2, 3), "contradictions speak for equality"


def test_what_two_are_compared_by() -> None:
    played = [
        Pair(1, 1, 2, 3, 1),  # direct: (3 - 1) / 4
        Pair(2, 1, 3, 4, 0),  # against 3: 1, and below -1/2, seen from 2
        Pair(2, 3, 2, 3, 1),
        Pair(3, 1, 4, 4, 0),  # 2 has not met 4
        Pair(4, 2, None, 4),
    ]
    everybody = {1, 2, 3, 4}
    assert comparisons(1, 2, played, 4, everybody, rules=1) == [Fraction(1, 2), Fraction(3, 4)]
    assert comparisons(2, 1, played, 4, everybody, rules=1) == [Fraction(-1, 2), Fraction(-3, 4)]
    assert comparisons(1, 2, played, 4, everybody, rules=2) == [1, Fraction(3, 4)], "a won pair, and one with 1 : 1"
    assert comparisons(2, 1, played, 4, everybody, rules=2) == [-1, Fraction(-3, 4)]
    assert comparisons(1, 2, played, 4, {1, 2}, rules=1) == [Fraction(1, 2)], "who is gone is no measure"
