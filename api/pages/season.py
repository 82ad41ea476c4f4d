"""A season: its leaderboard and newest matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from fastapi import APIRouter, Request, Response

from api.deps import Id, Shared
from api.pages.render import page, render
from league import service
from league.beside import sentences
from league.service.seasons import SeasonInfo
from league.states import MatchState

router = APIRouter(include_in_schema=False)

RECENT = 20
"""Matches shown below the leaderboard."""


PAIRS = 12
"""Bots in the table of points; more columns would not be read."""

Row = Mapping[str, Any]


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
        standings = board.standings
        return render(
            shared,
            "season.html",
            season=info,
            announcements=announcements,
            dates=dates(info),
            progress=progress,
            board=board,
            rows=standings["rows"],
            divisions=by_division(standings["rows"], {one.number: one.name for one in info.divisions}),
            second=any(row["plackett_luce"] is not None for row in standings["rows"]),
            totals=standings["totals"],
            beside=sentences(standings["fit"], standings["seats"]) if standings["fit"] else [],
            pairs=points(standings),
            matches=recent,
        )

    return await page(shared, request, ("season", season_id), make)


def dates(info: SeasonInfo) -> list[tuple[str, datetime]]:
    """What happens by date, in order."""
    chosen = (
        ("opens", info.opens_at),
        ("freezes", info.freezes_at),
        ("finals", info.finals_at),
        ("closes", info.closes_at),
    )
    return [(what, at) for what, at in chosen if at is not None]


def by_division(rows: Sequence[Row], names: Mapping[int, str]) -> dict[str, list[tuple[Row, Bar]]]:
    """The rows of each division by its name, with the pictures of their intervals on one common scale."""
    found: dict[str, list[tuple[Row, Bar]]] = {}
    for row, bar in zip(rows, bars(rows), strict=True):
        found.setdefault(names[row["division"]], []).append((row, bar))
    return found


def points(standings: Row) -> list[tuple[str, list[str]]]:
    """The first bots, each with what it took from the others: points of games."""
    pairs = standings["pairs"]
    if pairs is None or len(standings["rows"]) < 2:
        return []
    first = standings["rows"][: min(PAIRS, len(pairs["version_ids"]))]
    return [
        (row["bot"], [f"{took:g}/{of}" if of else "" for took, of in list(zip(won, played, strict=True))[: len(first)]])
        for row, won, played in zip(first, pairs["points"], pairs["games"], strict=False)
    ]


def bars(rows: Sequence[Row]) -> list[Bar]:
    """Each row's interval on one common scale, which has room for the median interval at either end: those of bots
    that have just come are cut off, or everybody else's would be points.
    """
    if not rows:
        return []
    room = median((row["high"] - row["low"]) / 2 for row in rows)
    least, most = min(row["elo"] for row in rows) - room, max(row["elo"] for row in rows) + room
    width = (most - least) or 1.0
    shares = [[100 * (row[name] - least) / width for name in ("low", "elo", "high")] for row in rows]
    return [Bar(*(round(min(max(share, 0.0), 100.0), 2) for share in three)) for three in shares]
