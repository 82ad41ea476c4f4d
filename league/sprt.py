"""Is the new version stronger than the old one? The generalised sequential probability ratio test (GSPRT).

While games come in, the test weighs two hypotheses about the difference of strength: H0, it is `elo0`, and H1, it is
`elo1`. For each, the likelihood is that of the distribution that fits the results best among all with that difference,
so nothing is assumed about how often games are drawn or how much the two games of a pair have in common. The logarithm
of the likelihoods' ratio (LLR) wanders, and the test ends when it leaves
(log(beta / (1 - alpha)), log((1 - beta) / alpha)): below, H1 is rejected; above, it is accepted. The test is made for
evaluation after every game; `alpha` and `beta` are the shares of wrong verdicts under H0 and H1.

Results are counts by score, the worst first: losses, draws, wins of single games (trinomial), or the five scores of
pairs of games that share their dice with seats exchanged (pentanomial: 0, 1/2, 1, 3/2, 2 points). Games of such pairs
must not be counted one by one: measured, false passes rise from .05 to .135.

The difference is one of two statistics of the distribution of a result X with mean m and deviation sd, per game:

* logistic: Elo as everyone knows it, m = 1 / (1 + 10^(-elo / 400));
* normalized: (m - 1/2) / sd = elo * ln(10) / 800. It measures by how much a version stands out of the noise, so equal
  bounds cost about equally many games whatever the share of draws.

Sources: Wald, Sequential Analysis (1947); M. Van den Bergh, "The Generalized Sequential Probability Ratio Test" (the
maximum under a given mean) and "Comments on normalized Elo", section 4 (under a given mean over deviation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

NORMALIZED_ELO_PER_T = 800 / math.log(10)
"""The normalized Elo, 347.44, of a mean one deviation above 1/2, for single games."""

UNSEEN = 1e-3
"""The count given to a score that did not occur: with 0 its probability would be 0 under every hypothesis but the
observed one. It is customary in testing chess engines; after a dozen games no figure shown depends on it."""

MOST_COUNT = 10**12
"""The highest count of one score; a larger one is a typing error."""

MOST_ELO = 1000
"""The largest difference: beyond it, a mean is so close to 0 or 1 that no number of games can show it."""

STRIDE_T = 0.25
"""The longest step of the iteration for normalized Elo, which might leave its domain from far away."""

CONVERGED = 1e-10
"""The largest change of a probability in the last step; ten steps are usual, and `MOST_STEPS` is the limit."""

MOST_STEPS = 200

ROUNDING = 1e-15
"""A root is found when a step changes it by at most this share."""


class Model(StrEnum):
    """The scale of `elo0` and `elo1`, see above."""

    NORMALIZED = "normalized"
    LOGISTIC = "logistic"


class Verdict(StrEnum):
    """The verdict of the games so far."""

    ACCEPT = "accept"  # H1: the new version is stronger
    REJECT = "reject"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Terms:
    """The hypotheses of a test. `elo0 < elo1`; `alpha` and `beta` are in (0, 1/2). Raises ValueError: a sentence."""

    elo0: float
    elo1: float
    model: Model = Model.NORMALIZED
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not -MOST_ELO <= self.elo0 < self.elo1 <= MOST_ELO:  # also false for NaN
            raise ValueError(f"elo0 must be below elo1, and both between {-MOST_ELO} and {MOST_ELO}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError("alpha and beta must lie between 0 and 0.5")

    @property
    def bounds(self) -> tuple[float, float]:
        """The LLR at which the test ends: H1 rejected, H1 accepted."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)


@dataclass(frozen=True, slots=True)
class State:
    """The state of a test after some games. `score` is the mean per game, 0 to 1; None before the first."""

    verdict: Verdict
    llr: float
    lower: float
    upper: float
    games: int
    score: float | None


def test(counts: Sequence[int], terms: Terms) -> State:
    """Evaluate the test: `counts` are losses, draws, wins, or the five scores of pairs, the worst first. Raises
    ValueError: the counts are not three or five non-negative numbers.
    """
    if len(counts) not in (3, 5):
        raise ValueError("counts are three numbers (losses, draws, wins) or five (pairs of games, by score)")
    if any(count < 0 or count > MOST_COUNT for count in counts):
        raise ValueError(f"counts lie between 0 and {MOST_COUNT}")
    lower, upper = terms.bounds
    total = sum(counts)
    if total == 0:
        return State(Verdict.CONTINUE, 0.0, lower, upper, 0, None)
    llr = log_likelihood_ratio(counts, terms)
    verdict = Verdict.ACCEPT if llr >= upper else Verdict.REJECT if llr <= lower else Verdict.CONTINUE
    score = sum(place * count for place, count in enumerate(counts)) / (total * (len(counts) - 1))
    return State(verdict, llr, lower, upper, total * _games_of_one_result(counts), score)


def log_likelihood_ratio(counts: Sequence[int], terms: Terms) -> float:
    """Return the log-likelihood ratio of H1 over H0."""
    seen: Vector = np.where(np.asarray(counts) == 0, UNSEEN, np.asarray(counts, dtype=np.float64))
    observed = seen / seen.sum()
    scores: Vector = np.linspace(0, 1, len(counts))
    if terms.model is Model.LOGISTIC:
        under = [_given_mean(scores, observed, 1 / (1 + 10 ** (-elo / 400))) for elo in (terms.elo0, terms.elo1)]
    else:
        # The mean of a pair's two games deviates less than one game by the square root of two.
        per_t = NORMALIZED_ELO_PER_T / math.sqrt(_games_of_one_result(counts))
        under = [_given_t(scores, observed, elo / per_t) for elo in (terms.elo0, terms.elo1)]
    return float(seen.sum() * np.sum(observed * np.log(under[1] / under[0])))


def _games_of_one_result(counts: Sequence[int]) -> int:
    return 1 if len(counts) == 3 else 2


def _given_mean(values: Vector, observed: Vector, mean: float) -> Vector:
    """Return the most likely distribution with that mean: p = observed / (1 + x (value - mean)); the constraint gives
    x.

    x is the only root of a decreasing function on the interval in which every probability is positive. Near an end of
    the interval, a rarely observed value decides, so the root is measured from the nearer end: x is -(1 - z) / edge,
    where `edge` is the deviation from the mean whose probability is unbounded at that end.
    """
    away = values - mean
    least, most = float(away.min()), float(away.max())
    assert least < 0 < most, "a mean lies between the values"
    ratios = away / (most if observed @ away < 0 else least)
    z = _root(observed.tolist(), ratios.tolist())
    return observed / (1 - ratios + z * ratios)


def _root(chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Return the z in (0, 1] at which the sum of chance x ratio / (1 - ratio + z x ratio) is 0. The sum decreases in z;
    it is unbounded at 0 (some ratio is 1, none is above) and not above 0 at 1.

    Steps are Newton's for 1 / z, in which the sum is nearly straight close to 0; a step that would leave the interval
    halves it instead.
    """
    low, high, z = 0.0, 1.0, 1.0
    for _ in range(MOST_STEPS):
        value = slope = 0.0
        for chance, ratio in zip(chances, ratios, strict=True):
            part = ratio / (1 - ratio + z * ratio)
            value += chance * part
            slope += chance * part * part
        if value > 0:
            low = z
        else:
            high = z
        bend = slope * z - value
        guess = slope * z * z / bend if bend > 0 else 0.0
        if not low < guess < high:
            guess = (low + high) / 2
        if abs(guess - z) <= ROUNDING * z:
            return guess
        z = guess
    return z


def _given_t(scores: Vector, observed: Vector, t: float) -> Vector:
    """Return the most likely distribution whose mean is t deviations above 1/2.

    At the maximum it equals the distribution with a given mean of other values, which depend on its own mean and
    deviation: the iteration of Van den Bergh's section 4.1.
    """
    chances: Vector = np.full(len(scores), 1 / len(scores))
    strides = max(1, math.ceil(abs(t) / STRIDE_T))
    for stride in range(1, strides + 1):
        for _ in range(MOST_STEPS):
            mean = float(chances @ scores)
            deviation = math.sqrt(float(chances @ (scores - mean) ** 2))
            away = (scores - mean) / deviation
            before = chances
            chances = _given_mean(scores - 0.5 - t * stride / strides * deviation * (1 + away**2) / 2, observed, 0.0)
            if float(np.max(np.abs(chances - before))) < CONVERGED:
                break
    return chances
