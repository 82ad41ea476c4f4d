"""Logs for tests of ratings, written out or drawn from known strengths."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deadheat.league.ratings import ELO_PER_NAT, Games, Log, log_of
from deadheat.league.ratings.log import NO_GROUP

Line = tuple[Any, ...]
"""A game: its players, their ranks and perhaps its group."""


def log(lines: Iterable[Line]) -> Log:
    full = [(*line, None)[:3] for line in lines]
    players = list(dict.fromkeys(player for seated, _, _ in full for player in seated))
    groups = list(dict.fromkeys(group for _, _, group in full if group is not None))
    games = []
    for seats in {len(seated) for seated, _, _ in full}:
        same = [line for line in full if len(line[0]) == seats]
        games.append(
            Games(
                np.array([[players.index(player) for player in seated] for seated, _, _ in same]),
                np.array([ranks for _, ranks, _ in same]),
                np.array([NO_GROUP if group is None else groups.index(group) for _, _, group in same]),
            )
        )
    return log_of(players, games, groups)


def lines_of(log: Log) -> Iterator[str]:
    """Return the log as lines that `league.ratings.log.read` reads."""
    for tables in log.tables:
        rows = zip(tables.players, tables.ranks, tables.groups, tables.counts, strict=True)
        for players, ranks, group, count in rows:
            game: dict[str, Any] = {
                "players": [log.players[player] for player in players],
                "ranks": [int(rank) + 1 for rank in ranks],
            }
            if group != NO_GROUP:
                game["group"] = log.groups[group]
            yield from [json.dumps(game) + "\n"] * int(count)


def duels(one: str, other: str, wins: int, losses: int = 0, draws: int = 0) -> list[Line]:
    pair = (one, other)
    return [(pair, (1, 2))] * wins + [(pair, (2, 1))] * losses + [(pair, (1, 1))] * draws


@dataclass(frozen=True)
class Drawn:
    """Games in random matchings, drawn from known strengths that are normal with a standard deviation of 200 Elo."""

    truth_elo: np.ndarray
    names: tuple[str, ...]
    games: Games
    groups: tuple[str, ...] = ()

    @property
    def log(self) -> Log:
        return log_of(self.names, [self.games], self.groups)


def names_of(players: int) -> tuple[str, ...]:
    return tuple(f"bot{number:04}" for number in range(players))


def drawn_duels(chance: np.random.Generator, players: int, games_each: int, seat_elo: float = 0.0) -> Drawn:
    """Draw duels: a fifth of equals' games end level; the mean result at any distance is Bradley and Terry's."""
    truth = chance.normal(0, 200, players)
    seated = matchings(chance, players, 2, games_each)
    ranks = duel_ranks(chance, truth[seated[:, 0]] - truth[seated[:, 1]] + seat_elo)
    return Drawn(truth, names_of(players), Games(seated, ranks))


def duel_ranks(chance: np.random.Generator, ahead_elo: np.ndarray) -> np.ndarray:
    """Draw the ranks of pairs in which the first player is `ahead_elo` stronger."""
    expected = 1 / (1 + np.exp(-ahead_elo / ELO_PER_NAT))
    drawn = 0.2 * 4 * expected * (1 - expected)
    throw = chance.random(len(expected))
    won, level = throw < expected - drawn / 2, throw < expected + drawn / 2
    return np.where(won[:, None], [1, 2], np.where(level[:, None], [1, 1], [2, 1]))


def drawn_tables(
    chance: np.random.Generator, players: int, seats: int, tables_each: int, seats_elo: Sequence[float] = ()
) -> Drawn:
    """Draw games by Plackett and Luce's model, adding a Gumbel variable to each strength (Yellott 1977)."""
    truth = chance.normal(0, 200, players)
    seated = matchings(chance, players, seats, tables_each)
    ahead = truth[seated] + np.array(seats_elo or [0.0] * seats)
    ranks = np.argsort(np.argsort(-(ahead / ELO_PER_NAT + chance.gumbel(size=seated.shape)), axis=1), axis=1) + 1
    return Drawn(truth, names_of(players), Games(seated, ranks))


def matchings(chance: np.random.Generator, players: int, seats: int, games_each: int) -> np.ndarray:
    """Return random tables of shape (games, seats); every player sits at one table of every round."""
    assert players % seats == 0
    return np.concatenate([chance.permutation(players).reshape(-1, seats) for _ in range(games_each)])
