"""A season's statistics in pictures: points between bots, cycles, the value of seats, and the ratings' fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.render import everyones, render
from deadheat.league.records.rankings import NORMAL_95
from deadheat.league.service.seasons.seasons import season_info

router = APIRouter(prefix="/seasons/{season_id}")

CYCLES = 3
"""The number of cycles drawn: those in which the weakest of the three wins is clearest."""

HEATS = 10
"""The number of steps of the heat map's scale, from no points to all of them."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """One bot's points in the games against another, as text, and the step of the scale."""

    text: str
    heat: int


@dataclass(frozen=True, slots=True)
class Beat:
    """One bot took more than half of the points from another."""

    winner: Row
    loser: Row
    text: str


@dataclass(frozen=True, slots=True)
class SeatBar:
    """A seat's value in Elo, its 95 % interval, and their places in the picture (0 to 100)."""

    seat: int
    elo: float
    low: float
    high: float
    places: tuple[float, float, float]


@router.get("/statistics")
@everyones
def statistics(shared: Shared, season_id: Id) -> str:
    """Show the figures beside the ranking."""
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        board = shared.boards.newest(session, season_id)
    standings = board.standings
    return render(
        shared,
        "statistics.html",
        season=info,
        board=board,
        pairs=points(standings),
        cycles=cycles(standings),
        fit=standings["fit"],
        tables=[(effect["seats"], effect["tables"], seat_bars(effect)) for effect in standings["seats"]],
    )


@router.get("/matrix")
def matrix(season_id: Id) -> RedirectResponse:
    """Redirect from the page's former address."""
    return RedirectResponse(f"/seasons/{season_id}/statistics", 308)


def points(standings: Row) -> list[tuple[Row, list[Cell | None]]]:
    """Return the counted bots, each with its points against the others; None if two did not meet."""
    pairs = standings["pairs"]
    if pairs is None or len(standings["rows"]) < 2:
        return []
    first = standings["rows"][: len(pairs["version_ids"])]
    return [
        (row, [_cell(took, of) for took, of in zip(won, played, strict=True)][: len(first)])
        for row, won, played in zip(first, pairs["points"], pairs["games"], strict=False)
    ]


def _cell(took: float, of: int) -> Cell | None:
    return Cell(f"{took:g}/{of}", round(HEATS * took / of)) if of else None


def cycles(standings: Row) -> list[tuple[Beat, Beat, Beat]]:
    """Return the clearest cycles among the first bots: each beats the next, and the last beats the first."""
    pairs = standings["pairs"]
    if pairs is None:
        return []
    rows, won, of = standings["rows"][: len(pairs["version_ids"])], pairs["points"], pairs["games"]
    found = []
    for three in combinations(range(len(rows)), 3):
        for a, b, c in (three, three[::-1]):
            edges = ((a, b), (b, c), (c, a))
            if all(of[i][j] and 2 * won[i][j] > of[i][j] for i, j in edges):
                clear = min((won[i][j] - of[i][j] / 2) / of[i][j] ** 0.5 for i, j in edges)
                beats = [Beat(rows[i], rows[j], f"{won[i][j]:g} : {won[j][i]:g}") for i, j in edges]
                found.append((clear, (beats[0], beats[1], beats[2])))
    found.sort(key=lambda one: -one[0])
    return [beats for _, beats in found[:CYCLES]]


def seat_bars(effect: Row) -> list[SeatBar]:
    """Return the seats of tables of one size on a common scale with zero in the middle."""
    errors = [NORMAL_95 * se for se in effect["se_elo"]]
    most: float = max([abs(elo) + error for elo, error in zip(effect["elo"], errors, strict=True)] + [10.0])

    def place(elo: float) -> float:
        return round(50 + 50 * elo / most, 1)

    return [
        SeatBar(seat, elo, elo - error, elo + error, (place(elo - error), place(elo), place(elo + error)))
        for seat, (elo, error) in enumerate(zip(effect["elo"], errors, strict=True))
    ]
