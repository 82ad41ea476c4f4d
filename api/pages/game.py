"""A game: its rules, its seasons, the best bots, and starter programs."""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from fastapi import APIRouter, Response
from markupsafe import Markup

from deadheat.api.deps import Shared
from deadheat.api.pages.render import everyones, game_title, render
from deadheat.api.pages.texts.markdown import rendered
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of, house_bots, protocol_of
from deadheat.engine.games.variants import parameters
from deadheat.engine.intervals import bars
from deadheat.engine.language import _, language
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import environment
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.views import careers
from deadheat.league.service.views.matches import matches
from deadheat.league.service.views.overview import newest_versions
from deadheat.league.states import MatchState
from deadheat.sandbox.languages import LANGUAGES, MANIFEST, LanguageError, Recipe, detect

router = APIRouter(prefix="/games")
log = logging.getLogger(__name__)

TOP = 10
"""The number of players shown."""
SEASONS = 20
STARTERS = ("random", "starter")
"""The house bots that serve as starters, which every game has (`engine.games.folder`)."""
SMALLEST = "hello-"
"""The beginning of the names of the smallest bots."""
RECENT = 10
"""The number of newest versions and matches shown."""


@router.get("/{name}")
@everyones
def game(shared: Shared, name: str) -> str:
    if name not in GAMES:
        raise NotFound("game", name)
    with shared.db.reading() as session:
        seasons = league_seasons.seasons(session, SEASONS, game=name)
        leading = league_seasons.leading_season(session, name)
        current = next((season for season in seasons if season.id == leading), None)
        if current is None and leading is not None:
            current = league_seasons.season_info(session, leading)
        board = shared.boards.newest(session, current.id) if current else None
        versions = newest_versions(session, RECENT, game=name)
        counts = careers.game_counts(session, name)
        judged = environment(session)
        recent = matches(session, season_id=current.id, state=MatchState.DONE, limit=RECENT) if current else []
    ranked = (row for row in board.standings["rows"] if row["rank"] is not None) if board else iter(())
    top = [*islice(ranked, TOP)]
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
        kits=list(grouped(kits(name), None if judged is None else judged.languages)),
    )


@router.get("/{name}/kits/{kit}.zip")
def kit(name: str, kit: str) -> Response:
    """Download a starter program in the form in which it can be uploaded."""
    if name not in GAMES or kit not in house_bots(name):
        raise NotFound("starter kit", kit)
    headers = {"Content-Disposition": f'attachment; filename="{name}-{kit}.zip"'}
    return Response(zipped(name, kit), headers=headers, media_type="application/zip")


@cache
def rules(name: str, reader: str) -> Markup | None:
    """Return the game's page for bot authors, in the reader's language or in English; None if it has none."""
    path = protocol_of(name, reader)
    return rendered(path.read_text(encoding="utf-8"), prefix="rules-") if path is not None else None


@dataclass(frozen=True, slots=True)
class Kit:
    """A house bot as a starter program."""

    name: str
    language: Recipe


def grouped(kits: Sequence[Kit], installed: Set[str] | None) -> Iterator[tuple[str, Sequence[Kit]]]:
    """Yield the kits by purpose, each group with a sentence. Kits in languages that this server lacks, and refuses, are
    left out.
    """
    here = [kit for kit in kits if installed is None or kit.language.name in installed]
    first = [kit for kit in here if kit.name in STARTERS]
    smallest = [kit for kit in here if kit.name.startswith(SMALLEST)]
    yield _("To start from: legal, simple and with comments."), first
    yield _("The smallest bot, in each language."), smallest
    yield _("Stronger ones, to play against and to learn from."), [k for k in here if k not in (*first, *smallest)]


@cache
def kits(name: str) -> tuple[Kit, ...]:
    """Return the game's house bots, without folders that contain no program."""
    found = []
    for kit in house_bots(name):
        try:
            found.append(Kit(kit, LANGUAGES[_language(bots_of(name) / kit)]))
        except LanguageError as error:
            log.warning("%s: bots/%s is not offered: %s", name, kit, error)
    return tuple(found)


def _language(folder: Path) -> str:
    manifest = folder / MANIFEST
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return detect(".zip", files, manifest.read_text("utf-8") if manifest.is_file() else None)[0]


@cache
def zipped(name: str, kit: str) -> bytes:
    """Zip the program's files. The bytes are the same each time."""
    folder = bots_of(name) / kit
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.writestr(zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes())
    return made.getvalue()
