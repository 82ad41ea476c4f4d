"""Sequential tests: the ratio of a test of games, and the older test at a cut, by which archives are verified."""

import math
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deadheat.league import sprt
from deadheat.league.pairing.evidence import APART, evidence
from deadheat.league.sprt import Model, Terms, Verdict, log_likelihood_ratio
from tests.lanes import examples

pytestmark = pytest.mark.quick

# Losses, draws, wins (or pairs by score) with bounds and model: the results of other implementations, from the tests of
# fastchess, whose authors took them from fishtest.
KNOWN = [
    ((365, 16618, 36229, 16974, 390), 0, 2, Model.NORMALIZED, 2.25),
    ((127, 4883, 10712, 5150, 104), -1.75, 0.25, Model.NORMALIZED, 3.01),
    ((223, 9863, 21279, 10037, 246), 0.5, 2.5, Model.LOGISTIC, -3.07),
    ((871, 26175, 55983, 26678, 821), 0, 2, Model.LOGISTIC, -4.98),
    ((36027, 68692, 36433), 0, 2, Model.NORMALIZED, 0.92),
    ((10650, 20431, 10871), -1.75, 0.25, Model.NORMALIZED, 2.30),
    ((21184, 40708, 21404), 0.5, 2.5, Model.LOGISTIC, -1.57),
    ((57030, 106593, 57433), 0, 2, Model.LOGISTIC, -2.59),
]


@pytest.mark.parametrize(("counts", "elo0", "elo1", "model", "llr"), KNOWN)
def test_known_answers(counts: Sequence[int], elo0: float, elo1: float, model: Model, llr: float) -> None:
    assert log_likelihood_ratio(counts, Terms(elo0, elo1, model)) == pytest.approx(llr, abs=0.005)


def test_without_draws_it_is_the_test_of_a_coin() -> None:
    """Without draws there is one free parameter, so the ratio is Wald's."""
    wins, losses = 70, 30
    score = 1 / (1 + 10 ** (-50 / 400))
    exact = wins * math.log(score / 0.5) + losses * math.log((1 - score) / 0.5)
    assert log_likelihood_ratio((losses, 0, wins), Terms(0, 50, Model.LOGISTIC)) == pytest.approx(exact, abs=0.01)


def test_the_bounds_are_those_of_wald() -> None:
    assert Terms(0, 5).bounds == pytest.approx((-2.944, 2.944), abs=5e-4)
    assert Terms(0, 5, alpha=0.05, beta=0.1).bounds == pytest.approx((math.log(0.1 / 0.95), math.log(18)))


def test_no_game_says_nothing() -> None:
    state = sprt.test((0, 0, 0), Terms(0, 5))
    assert (state.verdict, state.llr, state.games, state.score) == (Verdict.CONTINUE, 0, 0, None)


def test_a_verdict_comes_with_the_bound() -> None:
    terms = Terms(0, 50, Model.LOGISTIC)
    assert sprt.test((50, 20, 130), terms).verdict is Verdict.ACCEPT
    assert sprt.test((130, 20, 50), terms).verdict is Verdict.REJECT
    undecided = sprt.test((10, 2, 11), terms)
    assert (undecided.verdict, undecided.games) == (Verdict.CONTINUE, 23)
    assert undecided.score == pytest.approx(12 / 23)
    assert sprt.test((0, 0, 0, 0, 5), terms).games == 10


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ((1, 2), "three numbers"),
        ((1, 2, 3, 4), "three numbers"),
        ((1, -1, 2), "between 0"),
        ((1, 2, 10**13), "between"),
    ],
)
def test_counts_that_are_none(counts: Sequence[int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        sprt.test(counts, Terms(0, 5))


@pytest.mark.parametrize(("elo0", "elo1", "alpha"), [(5, 5, 0.05), (0, math.nan, 0.05), (0, 1001, 0.05), (0, 5, 0.5)])
def test_terms_that_make_no_test(elo0: float, elo1: float, alpha: float) -> None:
    with pytest.raises(ValueError, match="must"):
        Terms(elo0, elo1, alpha=alpha)


COUNTS = st.one_of(*(st.lists(st.integers(0, 2000), min_size=size, max_size=size) for size in (3, 5)))


@given(COUNTS, st.floats(-600, 600), st.sampled_from(Model))
def test_each_hypothesis_is_given_its_best_distribution(counts: list[int], elo: float, model: Model) -> None:
    """The distribution has the hypothesis's difference, and no other with that difference is likelier."""
    assume(sum(counts) > 0)
    seen = np.where(np.array(counts) == 0, sprt.UNSEEN, np.array(counts, dtype=float))
    observed, scores = seen / seen.sum(), np.linspace(0, 1, len(counts))

    def miss(chances: np.ndarray) -> float:
        mean = float(chances @ scores)
        if model is Model.LOGISTIC:
            return mean - 1 / (1 + 10 ** (-elo / 400))
        deviation = math.sqrt(max(1e-12, float(chances @ (scores - mean) ** 2)))
        return mean - 0.5 - elo * math.log(10) / 800 * math.sqrt(1 if len(counts) == 3 else 2) * deviation

    if model is Model.LOGISTIC:
        found = sprt._given_mean(scores, observed, 1 / (1 + 10 ** (-elo / 400)))
    else:
        found = sprt._given_t(scores, observed, elo * math.log(10) / 800 * math.sqrt(1 if len(counts) == 3 else 2))
    assert found.sum() == pytest.approx(1)
    assert found.min() > 0
    assert miss(found) == pytest.approx(0, abs=1e-8)
    best = observed @ np.log(found)
    constraints: Any = [{"type": "eq", "fun": miss}, {"type": "eq", "fun": lambda chances: chances.sum() - 1}]
    from scipy.optimize import minimize  # importing it would cost every collection of tests half a second

    search: Any = minimize  # its stubs do not accept bounds as plain pairs
    other = search(
        lambda chances: -observed @ np.log(np.maximum(chances, 1e-300)),
        found,
        bounds=[(1e-9, 1)] * len(counts),
        constraints=constraints,
        method="SLSQP",
    )
    if abs(miss(other.x)) < 1e-9 and abs(other.x.sum() - 1) < 1e-9:
        assert best >= -other.fun - 1e-6


@given(COUNTS, st.sampled_from(Model))
def test_mirrored_results_and_hypotheses_give_the_mirrored_ratio(counts: list[int], model: Model) -> None:
    assume(sum(counts) > 0)
    there = log_likelihood_ratio(counts, Terms(-10, 30, model))
    assert there == pytest.approx(-log_likelihood_ratio(counts[::-1], Terms(-30, 10, model)), abs=1e-5)


def test_it_is_wrong_about_as_often_as_it_promises() -> None:
    """A twentieth of 200 tests under either hypothesis is 10; 20 would be three deviations too many."""
    chance = np.random.default_rng(1)
    terms = Terms(0, 50, Model.LOGISTIC)
    wrong = {elo: sum(verdict(chance, elo, terms) is not right for _ in range(200)) for elo, right in RIGHT.items()}
    assert max(wrong.values()) <= 20, wrong


RIGHT = {0.0: Verdict.REJECT, 50.0: Verdict.ACCEPT}


def verdict(chance: np.random.Generator, elo: float, terms: Terms) -> Verdict:
    score = 1 / (1 + 10 ** (-elo / 400))
    drawn = 0.2
    chances = [1 - score - drawn / 2, drawn, score - drawn / 2]
    counts = np.zeros(3, int)
    for _ in range(500):
        counts += chance.multinomial(8, chances)
        state = sprt.test(counts.tolist(), terms)
        if state.verdict is not Verdict.CONTINUE:
            return state.verdict
    return Verdict.CONTINUE


@pytest.mark.parametrize("model", Model)
def test_a_landslide_of_any_length_has_a_ratio(model: Model) -> None:
    """If all games are won, the ratio is Wald's for a coin."""
    counts = (0, 0, 10**12)
    t = 5 * math.log(10) / 800
    ahead = math.tanh(t) if model is Model.LOGISTIC else t / math.sqrt(1 + t**2)
    assert log_likelihood_ratio(counts, Terms(0, 5, model)) == pytest.approx(counts[2] * math.log1p(ahead), rel=1e-9)


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
