"""The assumptions about a strength before its games: normal distributions, and a rating's configuration.

There are three cases, all Gaussian, and so all entries of one precision matrix:

* a newcomer is normal around the centre (`RatingConfig.prior_sd_elo`);
* a player rated in an earlier season is normal around that rating, with its error widened by what may have happened in
  between (`Prior.mean_elo`, `Prior.sd_elo`);
* a version is normal around the version before it (`Prior.parent`, `RatingConfig.version_sd_elo`), whatever that one's
  strength: games of either say something about both. A version that passed its promotion gate has moved, but it is not
  known how far (`RatingConfig.passed_sd_elo`).

Nothing decays within a season: a game counts the same on its first and on its last day.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from deadheat.league.ratings.linear import Ints, Matrix, Vector
from deadheat.league.states import Ranks

ELO_PER_NAT = 400 / math.log(10)
"""The Elo, 173.72, of one unit of natural log-odds."""

METHOD = {"method": "bradley-terry-map", "version": 4}
"""Part of every stored configuration; the number rises when the same log gives different figures."""


@dataclass(frozen=True, slots=True)
class RatingConfig:
    """The settings on which ratings depend besides the log. `prior_sd_elo` None: no prior, maximum likelihood.

    `version_sd_elo` is the deviation of a version from the one before it, `passed_sd_elo` the same if it passed a
    promotion gate, and `season_sd_elo` the deviation since the season before. `ranks` is what counts at a table of
    three or more: every pair of places, or only the first place.
    """

    centre_elo: float = 1500.0
    prior_sd_elo: float | None = 350.0
    version_sd_elo: float = 90.0
    passed_sd_elo: float = 200.0
    season_sd_elo: float = 100.0
    ranks: Ranks = Ranks.PLACEMENT

    def step_sd_elo(self, *, passed: bool) -> float:
        """Return the deviation of a version from its parent, in Elo."""
        return self.passed_sd_elo if passed else self.version_sd_elo

    def as_json(self) -> dict[str, Any]:
        """Return the configuration in the form that every snapshot stores."""
        return {**METHOD, **asdict(self), "ranks": self.ranks.value}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read the configuration that `as_json` wrote. Raises ValueError: it belongs to another method."""
        values = {key: value for key, value in stored.items() if key not in METHOD}
        if {key: stored.get(key) for key in METHOD} != METHOD or values.keys() != cls.__dataclass_fields__.keys():
            raise ValueError("made by another version of the method")
        return cls(**{**values, "ranks": Ranks(values["ranks"])})


@dataclass(frozen=True, slots=True)
class Prior:
    """A player's prior. None means the configuration's value for a newcomer or, with `parent`, for a version.

    With `parent`, `sd_elo` is the deviation from that parent, and `mean_elo` is ignored.
    """

    parent: str | None = None
    mean_elo: float | None = None
    sd_elo: float | None = None


def carried(elo: float, se: float, config: RatingConfig, step_sd_elo: float = 0.0) -> Prior:
    """Return the prior of a player who ended the previous season with that rating; never wider than a newcomer's.

    `step_sd_elo`: the deviation of its version from the one that played then.
    """
    sd_elo = math.hypot(se, config.season_sd_elo, step_sd_elo)
    return Prior(mean_elo=elo, sd_elo=sd_elo if config.prior_sd_elo is None else min(sd_elo, config.prior_sd_elo))


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """The priors of all players as one log density. Up to a constant, it is

    sum over players of -own/2 s^2 + pull s, and over links of -link/2 (s[child] - s[parent])^2,

    with strengths s on the natural scale around the centre.
    """

    own: Vector  # (players,), 0 if there is no prior knowledge
    pull: Vector  # (players,)
    children: Ints  # (links,)
    parents: Ints  # (links,)
    links: Vector  # (links,)

    @property
    def anchored(self) -> bool:
        """Whether any prior fixes the level of the field. Otherwise games only give distances."""
        return bool(self.own.any())

    def gradient(self, strengths: Vector) -> Vector:
        """Return the gradient of the log density, one entry per player."""
        apart = self.links * (strengths[self.children] - strengths[self.parents])
        slopes = self.pull - self.own * strengths
        np.subtract.at(slopes, self.children, apart)
        np.add.at(slopes, self.parents, apart)
        return slopes

    def add_precision(self, matrix: Matrix) -> None:
        """Add the negative Hessian to the upper triangle of a (players, players) matrix.

        If no prior fixes the level of the field, the matrix of ones is added: it fixes the mean and nothing else.
        """
        np.einsum("ii->i", matrix)[:] += self.own
        for ends in (self.children, self.parents):
            np.add.at(matrix, (ends, ends), self.links)
        low, high = np.minimum(self.children, self.parents), np.maximum(self.children, self.parents)
        np.subtract.at(matrix, (low, high), self.links)
        if not self.anchored:
            matrix += 1.0


def beliefs(players: Sequence[str], priors: Mapping[str, Prior], config: RatingConfig) -> Beliefs:
    """Return the priors of the players, in their order. A parent is one of the players."""
    index = {player: place for place, player in enumerate(players)}
    chained = [
        (index[player], index[prior.parent], config.version_sd_elo if prior.sd_elo is None else prior.sd_elo)
        for player, prior in priors.items()
        if prior.parent is not None
    ]
    own = np.zeros(len(players))
    pull = np.zeros(len(players))
    for player, place in index.items():
        prior = priors.get(player, Prior())
        sd_elo = config.prior_sd_elo if prior.sd_elo is None else prior.sd_elo
        if prior.parent is None and sd_elo is not None:
            mean_elo = config.centre_elo if prior.mean_elo is None else prior.mean_elo
            own[place] = _precision(sd_elo)
            pull[place] = own[place] * (mean_elo - config.centre_elo) / ELO_PER_NAT
    return Beliefs(
        own,
        pull,
        children=np.array([child for child, _, _ in chained], np.int64),
        parents=np.array([parent for _, parent, _ in chained], np.int64),
        links=np.array([_precision(sd_elo) for _, _, sd_elo in chained], np.float64),
    )


def _precision(sd_elo: float) -> float:
    return (ELO_PER_NAT / sd_elo) ** 2
