"""Rankings kept as they were read: a ranking never changes, and reading one of thousands takes a while."""

from __future__ import annotations

from collections import OrderedDict

from sqlmodel import Session

from league.service.rankings.standings import Leaderboard, leaderboard, newest_snapshot

KEPT = 8
"""Seasons whose newest ranking is kept; one of 2,000 bots is about 10 MB as objects."""


class Boards:
    """The newest ranking of the seasons that are looked at, the least recently used dropped first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Leaderboard] = OrderedDict()

    def newest(self, session: Session, season_id: int) -> Leaderboard:
        """The newest ranking; of one that is kept the database is asked for its number alone. Raises NotFound."""
        newest = newest_snapshot(session, season_id)
        board = self._kept.get(season_id)
        if board is None or board.snapshot_id != newest:
            board = leaderboard(session, season_id)
        self._kept[season_id] = board
        self._kept.move_to_end(season_id)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return board
