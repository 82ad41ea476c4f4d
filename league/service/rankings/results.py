"""A season's log of results as arrays, streamed from the database as one whole number per seat.

A million matches of two are read in two seconds of CPU time and 30 MB; rows took twice the time, and objects ten times
the memory.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, ScalarResult, Select, cast
from sqlmodel import Session, col, func, select

from deadheat.league.ratings import Games, Log, log_of
from deadheat.league.ratings.linear import Ints
from deadheat.league.service.ground.counting import SEASONS_AT_A_TIME, counts
from deadheat.league.states import Purpose
from deadheat.league.tables import Match, Participant, Series

BITS = 6
"""The number of bits for a seat, and for a rank."""

MOST = 1 << BITS

AT_A_TIME = 20_000
"""The number of rows that the database returns at once."""


def season_log(session: Session, season_id: int, purpose: Purpose | None = None) -> Log:
    """Return the matches that count, or those of series with that purpose. Players are versions' ids as text.

    Matches with the same seed share their dice: they are a group, named by the seed's commitment.
    """
    codes = np.fromiter(_streamed(session, _packed(season_id, purpose)), np.int64)
    seats, ranks, versions = codes % MOST, codes // MOST % MOST, codes // MOST**2
    starts = np.flatnonzero(seats == 0)
    sizes = np.diff(starts, append=len(codes))
    groups, labels = _groups(session, season_id, purpose)
    assert len(groups) in (0, len(starts)), "a session that reads sees one instant"
    ids, players = np.unique(versions, return_inverse=True)
    games = []
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        places = starts[same][:, None] + np.arange(size)
        games.append(Games(players[places], ranks[places], groups[same] if len(groups) else None))
    return log_of([str(version) for version in ids], games, labels)


@lru_cache(SEASONS_AT_A_TIME)
def _packed(season_id: int, purpose: Purpose | None) -> Select[Any]:
    """Return the statement for one number for each seat, by match and seat."""
    version = cast(col(Participant.version_id), BigInteger)
    code = (version * MOST + col(Participant.rank)) * MOST + col(Participant.seat)
    statement = (
        select(code)
        .join(Match, col(Match.id) == Participant.match_id)
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    return _counted(statement, season_id, purpose)


def _groups(session: Session, season_id: int, purpose: Purpose | None) -> tuple[Ints, list[str]]:
    """Return, for each match, the index of its commitment; nothing if no two matches share a seed."""
    if session.connection().execute(_shared(season_id, purpose)).first() is None:
        return np.zeros(0, np.int64), []
    statement = _counted(select(Match.commitment).order_by(col(Match.id)), season_id, purpose)
    numbers: dict[str, int] = {}
    names = _streamed(session, statement)
    groups = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64)
    return groups, list(numbers)


@lru_cache(SEASONS_AT_A_TIME)
def _shared(season_id: int, purpose: Purpose | None) -> Select[Any]:
    """Return the statement for a commitment that several matches share."""
    commitments = _counted(select(Match.commitment), season_id, purpose).group_by(col(Match.commitment))
    return commitments.having(func.count() > 1).limit(1)


def _counted(statement: Select[Any], season_id: int, purpose: Purpose | None) -> Select[Any]:
    statement = statement.where(*counts(season_id))
    if purpose is not None:
        statement = statement.join(Series, col(Series.id) == Match.series_id).where(col(Series.purpose) == purpose)
    return statement


def _streamed(session: Session, statement: Select[Any]) -> ScalarResult[Any]:
    """Yield the values of the one column, bypassing the object mapper, which would double the time."""
    return session.connection().execute(statement, execution_options={"yield_per": AT_A_TIME}).scalars()
