"""Tables as pairwise comparisons: each pair of a table's players is a win, a draw or a loss.

The season's setting decides which pairs are compared. By placement, all pairs count, and equal ranks are half a win for
each. By wins, only pairs with a first place count: the winner beat everybody else, and those who share the first place
drew; the order of the others means nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from deadheat.league.ratings.linear import Bools, Ints, Vector, are_dense, how_many
from deadheat.league.ratings.log import Tables
from deadheat.league.states import Ranks


def expected_results(ahead: Vector) -> Vector:
    """Return the expected result of a player that is `ahead`: 1 / (1 + exp(-ahead)), accurate even if tiny."""
    small = np.exp(-np.abs(ahead))
    return np.asarray(np.where(ahead >= 0, 1.0, small) / (1 + small), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two seats at the tables `rows`: `results` are 1, 1/2 or 0 for `seat` against `other_seat`."""

    seat: int
    other_seat: int
    rows: Ints  # (n,)
    results: Vector  # (n,)


def comparisons(tables: Tables, ranks: Ranks) -> Iterator[Comparison]:
    """Yield every pair of seats with the rows in which it counts."""
    everyone = np.arange(len(tables.counts))
    for seat, other_seat in combinations(range(tables.seats), 2):
        own, other = tables.ranks[:, seat], tables.ranks[:, other_seat]
        rows = everyone if ranks is Ranks.PLACEMENT else np.flatnonzero((own == 0) | (other == 0))
        results = (1.0 + (own < other)[rows] - (own > other)[rows]) / 2
        yield Comparison(seat, other_seat, rows, results)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Distinct pairs of players in ascending order, `first` < `second`. Counts are exact in floating point."""

    first: Ints
    second: Ints
    games: Vector
    wins: Vector  # the first player's, draws as halves
    squares: Vector  # the sum of the first player's squared results

    def only(self, chosen: Bools) -> "Pairs":
        """Return some of the pairs."""
        columns = (self.games, self.wins, self.squares)
        return Pairs(self.first[chosen], self.second[chosen], *(column[chosen] for column in columns))


def pairs_of(parts: Iterable[Tables], ranks: Ranks, players: int) -> Pairs:
    """Return all comparisons, added up by pair. Players are numbered below `players`."""
    keys: list[Ints] = [np.zeros(0, np.int64)]
    results, counts = [np.zeros(0)], [np.zeros(0)]
    for tables in parts:
        for comparison in comparisons(tables, ranks):
            own = tables.players[comparison.rows, comparison.seat]
            other = tables.players[comparison.rows, comparison.other_seat]
            keys.append(np.minimum(own, other) * players + np.maximum(own, other))
            results.append(np.where(own < other, comparison.results, 1 - comparison.results))
            counts.append(tables.counts[comparison.rows].astype(np.float64))
    found, pair = _distinct(np.concatenate(keys), players**2)
    result, count = np.concatenate(results), np.concatenate(counts)
    first, second = np.divmod(found, max(players, 1))
    games, wins, squares = (
        np.bincount(pair, weight, minlength=len(found)).astype(np.float64)
        for weight in (count, count * result, count * result**2)
    )
    return Pairs(first, second, games, wins, squares)


def _distinct(keys: Ints, below: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in ascending order, and each key's place among them."""
    if not are_dense(keys, below):
        found, places = np.unique(keys, return_inverse=True)
        return found, places
    found = np.flatnonzero(np.bincount(keys, minlength=below))
    place = np.zeros(below, np.int64)
    place[found] = np.arange(len(found))
    return found, place[keys]


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """The games of each player and their results; each array is (players,).

    By placement, wins, draws and losses count each opponent at a table. By wins, they count tables: won, with a shared
    first place, and the rest.
    """

    games: Ints
    wins: Ints
    draws: Ints
    losses: Ints


def tallies_of(parts: Iterable[Tables], ranks: Ranks, players: int) -> Tallies:
    """Return the sums of each player's results."""
    totals = np.zeros((4, players))  # games, wins, draws, losses
    for tables in parts:
        for seat in range(tables.seats):
            own, others = tables.ranks[:, seat], np.delete(tables.ranks, seat, axis=1).T
            better, level = how_many(own < other for other in others), how_many(own == other for other in others)
            if ranks is Ranks.WINS:
                first = own == 0
                worse = np.where(first, 0, 1)
                better, level = (first & (level == 0)).astype(int), (first & (level > 0)).astype(int)
            else:
                worse = tables.seats - 1 - better - level
            amounts: tuple[int | Ints, ...] = (1, better, level, worse)
            for row, amount in enumerate(amounts):
                totals[row] += np.bincount(tables.players[:, seat], tables.counts * amount, minlength=players)
    return Tallies(*np.rint(totals).astype(np.int64))
