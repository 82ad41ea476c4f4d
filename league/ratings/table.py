"""Computes a table of ratings with places from a log: the one module that combines the parts of this package."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deadheat.league.ratings.bradley_terry import Posterior, Tallies, pairs_of, tallies_of
from deadheat.league.ratings.errors import Spread, spread_of
from deadheat.league.ratings.leads import survived
from deadheat.league.ratings.linear import Ints, Matrix, Vector, one_thread
from deadheat.league.ratings.log import Log, Tables
from deadheat.league.ratings.plackett_luce import plackett_luce
from deadheat.league.ratings.prior import ELO_PER_NAT, Prior, RatingConfig, beliefs
from deadheat.league.ratings.quality import Fit, PairTable, SeatEffect, seat_effects

# Ranks and their uncertainty.
# Ratings that are shown as equal (rounded to whole Elo) are equal, and so are their places. The next place then counts
# all those before it (1, 2, 2, 4). The interval of a place comes from `DRAWS` draws of all strengths together from
# their joint distribution: it contains all ranks but those in 2.5 % of the draws at either end, and always the place
# itself. The log's hash seeds the draws, so everybody who recomputes a table draws the same.

DRAWS = 1000

OUTSIDE = 25
"""The number of draws outside the interval at either end: 2.5 %."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of one field; each array has shape (field,). `low` is the better end, and 1 the first place."""

    rank: Ints
    low: Ints
    high: Ints


def places_of(elo: Vector, factor: Matrix, sha256: str, unit_elo: float = 1.0) -> Places:
    """Return the places of players ranked against each other. `factor` (field, n) times its transpose is their
    covariance, in units of `unit_elo`.
    """
    shown = np.rint(elo)
    rank = 1 + np.searchsorted(np.sort(-shown), -shown)
    chance = np.random.default_rng(int(sha256, 16))
    # Seven digits suffice for random numbers, and take half the time: 40 of 190 ms with 1,000 players.
    throws = chance.standard_normal((factor.shape[1], DRAWS), dtype=np.float32)
    drawn = (elo / unit_elo).astype(np.float32)[:, None] + factor.astype(np.float32) @ throws
    field, order = len(elo), np.argsort(-np.ascontiguousarray(drawn.T), axis=1)  # a draw's players, best first
    occurrences = np.bincount((order * field + np.arange(field)).ravel(), minlength=field**2)
    so_far = np.cumsum(occurrences.reshape(field, field), axis=1)  # by player and rank
    low, high = 1 + np.sum(so_far <= OUTSIDE, axis=1), 1 + np.sum(so_far < DRAWS - OUTSIDE, axis=1)
    return Places(rank, np.minimum(low, rank), np.maximum(high, rank))


NORMAL_95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""

LAST_DIGIT = 6
"""The decimal places of Elo to which two computations of one table certainly agree. Further ones may be rounding."""


@dataclass(frozen=True, slots=True)
class Place:
    """A player's place in a field: its rank from 1, and the rank's 95 % interval. For all but the last: how many Elo it
    is ahead of the next player, and the standard error of that difference.
    """

    rank: int
    low: int
    high: int
    gap_elo: float | None
    gap_se: float | None


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's rating in Elo with standard error and 95 % interval (see `league.ratings.errors`), its place in its
    field (None: it is not ranked), and the sums of its games (see `league.ratings.bradley_terry.Tallies`).

    `plackett_luce` is the rating by the other model; None where all tables have two seats.
    """

    player: str
    elo: float
    se: float
    low: float
    high: float
    place: Place | None
    plackett_luce: float | None
    games: int
    wins: int
    draws: int
    losses: int


FIGURES = ("elo", "se", "low", "high", "plackett_luce", "games", "wins", "draws", "losses")
"""The figures of a rating that a ranking keeps, besides its place."""


MOST_LEADS = 40_000
"""In a field, leads are computed for so many players divided by their number, because each costs as much as they are
many: for all of 200 in 0.05 s, for the first 20 of 2,000.
"""

MOST_PLAYERS = 2_000
"""Among more players no leads are computed: the matrices of their results, which grow with the square of the players,
take 140 MB for so many.
"""


def by_rating(entry: Rating) -> tuple[float, str]:
    """Return the sorting key of ratings: best first, and by name if they differ only by rounding."""
    return -round(entry.elo, LAST_DIGIT), entry.player


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """All ratings, best first, with the data behind them. Further figures are computed on request."""

    entries: tuple[Rating, ...]
    log: Log
    config: RatingConfig
    players: tuple[str, ...]  # sorted; the arrays below are in this order
    tables: tuple[Tables, ...]
    posterior: Posterior
    strengths: Vector

    def fit(self) -> Fit:
        """Return how well the ratings describe the results."""
        with one_thread():
            return Fit.of(self.posterior, self.strengths)

    def seats(self) -> tuple[SeatEffect, ...]:
        """Return the value of each seat, by size of the table."""
        with one_thread():
            return seat_effects(self.tables, self.config.ranks, self.posterior.beliefs, self.strengths)

    def leads(self, fields: Iterable[Collection[str]]) -> dict[str, int]:
        """Return how many wrong results a player's lead over the next in its field survives (see
        `league.ratings.leads`), for games of two. Left out: the last of a field, those who share a place with the next,
        leads that no number of results would turn, in large fields the lower places, and all among more players than
        `MOST_PLAYERS`.
        """
        place = {player: number for number, player in enumerate(self.players)}
        elo = {entry.player: entry for entry in self.entries}
        neighbours: list[tuple[str, str]] = []
        for field in fields:
            down = sorted((elo[player] for player in field), key=by_rating)[: 1 + MOST_LEADS // len(place)]
            apart = ((one, other) for one, other in pairwise(down) if round(one.elo) > round(other.elo))
            neighbours += [(one.player, other.player) for one, other in apart]
        if not neighbours or len(place) > MOST_PLAYERS or any(table.seats > 2 for table in self.tables):
            return {}
        ahead, behind = np.array([[place[one], place[other]] for one, other in neighbours]).T
        with one_thread():
            found = survived(self.posterior, self.strengths, ahead, behind)
        return {one: int(count) for (one, _), count in zip(neighbours, found, strict=True) if math.isfinite(count)}

    def pairs(self, players: Sequence[str]) -> PairTable:
        """Return the results of these players against each other."""
        index = {player: place for place, player in enumerate(self.players)}
        return PairTable.of(self.posterior.pairs, [index[player] for player in players])


def rate(
    log: Log,
    config: RatingConfig,
    priors: Mapping[str, Prior] | None = None,
    fields: Sequence[Collection[str]] | None = None,
    start: Mapping[str, float] | None = None,
) -> RatingTable:
    """Rate everyone in the log and in `priors`, and their parents.

    `fields` are the groups of players ranked against each other; None: everyone. `start`: ratings in Elo near the
    expected ones, which speed up the search for the maximum; they change no figure that is shown. Raises NoRating:
    there is no prior, and the log alone does not determine the ratings.
    """
    priors = priors or {}
    parents = {prior.parent for prior in priors.values() if prior.parent is not None}
    players = tuple(sorted({*log.players, *priors, *parents}))
    index = {player: place for place, player in enumerate(players)}
    # The players of the log and of the table are sorted, so rows stay in order with the players' new places.
    new = np.array([index[player] for player in log.players], np.int64)
    tables = tuple(Tables(new[table.players], table.ranks, table.groups, table.counts) for table in log.tables)
    members = [sorted(index[player] for player in field) for field in ([players] if fields is None else fields)]
    with one_thread():
        pairs = pairs_of(tables, config.ranks, len(players))
        posterior = Posterior(len(players), pairs, beliefs(players, priors, config))
        near = None if start is None else np.array([start.get(player, config.centre_elo) for player in players])
        strengths = posterior.maximum(None if near is None else (near - config.centre_elo) / ELO_PER_NAT)
        tallies = tallies_of(tables, config.ranks, len(players))
        spread = spread_of(posterior, strengths, tables, config.ranks, tallies.games)
        second = plackett_luce(tables, config.ranks, posterior.beliefs, strengths)
        elo = config.centre_elo + ELO_PER_NAT * strengths
        places: dict[int, Place] = {}
        for field in members:
            places |= _places(np.array(field, np.int64), elo, spread, log.sha256)
        seconds = None if second is None else (config.centre_elo + ELO_PER_NAT * second).tolist()
    entries = _entries(players, elo, spread, places, seconds, tallies)
    return RatingTable(entries, log, config, players, tables, posterior, strengths)


def _places(members: Ints, elo: Vector, spread: Spread, sha256: str) -> dict[int, Place]:
    if not len(members):
        return {}
    down = members[np.argsort(-np.round(elo[members], LAST_DIGIT), kind="stable")]  # in the order of `by_rating`
    factor = spread.factor[down]
    placed = places_of(elo[down], factor, sha256, ELO_PER_NAT)
    apart = factor[:-1] - factor[1:]
    errors = ELO_PER_NAT * np.sqrt(np.einsum("ij,ij->i", apart, apart))
    gaps = [*zip((elo[down[:-1]] - elo[down[1:]]).tolist(), errors.tolist(), strict=True), (None, None)]
    places = zip(down.tolist(), placed.rank.tolist(), placed.low.tolist(), placed.high.tolist(), gaps, strict=True)
    return {member: Place(rank, low, high, *gap) for member, rank, low, high, gap in places}


def _entries(
    players: Sequence[str],
    elo: Vector,
    spread: Spread,
    places: Mapping[int, Place],
    seconds: Sequence[float] | None,
    tallies: Tallies,
) -> tuple[Rating, ...]:
    errors = (ELO_PER_NAT * spread.errors).tolist()
    entries = [
        Rating(
            player=player,
            elo=own,
            se=se,
            low=own - NORMAL_95 * se,
            high=own + NORMAL_95 * se,
            place=places.get(place),
            plackett_luce=None if seconds is None else seconds[place],
            games=int(tallies.games[place]),
            wins=int(tallies.wins[place]),
            draws=int(tallies.draws[place]),
            losses=int(tallies.losses[place]),
        )
        for place, (player, own, se) in enumerate(zip(players, elo.tolist(), errors, strict=True))
    ]
    return tuple(sorted(entries, key=by_rating))


# Performance: a player's strength, estimated from games against sample opponents alone.
# The model is that of every rating. The measured player is a newcomer, whatever else is known about it. An opponent's
# prior is its rating elsewhere, with that rating's error. If any opponent has one, the result is on that scale, and its
# error includes the opponents' errors. If none has, the mean of the opponents is put at the centre, and the error is
# that of the distance to it.


@dataclass(frozen=True, slots=True)
class Performance:
    """An estimate in Elo with its standard error."""

    elo: float
    se: float


def performances(
    log: Log, config: RatingConfig, opponents: Collection[str], known: Mapping[str, Prior]
) -> dict[str, Performance]:
    """Return the performance of every player in the log except the opponents. `known`: opponents rated elsewhere."""
    if not log.players:
        return {}
    there = [player for player in log.players if player in set(opponents)]
    table = rate(log, config, {player: known.get(player, Prior()) for player in log.players})
    with one_thread():
        games = tallies_of(table.tables, config.ranks, len(table.players)).games
        factor = spread_of(table.posterior, table.strengths, table.tables, config.ranks, games).factor
    place = {player: number for number, player in enumerate(table.players)}
    origin, apart = 0.0, np.zeros(len(table.players))
    if not known.keys() & set(there):
        among = [place[player] for player in there]
        origin, apart = float(np.mean(table.strengths[among])), factor[among].mean(axis=0)
    estimates = {}
    for player in set(log.players) - set(there):
        own = place[player]
        elo = config.centre_elo + ELO_PER_NAT * (float(table.strengths[own]) - origin)
        estimates[player] = Performance(elo, ELO_PER_NAT * math.dist(factor[own], apart))
    return estimates
