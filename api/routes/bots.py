"""Bots: an author's entries over time."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from deadheat.api.deps import Asker, Id, Shared
from deadheat.api.schemas import bots as schemas
from deadheat.api.schemas.base import Items, RowId
from deadheat.league.records.bots import Bot
from deadheat.league.service.bots import bots
from deadheat.league.service.bots.bots import bot_info, bots_of
from deadheat.league.service.duels.views import panel_results
from deadheat.league.service.seasons import participation
from deadheat.league.service.seasons.participation import BotChange

router = APIRouter(prefix="/v1/bots", tags=["bots"])


@router.post("", status_code=201, responses={401: {}, 404: {}, 409: {}, 422: {}})
def create_bot(shared: Shared, asker: Asker, body: schemas.BotRequest, response: Response) -> Bot:
    """Create a bot without versions; upload one next."""
    with shared.db.transaction() as session:
        bot = bots.create_bot(session, asker, body.game, body.name, body.team_id)
    response.headers["Location"] = f"/v1/bots/{bot.id}"
    return bot


@router.get("", responses={401: {}})
def list_own_bots(shared: Shared, asker: Asker) -> Items[Bot]:
    """List your bots and those of your teams."""
    with shared.db.reading() as session:
        return Items[Bot](items=bots_of(session, asker))


@router.get("/{bot_id}", responses={404: {}})
def get_bot(shared: Shared, bot_id: Id) -> Bot:
    """Return the public facts about a bot."""
    with shared.db.reading() as session:
        return bot_info(session, bot_id)


@router.get("/{bot_id}/panels", responses={401: {}, 404: {}})
def list_panels(
    shared: Shared,
    asker: Asker,
    bot_id: Id,
    version: Annotated[RowId | None, Query(description="Only of this version, by its number.")] = None,
) -> schemas.Panels:
    """List the points of your bot's versions against the panels of their seasons, the newest hundred first. A version
    plays every bot of a panel as soon as it arrives.
    """
    with shared.db.reading() as session:
        return schemas.Panels(items=panel_results(session, asker, bot_id, version))


@router.patch("/{bot_id}", responses={401: {}, 403: {}, 404: {}, 409: {}})
def change_bot(shared: Shared, asker: Asker, bot_id: Id, body: schemas.BotChange) -> Bot:
    """Rename a bot, describe it, retire it or bring it back, and open or close it to people who want to play
    against it. While it is in no season, also give it to one of your teams or (as that team's captain) back to
    its creator. Fields that are left out stay as they are.
    """
    change = cast("BotChange", body.model_dump(exclude_unset=True))
    with shared.db.transaction() as session:
        return participation.change_bot(session, asker, bot_id, **change)
