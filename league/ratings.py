"""Ratings as a pure function of the log of results: Bradley-Terry, maximum a posteriori.

Model. With strengths s on the natural-logarithm scale, player i beats j with probability 1/(1 + exp(s_j - s_i))
(Bradley and Terry 1952); a draw counts as half a win for each. A table of more than two players is taken as all its
pairs. Every strength has an independent normal prior around the centre, so that a player without a loss has a finite
rating and a player with few games a modest one. Shown is Elo: `ELO_PER_NAT` x s + centre.

The posterior is log-concave with one maximum, which Newton's method finds in a handful of steps. The log enters
only through counts of half-wins per pair, which are whole numbers and exact in floating point, with the players in
sorted order: any order of the log gives the same bits. Standard errors come from the inverse of the posterior's
Hessian at the maximum (the Laplace approximation).

Games tell differences only. How far the field as a whole is from the centre is known from nothing but the prior
(its error would be sd / sqrt(players) for everyone, 143 Elo with six), and the centre is a convention anyway. So
errors are those of the distance to the field's mean, weighted by games: a bot that just came, with no game and a wide
interval of its own, then widens nobody else's.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

ELO_PER_NAT = 400 / math.log(10)
"""173.72 Elo are one unit of natural log-odds."""

NORMAL_95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

MOST_STEPS = 100
"""Newton takes 4 to 10; a hundred means that there is no maximum."""


class NoRating(Exception):
    """Without a prior the log determines no finite ratings: a part of the players never lost to the rest."""


@dataclass(frozen=True, slots=True)
class Game:
    """One result: `ranks[i]` is the place of `players[i]`, 1 for the best, equal for a tie."""

    players: tuple[str, ...]
    ranks: tuple[int, ...]

    def __post_init__(self) -> None:
        assert len(self.players) == len(self.ranks) == len(set(self.players)) >= 2


@dataclass(frozen=True, slots=True)
class RatingConfig:
    """What the ratings depend on beside the log. `prior_sd_elo` None: no prior, maximum likelihood."""

    centre_elo: float = 1500.0
    prior_sd_elo: float | None = 350.0

    def as_json(self) -> dict[str, object]:
        """Stored with every snapshot."""
        return {"model": "bradley-terry-map", "version": 1, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Rating:
    """One player's rating in Elo with standard error and 95 % interval, and counts over pairs played."""

    player: str
    elo: float
    se: float
    low: float
    high: float
    games: int
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True, slots=True)
class RatingTable:
    """All ratings, best first, with the fingerprint of the log and the configuration that they follow from."""

    entries: tuple[Rating, ...]
    games: int
    log_sha256: str
    config: RatingConfig


def log_sha256(games: Sequence[Game]) -> str:
    """Fingerprint of a log, whatever its order and the order of players in a game."""
    lines = sorted(
        json.dumps(sorted(zip(game.players, game.ranks, strict=True)), separators=(",", ":")) for game in games
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def fit(games: Sequence[Game], config: RatingConfig, players: Sequence[str] = ()) -> RatingTable:
    """Ratings of everyone in the log; `players` adds those without a game, who get the prior.

    Raises:
        NoRating: there is no prior, and the log alone does not determine the ratings.
    """
    everyone = sorted({*players, *(player for game in games for player in game.players)})
    index = {player: position for position, player in enumerate(everyone)}
    half_wins = _half_wins(games, index)
    nats, covariance = _maximum(half_wins, config)
    counts = _counts(games, everyone)
    entries = []
    for position, player in enumerate(everyone):
        elo = config.centre_elo + ELO_PER_NAT * float(nats[position])
        se = ELO_PER_NAT * math.sqrt(float(covariance[position, position]))
        entries.append(Rating(player, elo, se, elo - NORMAL_95 * se, elo + NORMAL_95 * se, *counts[player]))
    entries.sort(key=lambda entry: (-entry.elo, entry.player))
    return RatingTable(tuple(entries), len(games), log_sha256(games), config)


def _half_wins(games: Sequence[Game], index: Mapping[str, int]) -> Matrix:
    """`[i, j]`: half-wins of i over j."""
    table: Matrix = np.zeros((len(index), len(index)))
    for game in games:
        for (one, rank), (other, other_rank) in combinations(zip(game.players, game.ranks, strict=True), 2):
            i, j = index[one], index[other]
            share = 1 + (rank < other_rank) - (rank > other_rank)
            table[i, j] += share
            table[j, i] += 2 - share
    return table


def _counts(games: Sequence[Game], players: Sequence[str]) -> dict[str, tuple[int, int, int, int]]:
    """Games, and wins, draws and losses over the pairs in them."""
    counts = {player: [0, 0, 0, 0] for player in players}
    for game in games:
        for player, rank in zip(game.players, game.ranks, strict=True):
            row = counts[player]
            row[0] += 1
            row[1] += sum(rank < other for other in game.ranks)
            row[2] += sum(rank == other for other in game.ranks) - 1
            row[3] += sum(rank > other for other in game.ranks)
    return {player: (row[0], row[1], row[2], row[3]) for player, row in counts.items()}


def _maximum(half_wins: Matrix, config: RatingConfig) -> tuple[Matrix, Matrix]:
    """Strengths at the posterior's maximum, and their covariance."""
    size = len(half_wins)
    if size == 0:
        return np.zeros(0), np.zeros((0, 0))
    wins = half_wins / 2
    played = wins + wins.T
    precision = 0.0 if config.prior_sd_elo is None else (ELO_PER_NAT / config.prior_sd_elo) ** 2
    # Without a prior only differences are determined; adding the all-ones matrix fixes their mean at zero.
    anchor: Matrix = np.ones((size, size)) if precision == 0 else np.zeros((size, size))
    strengths: Matrix = np.zeros(size)
    for _ in range(MOST_STEPS):
        gradient, hessian = _derivatives(strengths, wins, played, precision)
        try:
            step = np.asarray(np.linalg.solve(hessian + anchor, gradient), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise NoRating from error
        longest = float(np.max(np.abs(step)))
        step *= min(1.0, 2.0 / max(longest, 1e-300))  # far from the maximum it overshoots
        strengths += step
        if longest < 1e-12 * max(1.0, float(np.max(np.abs(strengths)))):
            break
    else:
        raise NoRating
    _, hessian = _derivatives(strengths, wins, played, precision)
    covariance: Matrix = np.linalg.inv(hessian + anchor) - anchor / size**2
    return strengths, _around_the_field(covariance, played)


def _around_the_field(covariance: Matrix, played: Matrix) -> Matrix:
    """The covariance of differences from the field's mean, each player weighted by games."""
    games = played.sum(axis=1)
    if not games.any():
        return covariance
    weights = games / games.sum()
    shared = covariance @ weights
    around: Matrix = covariance - shared[:, None] - shared[None, :] + weights @ shared
    return around


def _derivatives(strengths: Matrix, wins: Matrix, played: Matrix, precision: float) -> tuple[Matrix, Matrix]:
    """Gradient and negative Hessian of the log posterior."""
    expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    gradient: Matrix = np.sum(wins - played * expected, axis=1) - precision * strengths
    weights = played * expected * (1 - expected)
    hessian: Matrix = np.diag(np.sum(weights, axis=1) + precision) - weights
    return gradient, hessian
