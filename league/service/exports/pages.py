"""What the tables of an export have in common: their scope and their pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import col, select

from league.tables import Participant

Row = dict[str, Any]
Page = tuple[list[Row], int | None]
"""Rows, and the key above which the next page begins; None: that was all."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a season is wanted: everything, or the matches of one bot with all who played in them."""

    season_id: int
    bot_id: int | None = None

    def of(self, match_id: Any) -> tuple[ColumnElement[bool], ...]:
        """The condition on a column that names a match; none where everything is wanted."""
        if self.bot_id is None:
            return ()
        return (col(match_id).in_(select(Participant.match_id).where(Participant.bot_id == self.bot_id)),)

    def about(self, bot_id: Any) -> tuple[ColumnElement[bool], ...]:
        """The same of a column that names a bot."""
        return () if self.bot_id is None else (col(bot_id) == self.bot_id,)
