"""Lists: games, bots, a season's participants, a game's submissions with their verdicts; and the bots' environment."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.board import entered
from deadheat.api.pages.render import everyones, first_of, game_title, render
from deadheat.api.schemas import environment as schemas
from deadheat.api.schemas.base import RowId
from deadheat.engine.games import GAMES
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import bots_named
from deadheat.league.service.bots.bots import environment as newest_environment
from deadheat.league.service.seasons.entries import entries_named
from deadheat.league.service.seasons.seasons import leading_season, season_info
from deadheat.league.service.views.careers import game_counts
from deadheat.league.service.views.overview import newest_versions

router = APIRouter()

ROWS = 100
"""The number of lines on one page."""

Search = Annotated[str, Query(max_length=64)]
Page = Annotated[RowId, Query(le=100_000)]


@router.get("/games")
@everyones
def games(shared: Shared) -> str:
    """List all games, each with its league."""
    with shared.db.reading() as session:
        leading = [(name, leading_season(session, name)) for name in GAMES]
        lines = [
            (GAMES[name], game_counts(session, name), None if number is None else season_info(session, number))
            for name, number in leading
        ]
    return render(shared, "games.html", games=lines)


@router.get("/bots")
@everyones
def bots(shared: Shared, q: Search = "", game: Annotated[str, Query(max_length=64)] = "", page: Page = 1) -> str:
    """List the bots that are not retired, by game and name."""
    if game and game not in GAMES:
        raise NotFound("game", game)
    with shared.db.reading() as session:
        found, count = bots_named(session, q, game=game or None, skip=(page - 1) * ROWS, limit=ROWS)
    pages = -(-count // ROWS)
    return render(
        shared, "bots.html", bots=found, count=count, q=q, game=game, games=tuple(GAMES), page=page, pages=pages
    )


@router.get("/games/{name}/submissions")
@everyones
def submissions(shared: Shared, name: str, before: Number = None) -> str:
    """List all versions of a game's bots, the newest first, each with its verdict."""
    if name not in GAMES:
        raise NotFound("game", name)
    with shared.db.reading() as session:
        found = newest_versions(session, ROWS + 1, game=name, before=before)
    shown, older = first_of(found, ROWS)
    return render(
        shared,
        "submissions.html",
        game=name,
        title=game_title(name),
        versions=shown,
        older=older,
        newest=before is None,
    )


@router.get("/seasons/{season_id}/participants")
@everyones
def participants(shared: Shared, season_id: Id, q: Search = "", page: Page = 1) -> str:
    """List all bots in a season, with their places."""
    with shared.db.reading() as session:
        season = season_info(session, season_id)
        found, count = entries_named(session, season_id, q, skip=(page - 1) * ROWS, limit=ROWS)
        rows = shared.boards.newest(session, season_id).standings["rows"]
    places = {row["bot_id"]: row for row in rows.of({entry.bot_id for entry in found}) if row["rank"] is not None}
    pages = -(-count // ROWS)
    return render(
        shared,
        "participants.html",
        season=season,
        lines=[entered(entry, places.get(entry.bot_id)) for entry in found],
        count=count,
        q=q,
        page=page,
        pages=pages,
    )


@router.get("/environment")
@everyones
def environment(shared: Shared) -> str:
    """Show the image's description of languages, versions, commands and limits."""
    with shared.db.reading() as session:
        found = newest_environment(session)
    described = None if found is None else schemas.Environment.of(found, shared.settings)
    return render(shared, "environment.html", environment=described, image=shared.settings.image)
