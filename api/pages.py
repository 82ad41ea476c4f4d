"""The pages: home, a season with its leaderboard, a match, the judging environment. Rendered here; no script needed.

A page that many look at is rendered at most once a second and kept as bytes. Whatever came from a stranger passes
the templates' escaping and, where it may hold control or direction marks, the filter `shown`.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api import schemas
from api.caching import answer
from api.deps import Id, Shared
from api.services import SITE, Body, Services
from engine.core import NS_PER_MS, Event
from engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, decode
from league import service
from league.errors import BlobDamaged, BlobMissing
from league.service.matches import MatchInfo
from league.states import MatchState

router = APIRouter(include_in_schema=False)
log = logging.getLogger(__name__)

RECENT = 20
"""Matches shown below a leaderboard."""

MAX_EVENTS = 5000
"""Rows of events on one page; every game has far fewer."""

MAX_SHOWN = 300
"""Characters of one cell."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rating's interval as parts of the picture's width, 0 to 100."""

    low: float
    middle: float
    high: float


@router.get("/")
async def home(shared: Shared, request: Request) -> Response:
    """All seasons."""

    def render() -> str:
        with shared.db.reading() as session:
            seasons = service.seasons(session, limit=50)
            recent = service.matches(session, state=MatchState.DONE, limit=RECENT)
        return _render(shared, "home.html", seasons=seasons, matches=recent)

    return await _page(shared, request, "home", render)


@router.get("/seasons/{season_id}")
async def season(shared: Shared, request: Request, season_id: Id) -> Response:
    """The leaderboard and the newest matches."""

    def render() -> str:
        with shared.db.reading() as session:
            info = service.season_info(session, season_id)
            progress = service.season_progress(session, season_id)
            board = service.leaderboard(session, season_id)
            recent = service.matches(session, season_id=season_id, state=MatchState.DONE, limit=RECENT)
        rows = [row for row in board.standings["rows"] if row["active"]]
        return _render(
            shared,
            "season.html",
            season=info,
            progress=progress,
            board=board,
            rows=list(zip(rows, bars(rows), strict=True)),
            totals=board.standings["totals"],
            matches=recent,
        )

    return await _page(shared, request, ("season", season_id), render)


@router.get("/matches/{match_id}")
def match(shared: Shared, match_id: Id) -> Response:
    """One match: result, faults, times, attempts, events."""
    with shared.db.reading() as session:
        detail = service.match_detail(session, match_id)
        info = service.season_info(session, detail.match.season_id)
    content = _render(
        shared,
        "match.html",
        match=detail.match,
        season=info,
        attempts=detail.attempts,
        latencies=detail.latencies,
        events=_events(shared, detail.match),
        winners=winners(detail.match),
    )
    return Response(content, media_type="text/html")


@router.get("/environment")
async def environment(shared: Shared, request: Request) -> Response:
    """Languages, versions, commands and limits, as the image tells them."""

    def render() -> str:
        with shared.db.reading() as session:
            found = service.environment(session)
        described = None if found is None else schemas.Environment.of(found, shared.settings)
        return _render(shared, "environment.html", environment=described, image=shared.settings.image)

    return await _page(shared, request, "environment", render)


def templates() -> Jinja2Templates:
    """The site's templates; a name that a template misspells is an error, not an empty place."""
    environment = Environment(
        loader=FileSystemLoader(SITE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"shown": shown, "ms": ms, "instant": instant, "elo": elo, "share": share, "size": size}
    return Jinja2Templates(env=environment)


def bars(rows: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """Each row's interval on one common scale."""
    if not rows:
        return []
    least, most = min(row["low"] for row in rows), max(row["high"] for row in rows)
    width = (most - least) or 1.0
    return [Bar(*(round(100 * (row[name] - least) / width, 2) for name in ("low", "elo", "high"))) for row in rows]


def winners(match: MatchInfo) -> list[str]:
    """The bots of the first rank, if not all of them are."""
    first = [seat.bot for seat in match.seats if seat.rank == 1]
    return first if len(first) < len(match.seats) else []


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """Text as text: control and direction marks are spelled out, and the length is bounded."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    cut = text[:limit] + ("..." if len(text) > limit else "")
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in cut)


def ms(nanoseconds: float) -> str:
    """Nanoseconds as milliseconds with three figures or so."""
    value = nanoseconds / NS_PER_MS
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def instant(at: datetime) -> str:
    """UTC to the second."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def elo(value: float) -> str:
    """A rating: more figures than one would pretend to know."""
    return f"{value:.0f}"


def size(count_bytes: int) -> str:
    """Bytes in the largest binary unit that leaves one or more, to a tenth."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count_bytes >= 1 << power:
            return f"{round(count_bytes / (1 << power), 1):g} {unit}"
    return f"{count_bytes} bytes"


def share(part: int, whole: int) -> str:
    """As a percentage."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


async def _page(shared: Services, request: Request, key: object, render: Callable[[], str]) -> Response:
    body = shared.bodies.fresh(("page", key))
    if body is None:
        content = (await run_in_threadpool(render)).encode()
        digest = hashlib.sha256(content).hexdigest()[:32]
        body = shared.bodies.keep(("page", key), Body(digest, f'"{digest}"', content, "text/html"))
    return answer(request, body)


def _render(shared: Services, name: str, **values: Any) -> str:
    return shared.pages.get_template(name).render(**values)


def _events(shared: Services, match: MatchInfo) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Rows of round, type and the rest, for any game; the page does without where the store has lost them."""
    if match.transcript_sha256 is None:
        return []
    try:
        transcript = decode(shared.blobs.get(match.transcript_sha256, MAX_TRANSCRIPT_BYTES))
    except (BadTranscript, BlobDamaged, BlobMissing) as error:
        log.error("match %d has no readable transcript: %s", match.id, error)
        return []
    rows: list[tuple[str, str, list[tuple[str, str]]]] = []
    for event in transcript.events():
        if len(rows) == MAX_EVENTS:
            break
        rows.append(_row(event))
    return rows


def _row(event: Event) -> tuple[str, str, list[tuple[str, str]]]:
    rest = [(shown(key, 40), shown(value)) for key, value in event.items() if key not in {"type", "round"}]
    return shown(event.get("round", "")), shown(event.get("type", "")), rest
