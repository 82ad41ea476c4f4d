"""A game: its rules, its seasons, the best bots, and starter programs; and the authors' command as a wheel that matches
this server and is built from its files.
"""

import base64
import io
import json
import logging
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from deadheat import __version__
from deadheat.api.deps import Shared
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.pages.match import worth_watching
from deadheat.api.pages.render import everyones, game_title, render
from deadheat.api.pages.texts.markdown import OF_GAMES, rendered
from deadheat.api.services import SITE
from deadheat.engine.figures import bars
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of, house_bots, protocol_of
from deadheat.engine.games.variants import parameters
from deadheat.engine.language import _, language
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import environment, installed_languages
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.views import careers
from deadheat.league.service.views.matches import matches
from deadheat.league.service.views.overview import newest_versions
from deadheat.league.states import MatchState
from deadheat.sandbox.languages import LANGUAGES, MANIFEST, LanguageError, Recipe, detect

router = APIRouter()
log = logging.getLogger(__name__)

TOP_PLAYERS = 10
SEASONS = 20
STARTERS = ("random", "starter")
"""The house bots that serve as starters, which every game has (`engine.games.folder`)."""
SMALLEST_PREFIX = "hello-"
RECENT = 10


@router.get("/games/{name}")
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
        judged = environment(session)
        values: dict[str, Any] = {
            "versions": newest_versions(session, RECENT, game=name),
            "counts": careers.game_counts(session, name),
            "worth": worth_watching(shared, session, current.id) if current else {},
            "matches": matches(session, season_id=current.id, state=MatchState.DONE, limit=RECENT) if current else [],
        }
    ranked = (row for row in board.standings["rows"] if row["rank"] is not None) if board else iter(())
    top = [*islice(ranked, TOP_PLAYERS)]
    values |= {
        "title": game_title(name),
        "sentence": sentence(name, language()),
        "rules": rules(name, language()),
        "parameters": list(parameters(GAMES[name])),
        "top": list(zip(top, bars(top), strict=True)),
        "kits": list(grouped(kits(name), None if judged is None else judged.languages)),
    }
    return render(shared, "game.html", game=GAMES[name], seasons=seasons, current=current, environment=judged, **values)


@router.get("/games/{name}/kits/{kit}.zip")
def kit(name: str, kit: str) -> Response:
    if name not in GAMES or kit not in house_bots(name):
        raise NotFound("starter kit", kit)
    headers = {"Content-Disposition": f'attachment; filename="{name}-{kit}.zip"'}
    return Response(_zipped(name, kit), headers=headers, media_type="application/zip")


@cache
def _zipped(name: str, kit: str) -> bytes:
    folder, made = bots_of(name) / kit, io.BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.writestr(ZipInfo(str(path.relative_to(folder))), path.read_bytes())  # always the same
    return made.getvalue()


@cache
def rules(name: str, reader: str) -> Markup | None:
    """Return the game's page for bot authors, in the reader's language or in English; None if it has none."""
    path = protocol_of(name, reader)
    return rendered(path.read_text(encoding="utf-8"), OF_GAMES, prefix="rules-") if path is not None else None


@cache
def sentence(name: str, reader: str) -> str:
    """Return the first sentence of the game's rules, which says what its players do; empty if there are none."""
    path = protocol_of(name, reader)
    paragraphs = [] if path is None else path.read_text(encoding="utf-8").split("\n\n")
    first = next((" ".join(text.split()) for text in paragraphs if text[:1].isalnum()), "")
    return re.split(r"(?<=[.!?]) ", first, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class Kit:
    name: str
    language: Recipe


def grouped(kits: Sequence[Kit], installed: Set[str] | None) -> Iterator[tuple[str, Sequence[Kit]]]:
    """Yield the kits by purpose, each group with a sentence. Kits in languages that this server lacks, and refuses, are
    left out.
    """
    here = [kit for kit in kits if installed is None or kit.language.name in installed]
    first = [kit for kit in here if kit.name in STARTERS]
    smallest = [kit for kit in here if kit.name.startswith(SMALLEST_PREFIX)]
    yield _("To start from: legal, simple and with comments."), first
    yield _("The smallest bot, in each language."), smallest
    yield _("Stronger ones, to play against and to learn from."), [k for k in here if k not in (*first, *smallest)]


@cache
def kits(name: str) -> tuple[Kit, ...]:
    """Return the game's house bots, without folders that contain no program."""
    offered = []
    for kit in house_bots(name):
        try:
            folder = bots_of(name) / kit
            manifest = folder / MANIFEST
            files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
            language, _ = detect(".zip", files, manifest.read_text("utf-8") if manifest.is_file() else None)
            offered.append(Kit(kit, LANGUAGES[language]))
        except LanguageError as error:
            log.warning("%s: bots/%s is not offered: %s", name, kit, error)
    return tuple(offered)


TREE = SITE.parents[1]
NAME = f"deadheat-{__version__}-py3-none-any.whl"
STAMP = "deadheat/league.json"
BUILD_SECONDS = 60

_building = threading.Lock()


@router.get("/download")
def download(shared: Shared, request: Request) -> Response:
    site = shared.settings.site_url or str(request.base_url).rstrip("/")
    wheel = f"{site}/download/{NAME}" if _can_build() else None
    page = render(shared, "download.html", wheel=wheel, site=site, file=NAME, version=__version__)
    kept = {} if shared.settings.site_url else {"Cache-Control": NOWHERE}  # it then contains the request's Host
    return Response(page, headers=kept, media_type="text/html")


@router.get("/download/{name}")
def wheel(shared: Shared, name: str) -> Response:
    """Return the wheel. Processes with the same files and settings return the same bytes."""
    if name != NAME or not _can_build():
        raise NotFound("download", name)
    languages = shared.read(installed_languages)
    about: dict[str, object] = {} if languages is None else {"languages": sorted(languages)}
    if shared.settings.site_url:  # not the request's Host, which is anybody's choice
        about["server"] = shared.settings.site_url
    with _building:
        content = _built(json.dumps(about).encode())
    return Response(content, media_type="application/octet-stream")


def _can_build() -> bool:
    """Say whether this server runs from a source tree, because an installed package cannot be built again."""
    return (TREE / "pyproject.toml").is_file()


@lru_cache(1)
def _built(about: bytes) -> bytes:
    """Build the wheel, with what its command should know about this league as a file that its RECORD lists."""
    line = f"{STAMP},sha256={base64.urlsafe_b64encode(sha256(about).digest()).decode().rstrip('=')},{len(about)}\n"
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="deadheat-wheel-") as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        subprocess.run(command, cwd=TREE, check=True, capture_output=True, timeout=BUILD_SECONDS)
        with ZipFile(Path(folder) / NAME) as built, ZipFile(buffer, "w", ZIP_DEFLATED) as wheel:
            wheel.writestr(ZipInfo(STAMP), about)
            for each in built.infolist():
                more = line if each.filename.endswith(".dist-info/RECORD") else ""
                wheel.writestr(each, built.read(each) + more.encode())
    return buffer.getvalue()
