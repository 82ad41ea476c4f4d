"""Performance: a player's strength, estimated from games against sample opponents alone.

The model is that of every rating. The measured player is a newcomer, whatever else is known about it. An opponent's
prior is its rating elsewhere, with that rating's error. If any opponent has one, the result is on that scale, and its
error includes the opponents' errors. If none has, the mean of the opponents is put at the centre, and the error is that
of the distance to it.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from deadheat.league.ratings.errors import spread_of
from deadheat.league.ratings.linear import one_thread
from deadheat.league.ratings.log import Log
from deadheat.league.ratings.pairs import tallies_of
from deadheat.league.ratings.prior import ELO_PER_NAT, Prior, RatingConfig
from deadheat.league.ratings.table import rate


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
    found = {}
    for player in set(log.players) - set(there):
        own = place[player]
        elo = config.centre_elo + ELO_PER_NAT * (float(table.strengths[own]) - origin)
        found[player] = Performance(elo, ELO_PER_NAT * math.dist(factor[own], apart))
    return found
