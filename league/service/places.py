"""Who is before whom: a fitted ranking as places in divisions, finalists first.

Ratings say how strong; a season's rules say what follows from it. Each division has places of its own, and whoever
qualified for the finals comes before whoever did not, whatever the ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from sqlmodel import Session, select

from league.service.counting import taking_part
from league.service.teams import team_names
from league.tables import Entry

Row = dict[str, Any]

GapSe = Callable[[int, int], float]
"""The standard error of the distance between two versions' ratings, in Elo."""


def entered(session: Session, season_id: int) -> dict[int, tuple[int, bool]]:
    """Versions that take part: the division of each, and whether it is a finalist."""
    statement = select(Entry).where(Entry.season_id == season_id, taking_part(season_id))
    return {row.version_id: (row.division, row.finals_seed is not None) for row in session.exec(statement)}


def placed(session: Session, season_id: int, rows: Sequence[Row], gap_se: GapSe) -> list[Row]:
    """The rows of a ranking in order, with their places.

    Each row has ``version_id``, ``bot_id`` and ``elo`` already. Added are ``active``, ``rank`` (the place in the
    division, None for what plays no more), ``division``, ``finalist``, ``team`` (None: the author's own bot) and
    ``gap_se`` (of the distance to the next place; None for the last).
    """
    active = entered(session, season_id)
    statement = select(Entry.bot_id, Entry.division).where(Entry.season_id == season_id)
    divisions = dict(session.exec(statement).all())
    teams = team_names(session, list(divisions))
    full = []
    for row in rows:
        division, finalist = active.get(row["version_id"], (divisions.get(row["bot_id"], 1), False))
        added = {
            "active": row["version_id"] in active,
            "division": division,
            "finalist": finalist,
            "team": teams.get(row["bot_id"]),
        }
        full.append(row | added)
    full.sort(key=lambda row: (row["division"], not row["finalist"], -row["elo"], row["version_id"]))
    place: dict[int, int] = {}
    for row in full:
        place[row["division"]] = place.get(row["division"], 0) + row["active"]
        row["rank"] = place[row["division"]] if row["active"] else None
        row["gap_se"] = None
    for above, below in pairwise([row for row in full if row["active"]]):
        if above["division"] == below["division"]:
            above["gap_se"] = gap_se(above["version_id"], below["version_id"])
    return full
