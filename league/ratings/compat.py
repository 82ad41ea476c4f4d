"""The list-of-objects interface that `league.service.standings` still uses; it goes with that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from league.ratings.log import Games, Log, log_of
from league.ratings.prior import Prior, RatingConfig
from league.ratings.table import RatingTable, rate


@dataclass(frozen=True, slots=True)
class Game:
    """One result: `ranks[i]` is the place of `players[i]`, 1 for the best, equal for a tie."""

    players: tuple[str, ...]
    ranks: tuple[int, ...]


def fit(games: Sequence[Game], config: RatingConfig, players: Sequence[str] = ()) -> RatingTable:
    """Ratings of everyone in the log and of `players`."""
    return rate(_log(games), config, {player: Prior() for player in players})


def log_sha256(games: Sequence[Game]) -> str:
    """Fingerprint of a log."""
    return _log(games).sha256


def _log(games: Sequence[Game]) -> Log:
    names = sorted({player for game in games for player in game.players})
    index = {name: place for place, name in enumerate(names)}
    parts = []
    for seats in {len(game.players) for game in games}:
        same = [game for game in games if len(game.players) == seats]
        seated = np.array([[index[player] for player in game.players] for game in same])
        parts.append(Games(seated, np.array([game.ranks for game in same])))
    return log_of(names, parts)
