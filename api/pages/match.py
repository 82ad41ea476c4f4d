"""A match: who won and why, the replay, the cause of a missed deadline, and how to verify everything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from deadheat.api.deps import Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.edge.middleware import POLICY
from deadheat.api.live import Telling, telling
from deadheat.api.pages.render import render
from deadheat.api.replays import VERSION, transcript_of
from deadheat.api.services import Body, Services
from deadheat.engine.language import N_, _, gettext, language
from deadheat.engine.scenes import scenes
from deadheat.league.errors import WITHHELD
from deadheat.league.records.matches import Match
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.series import live
from deadheat.league.service.views.matches import match_detail, neighbours
from deadheat.league.states import Asked, MatchState

router = APIRouter()

MAX_MOVES = 3000
"""The most rows in the page's own table; the viewer and the transcript have all moves."""

MAX_RULINGS = 100
"""The most decisions about the match that are shown, the newest; the audit log has all."""


@router.get("/matches/{match_id}")
def match(shared: Shared, request: Request, viewer: Viewer, match_id: Id) -> Response:
    with shared.db.reading() as session:
        detail = match_detail(session, match_id, viewer)
        info = season_info(session, detail.season_id)
        near = neighbours(session, detail)
        rulings = audit_log(session, subject=f"match/{match_id}", limit=MAX_RULINGS)
    content = render(
        shared,
        "match.html",
        match=detail,
        season=info,
        neighbours=near,
        rulings=[_ruling(entry) for entry in rulings],
        max_rulings=MAX_RULINGS,
        moves=_moves(shared, detail),
        watched=_watched(shared, detail, viewer),
        ended=ended(detail),
        withheld=gettext(WITHHELD),
        site=shared.settings.site_url or str(request.base_url).rstrip("/"),
        embeds=bool(shared.settings.embed_origins),
    )
    # Without the site's own address, the page contains the one that this request named.
    once = detail.asked is Asked.PRIVATE or not shared.settings.site_url
    headers = {"Cache-Control": NOWHERE} if once else None
    return Response(content, headers=headers, media_type="text/html")


def _moves(shared: Services, match: Match) -> Markup:
    """Return the moves in words; empty if there is no transcript that the reader may see, or if it is lost.

    They are kept like a viewer's documents. To read the transcript and make them takes two thirds of the page's time.
    """
    key, version = ("moves", language(), match.id), (match.transcript_sha256, VERSION, match.names)
    body = shared.bodies.current(key, version)
    if body is None:
        transcript = transcript_of(shared, match)
        if transcript is None:
            return Markup()
        moves = scenes(transcript, match.names)
        more = max(0, len(moves) - MAX_MOVES)
        text = render(shared, "moves.html", match=match, moves=moves[:MAX_MOVES], more_moves=more)
        body = shared.bodies.keep(key, Body(version, "", text.encode(), "text/html"))
    return Markup(body.content.decode())  # noqa: S704  a rendered template


@router.get("/matches/{match_id}/embed")
def embedded(shared: Shared, match_id: Id) -> Response:
    """Show only the board of a public match, for a frame on sites that the operator allows."""
    with shared.db.reading() as session:
        detail = match_detail(session, match_id)
    played = detail.state is MatchState.DONE and not detail.withheld
    content = render(shared, "embed.html", match=detail, played=played, told=ended(detail) if played else "")
    policy = POLICY.format(framed_by=shared.settings.embed_origins or "'none'")
    return Response(content, headers={"Content-Security-Policy": policy}, media_type="text/html")


WORDS = {
    "appeal-opened": N_("Appeal opened"),
    "appeal-withdrawn": N_("Appeal withdrawn"),
    "match-voided": N_("Match voided"),
    "match-restored": N_("Match restored"),
    "match-rejudged": N_("Match rejudged"),
    "match-held": N_("Match held"),
    "match-left": N_("Match left"),
}
"""Decisions described by their action alone."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A record of the audit log about this match, in words. `again`: the match that replaces it; `remark`: public facts
    about the person who decided.
    """

    words: str
    actor: str
    at: str
    why: str
    again: int | None
    remark: str


def _ruling(entry: AuditRecord) -> Ruling:
    said: dict[str, Any] = found if isinstance(found := json.loads(entry.data), dict) else {}
    words = gettext(WORDS.get(entry.action, entry.action.replace("-", " ").capitalize()))
    if entry.action == "appeal-ruled":
        words = _("Appeal upheld") if said.get("upheld") else _("Appeal rejected")
    if entry.action == "match-decided":
        words = _("Decided: seat %(seat)s lost", seat=said.get("lost_by_seat"))
    return Ruling(
        words=words,
        actor=entry.actor,
        at=entry.at[:16].replace("T", " "),
        why=said.get("reason") or said.get("ruling") or "",
        again=said.get("again"),
        remark=said.get("remark", ""),
    )


def _watched(shared: Services, match: Match, viewer: Person | None) -> Telling | None:
    """Describe a match that is not over."""
    if match.state is not MatchState.SCHEDULED:
        return None
    with shared.db.reading() as session:
        return telling(live.watch(session, match.id, viewer), match.names)


def ended(match: Match) -> str:
    """Return the result of a finished match as a sentence."""
    if all(seat.fault for seat in match.seats):  # not `rated`, which is never set at a promotion gate
        return _("Nobody won.")
    winners = [name for name, seat in zip(match.names, match.seats, strict=True) if seat.rank == 1]
    return _("A draw.") if len(winners) == len(match.seats) else _("%(names)s won.", names=", ".join(winners))
