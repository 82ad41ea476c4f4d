"""Rulings on results and entries, and authors' withdrawals. Everything but a recorded reason can be reversed."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.deps import REFUSED, Asker, Id, Shared
from deadheat.api.schemas import rulings as shapes
from deadheat.api.schemas.base import PAGE_LIMIT
from deadheat.api.schemas.matches import HeldMatches
from deadheat.league.records.rulings import Rejudged, RuledOn
from deadheat.league.service.rulings import rulings
from deadheat.league.service.seasons import absence
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views import voids

router = APIRouter(prefix="/v1", tags=["rulings"])


@router.post("/matches/{match_id}/void", responses=REFUSED)
def void_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> RuledOn:
    """Take a finished match out of the log of results and update the ranking. Organisers only."""
    with shared.db.transaction() as session:
        changed = rulings.void_match(session, asker, match_id, body.reason)
    return RuledOn(match_id=match_id, changed=changed)


@router.post("/matches/{match_id}/restore", responses=REFUSED)
def restore_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> RuledOn:
    """Restore a voided match; the ranking is then exactly as it was before. Organisers only."""
    with shared.db.transaction() as session:
        changed = rulings.restore_match(session, asker, match_id, body.reason)
    return RuledOn(match_id=match_id, changed=changed)


@router.post("/matches/{match_id}/rejudge", status_code=201, responses=REFUSED)
def rejudge_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> Rejudged:
    """Void a finished match, or take a held one, and replay it with the same versions and seats but different dice.
    Organisers only.
    """
    with shared.db.transaction() as session:
        again = rulings.rejudge_match(session, asker, match_id, body.reason)
    return Rejudged(match_id=again)


@router.get("/held-matches", responses={401: {}, 403: {}})
def held_matches(shared: Shared, asker: Asker) -> HeldMatches:
    """List matches that the service failed to play and an organiser must decide, the oldest first. Organisers only."""
    with shared.db.reading() as session:
        return HeldMatches(items=rulings.held_matches(session, asker, PAGE_LIMIT))


@router.post("/matches/{match_id}/decide", status_code=204, responses={**REFUSED, 422: {}})
def decide_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Decision) -> None:
    """Decide that a seat loses a held match, as if by forfeit. Organisers only."""
    with shared.db.transaction() as session:
        rulings.decide_match(session, asker, match_id, body.seat, body.reason)


@router.post("/matches/{match_id}/leave", status_code=204, responses=REFUSED)
def leave_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> None:
    """Leave a held match unplayed. Organisers only."""
    with shared.db.transaction() as session:
        rulings.leave_match(session, asker, match_id, body.reason)


@router.get("/seasons/{season_id}/voids", responses={401: {}, 403: {}, 404: {}})
def season_voids(shared: Shared, asker: Asker, season_id: Id) -> shapes.SeasonVoids:
    """List versions with more void attempts than others on the same machines. Organisers only."""
    with shared.db.reading() as session:
        season_info(session, season_id)
        return shapes.SeasonVoids(items=voids.season_voids(session, asker, season_id))


@router.post("/seasons/{season_id}/entries/{bot_id}/disqualify", status_code=204, responses=REFUSED)
def disqualify(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: shapes.Reason) -> None:
    """Disqualify a bot: no new matches, and none of its matches counts until it is reinstated. Organisers only."""
    with shared.db.transaction() as session:
        absence.disqualify(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/reinstate", status_code=204, responses=REFUSED)
def reinstate(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: shapes.Reason) -> None:
    """Reverse a disqualification or withdrawal. Organisers only."""
    with shared.db.transaction() as session:
        absence.reinstate(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/withdraw", status_code=204, responses=REFUSED)
def withdraw(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: shapes.Reason | None = None) -> None:
    """Withdraw a bot: no new matches; those played count. Authors may withdraw their own bots until the season is
    frozen; waiting series are played. Organisers may withdraw any bot at any time, with a reason; waiting series are
    dropped.
    """
    with shared.db.transaction() as session:
        if body is None:
            absence.withdraw(session, asker, season_id, bot_id)
        else:
            absence.take_out(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/rejoin", status_code=204, responses={**REFUSED, 429: {}})
def rejoin(shared: Shared, asker: Asker, season_id: Id, bot_id: Id) -> None:
    """Reverse your own withdrawal until the season is frozen; in an open season, only after a pause."""
    with shared.db.transaction() as session:
        absence.rejoin(session, asker, season_id, bot_id)
