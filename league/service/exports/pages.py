"""The common parts of an export's tables: their scope and their pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import col, select

from deadheat.league.tables import Participant

Row = dict[str, Any]
Page = tuple[list[Row], int | None]
"""Rows, and the key after which the next page begins, or None after the last page."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The requested part of a season: everything, or the matches of one bot with everyone in them."""

    season_id: int
    bot_id: int | None = None

    def of(self, match_id: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the condition on a column that names a match, or none if everything is wanted."""
        if self.bot_id is None:
            return ()
        return (col(match_id).in_(select(Participant.match_id).where(Participant.bot_id == self.bot_id)),)

    def about(self, bot_id: Any) -> tuple[ColumnElement[bool], ...]:
        """Return the condition on a column that names a bot, or none if everything is wanted."""
        return () if self.bot_id is None else (col(bot_id) == self.bot_id,)


def cells(row: object, *names: str) -> Row:
    """Return these columns of a row, under the same names."""
    return {name: cell(getattr(row, name)) for name in names}


def cell(value: Any) -> Any:
    """Return one value as it is exported: dates and words as text, lists and objects as JSON."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return value.value
    return json.dumps(value) if isinstance(value, (list, dict)) else value
