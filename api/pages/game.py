"""A game: its rules, its seasons, the best bots, and programs to start from."""

from __future__ import annotations

import io
import zipfile
from functools import cache

from fastapi import APIRouter, Response
from markupsafe import Markup

from deadheat.api.deps import Shared
from deadheat.api.pages.markdown import rendered
from deadheat.api.pages.pictures.charts import bars
from deadheat.api.pages.render import everyones, game_title, render
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of, house_bots, protocol_of
from deadheat.engine.games.variants import parameters
from deadheat.engine.language import language
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.environments import environment
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.views import careers
from deadheat.league.service.views.matches import matches
from deadheat.league.service.views.news import newest_versions
from deadheat.league.states import MatchState

router = APIRouter(prefix="/games", include_in_schema=False)

TOP = 10
"""The number of players shown."""
SEASONS = 20
RECENT = 10
"""The number of newest versions and matches shown."""


@router.get("/{name}")
@everyones
def game(shared: Shared, name: str) -> str:
    """Show a game."""
    if name not in GAMES:
        raise NotFound("game", name)
    with shared.db.reading() as session:
        seasons = league_seasons.seasons(session, SEASONS, game=name)
        current = league_seasons.leading_season(session, name)
        board = shared.boards.newest(session, current.id) if current else None
        versions = newest_versions(session, RECENT, game=name)
        counts = careers.game_counts(session, name)
        judged = environment(session)
        recent = matches(session, season_id=current.id, state=MatchState.DONE, limit=RECENT) if current else []
    top = [row for row in board.standings["rows"] if row["rank"] is not None][:TOP] if board else []
    return render(
        shared,
        "game.html",
        game=GAMES[name],
        title=game_title(name),
        rules=rules(name, language()),
        parameters=list(parameters(GAMES[name])),
        seasons=seasons,
        current=current,
        top=list(zip(top, bars(top), strict=True)),
        versions=versions,
        counts=counts,
        environment=judged,
        matches=recent,
        kits=kits(name),
    )


@router.get("/{name}/kits/{kit}.zip")
def kit(name: str, kit: str) -> Response:
    """Download a program to start from, in the form in which it can be uploaded."""
    if name not in GAMES or kit not in kits(name):
        raise NotFound("starter kit", kit)
    headers = {"Content-Disposition": f'attachment; filename="{name}-{kit}.zip"'}
    return Response(zipped(name, kit), headers=headers, media_type="application/zip")


@cache
def rules(name: str, reader: str) -> Markup | None:
    """The game's page for bot authors, in the reader's language or in English; None if it has none."""
    path = protocol_of(name, reader)
    return rendered(path.read_text(encoding="utf-8"), prefix="rules-") if path is not None else None


@cache
def kits(name: str) -> tuple[str, ...]:
    """The game's house bots, those to start from first."""
    return tuple(sorted(house_bots(name), key=lambda kit: (kit != "starter", not kit.startswith("hello"), kit)))


@cache
def zipped(name: str, kit: str) -> bytes:
    """Zip the program's files; the bytes are the same each time."""
    folder = bots_of(name) / kit
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes())
    return made.getvalue()
