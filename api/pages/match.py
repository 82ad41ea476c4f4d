"""A match: who won and why, the replay, whose fault a missed deadline was, and how to verify it all."""

from __future__ import annotations

import json

from fastapi import APIRouter, Response

from api.deps import Id, Shared
from api.pages.render import render
from api.replays import names, transcript_of
from api.services import Services
from engine.scenes import Scene, scenes
from league import service
from league.service.matches import MatchInfo

router = APIRouter(include_in_schema=False)

MAX_MOVES = 3000
"""Rows in the page's own table; the viewer and the transcript have all."""


@router.get("/matches/{match_id}")
def match(shared: Shared, match_id: Id) -> Response:
    """One match."""
    with shared.db.reading() as session:
        detail = service.match_detail(session, match_id)
        info = service.season_info(session, detail.match.season_id)
        rulings = service.audit_log(session, subject=f"match/{match_id}", limit=20)
    content = render(
        shared,
        "match.html",
        match=detail.match,
        names=names(detail.match),
        season=info,
        rulings=[(ruling, json.loads(ruling.data)) for ruling in rulings],
        attempts=detail.attempts,
        latencies=detail.latencies,
        moves=_moves(shared, detail.match),
        winners=winners(detail.match),
    )
    return Response(content, media_type="text/html")


def winners(match: MatchInfo) -> list[str]:
    """The bots of the first rank, if not all of them are."""
    first = [seat.bot for seat in match.seats if seat.rank == 1]
    return first if len(first) < len(match.seats) else []


def _moves(shared: Services, match: MatchInfo) -> list[Scene]:
    """The match in words; the page does without where the store has lost it."""
    transcript = transcript_of(shared, match)
    return [] if transcript is None else scenes(transcript, names(match))[:MAX_MOVES]
