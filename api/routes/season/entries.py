"""Entries: bots in seasons."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import REFUSED, Asker, Id, Shared
from deadheat.api.schemas import base
from deadheat.api.schemas import entries as schemas
from deadheat.league.pairing.duel import Duel
from deadheat.league.records.entries import Challenge, Entry, Waiting
from deadheat.league.service.duels.views import challenges
from deadheat.league.service.seasons import entries as league_entries
from deadheat.league.service.seasons.divisions import assign_division
from deadheat.league.service.seasons.entries import Gate, entries, entry_info
from deadheat.league.service.views.forecasts import waiting

router = APIRouter(prefix="/v1/seasons/{season_id}/entries", tags=["entries"])


class EntryPage(base.Page):
    """The filter of a list of entries, which are small."""

    most = base.MOST_LISTED
    limit: base.Limit = 100


class Waits(base.Query):
    """The bot whose wait is asked for."""

    version: base.RowId | None = None


@router.get("", responses={404: {}})
def list_entries(shared: Shared, season_id: Id, page: Annotated[EntryPage, Query()]) -> schemas.Entries:
    """List the entries of a season."""
    with shared.db.reading() as session:
        found = entries(session, season_id, page.before or 0, page.size)
    return schemas.Entries(items=found, next=page.next(found, lambda one: one.bot_id))


@router.put(
    "/{bot_id}",
    responses={401: {}, 403: {"description": "Not admitted"}, 404: {}, 409: {"description": "Closed, full, not ready"}},
)
def enter(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: schemas.EntryRequest | None = None) -> Entry:
    """Enter your bot (organisers: any bot), or choose which version plays."""
    version = body.version if body else None
    with shared.db.transaction() as session:
        return league_entries.enter(session, asker, season_id, bot_id, version, _gate(body))


@router.patch("/{bot_id}", responses=REFUSED)
def change_entry(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: schemas.EntryChange) -> Entry:
    """Move an entry to another division, unless the season is frozen. Organisers only."""
    with shared.db.transaction() as session:
        assign_division(session, asker, season_id, bot_id, body.division)
        return entry_info(session, season_id, bot_id)


@router.get("/{bot_id}/challenges", responses={401: {}, 404: {}})
def list_challenges(shared: Shared, asker: Asker, season_id: Id, bot_id: Id) -> base.Items[Challenge]:
    """List new versions at the entry's promotion gate, the newest first, with their progress or verdicts. Only for its
    author.
    """
    with shared.db.reading() as session:
        return base.Items[Challenge](items=challenges(session, asker, season_id, bot_id))


@router.get("/{bot_id}/waiting", responses={404: {}})
def get_waiting(shared: Shared, season_id: Id, bot_id: Id, page: Annotated[Waits, Query()]) -> Waiting:
    """Say how long a bot, or one version of it, waits for its next result: its place in the queue, and an estimate."""
    with shared.db.reading() as session:
        return waiting(session, season_id, bot_id, page.version)


def _gate(body: schemas.EntryRequest | None) -> Gate:
    if body is None or "gate" not in body.model_fields_set:
        return "keep"
    gate = body.gate
    return "none" if gate is None else lambda: Duel(gate.games, gate.terms("gate"))
