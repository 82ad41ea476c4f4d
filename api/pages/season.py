"""A season: its leaderboard and newest matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from api.deps import Id, Shared
from api.pages.render import page, render
from league import service
from league.states import MatchState

router = APIRouter(include_in_schema=False)

RECENT = 20
"""Matches shown below the leaderboard."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rating's interval as parts of the picture's width, 0 to 100."""

    low: float
    middle: float
    high: float


@router.get("/seasons/{season_id}")
async def season(shared: Shared, request: Request, season_id: Id) -> Response:
    """The leaderboard and the newest matches."""

    def make() -> str:
        with shared.db.reading() as session:
            info = service.season_info(session, season_id)
            progress = service.season_progress(session, season_id)
            board = service.leaderboard(session, season_id)
            announcements = service.announcements(session, season_id, limit=3)
            recent = service.matches(session, season_id=season_id, state=MatchState.DONE, limit=RECENT)
        rows = [row for row in board.standings["rows"] if row["active"]]
        return render(
            shared,
            "season.html",
            season=info,
            announcements=announcements,
            progress=progress,
            board=board,
            rows=list(zip(rows, bars(rows), strict=True)),
            totals=board.standings["totals"],
            matches=recent,
        )

    return await page(shared, request, ("season", season_id), make)


def bars(rows: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """Each row's interval on one common scale."""
    if not rows:
        return []
    least, most = min(row["low"] for row in rows), max(row["high"] for row in rows)
    width = (most - least) or 1.0
    return [Bar(*(round(100 * (row[name] - least) / width, 2) for name in ("low", "elo", "high"))) for row in rows]
