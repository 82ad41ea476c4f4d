"""An organiser's hands on results and entries, and an author's own leaving. Nothing here is final but a reason."""

from __future__ import annotations

from fastapi import APIRouter

from api import schemas_rulings as shapes
from api.deps import Asker, Id, Shared
from league import service

router = APIRouter(prefix="/v1", tags=["rulings"])

ORGANISER: dict[int | str, dict[str, object]] = {401: {}, 403: {}, 404: {}, 409: {}}
AUTHOR: dict[int | str, dict[str, object]] = {401: {}, 403: {}, 404: {}, 409: {}}


@router.post("/matches/{match_id}/void", responses=ORGANISER)
def void_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> shapes.RuledOn:
    """Take a finished match out of the log of results; the ranking follows. Organisers only."""
    with shared.db.transaction() as session:
        changed = service.void_match(session, asker, match_id, body.reason)
    return shapes.RuledOn(match_id=match_id, changed=changed)


@router.post("/matches/{match_id}/restore", responses=ORGANISER)
def restore_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> shapes.RuledOn:
    """Take the voiding back; the ranking is then exactly the one of before. Organisers only."""
    with shared.db.transaction() as session:
        changed = service.restore_match(session, asker, match_id, body.reason)
    return shapes.RuledOn(match_id=match_id, changed=changed)


@router.post("/matches/{match_id}/rejudge", status_code=201, responses=ORGANISER)
def rejudge_match(shared: Shared, asker: Asker, match_id: Id, body: shapes.Reason) -> shapes.Rejudged:
    """Void a finished match and play it again with the same versions and seats and with other dice. Organisers only."""
    with shared.db.transaction() as session:
        again = service.rejudge_match(session, asker, match_id, body.reason)
    return shapes.Rejudged(match_id=again)


@router.post("/seasons/{season_id}/entries/{bot_id}/disqualify", status_code=204, responses=ORGANISER)
def disqualify(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: shapes.Reason) -> None:
    """No new matches, and none of the bot's matches counts while it lasts. Organisers only."""
    with shared.db.transaction() as session:
        service.disqualify(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/reinstate", status_code=204, responses=ORGANISER)
def reinstate(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: shapes.Reason) -> None:
    """Take a disqualification or withdrawal back. Organisers only."""
    with shared.db.transaction() as session:
        service.reinstate(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/withdraw", status_code=204, responses=AUTHOR)
def withdraw(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: shapes.Reason | None = None) -> None:
    """No new matches; those played count. Authors: their own bots, until the season is frozen; series that wait are
    played. Organisers, with a reason: any bot, at any time; series that wait are dropped.
    """
    with shared.db.transaction() as session:
        if body is None:
            service.withdraw(session, asker, season_id, bot_id)
        else:
            service.take_out(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/rejoin", status_code=204, responses={**AUTHOR, 429: {}})
def rejoin(shared: Shared, asker: Asker, season_id: Id, bot_id: Id) -> None:
    """Take one's own withdrawal back, until the season is frozen; while it is open not at once."""
    with shared.db.transaction() as session:
        service.rejoin(session, asker, season_id, bot_id)
