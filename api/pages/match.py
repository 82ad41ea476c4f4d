"""A match: result, faults, times, attempts, events."""

from __future__ import annotations

import json
import logging

from fastapi import APIRouter, Response

from api.deps import Id, Shared
from api.pages.render import render, shown
from api.services import Services
from engine.core import Event
from engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, decode
from league import service
from league.errors import BlobDamaged, BlobMissing
from league.service.matches import MatchInfo

router = APIRouter(include_in_schema=False)

log = logging.getLogger(__name__)

MAX_EVENTS = 5000
"""Rows of events on one page; every game has far fewer."""


@router.get("/matches/{match_id}")
def match(shared: Shared, match_id: Id) -> Response:
    """One match: result, faults, times, attempts, events."""
    with shared.db.reading() as session:
        detail = service.match_detail(session, match_id)
        info = service.season_info(session, detail.match.season_id)
        rulings = service.audit_log(session, subject=f"match/{match_id}", limit=20)
    content = render(
        shared,
        "match.html",
        match=detail.match,
        season=info,
        rulings=[(ruling, json.loads(ruling.data)) for ruling in rulings],
        attempts=detail.attempts,
        latencies=detail.latencies,
        events=_events(shared, detail.match),
        winners=winners(detail.match),
    )
    return Response(content, media_type="text/html")


def winners(match: MatchInfo) -> list[str]:
    """The bots of the first rank, if not all of them are."""
    first = [seat.bot for seat in match.seats if seat.rank == 1]
    return first if len(first) < len(match.seats) else []


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
