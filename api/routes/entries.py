"""Entries: bots in seasons, their promotion gates, and the leaderboard, which is encoded once per ranking."""

from dataclasses import fields
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, TypeAdapter

from deadheat.api import schemas as base
from deadheat.api.deps import REFUSED, Asker, Id, Shared
from deadheat.api.edge.caching import answer
from deadheat.api.routes.contests import SequentialTest
from deadheat.api.services import Body
from deadheat.league.pairing.duel import Duel
from deadheat.league.records.entries import Challenge, Entry, Waiting
from deadheat.league.records.rankings import Leaderboard
from deadheat.league.service.duels.gates import MOST_GAMES, TEST
from deadheat.league.service.rankings.standings import leaderboard, newest_snapshot
from deadheat.league.service.seasons import entries as league_entries
from deadheat.league.service.seasons.divisions import assign_division
from deadheat.league.service.views.forecasts import waiting
from deadheat.league.service.views.former import challenges


class GateRequest(SequentialTest):
    """A promotion gate: new versions take over only if a sequential test finds them stronger."""

    elo0: float = Field(default=TEST.elo0, ge=-1000, le=1000, description="Normalised Elo at which a version fails.")
    elo1: float = Field(default=TEST.elo1, ge=-1000, le=1000, description="Normalised Elo at which it passes.")
    games: int = Field(
        default=MOST_GAMES,
        ge=2,
        le=100_000,
        description="The most games; without a verdict by then, the version fails.",
    )


class EntryRequest(base.Input):
    """The version that plays, and the gate that newer ones must pass."""

    version: base.RowId | None = Field(
        default=None, description="null: the newest ready version, and later each newer one once it is ready."
    )
    gate: GateRequest | None = Field(default=None, description="null: no gate; left out: no change.")


class EntryChange(base.Input):
    """An organiser's change to an entry."""

    division: base.RowId


class Entries(base.Paged[Entry]):
    """Entries in order of bots; `next` continues the list."""


router = APIRouter(prefix="/v1/seasons/{season_id}/entries", tags=["entries"])


class _EntryPage(base.Page):
    """The filter of a list of entries, which are small."""

    most = base.MOST_LISTED
    limit: base.Limit = 100


class _Waits(base.Query):
    """The bot whose wait is asked for."""

    version: base.RowId | None = None


@router.get("", responses={404: {}})
def list_entries(shared: Shared, season_id: Id, page: Annotated[_EntryPage, Query()]) -> Entries:
    """List the entries of a season."""
    items = shared.read(league_entries.entries, season_id, page.before or 0, page.size)
    return Entries(items=items, next=page.next(items, lambda entry: entry.bot_id))


@router.put(
    "/{bot_id}",
    responses={401: {}, 403: {"description": "Not admitted"}, 404: {}, 409: {"description": "Closed, full, not ready"}},
)
def enter(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: EntryRequest | None = None) -> Entry:
    """Enter your bot (organisers: any bot), or choose which version plays."""
    version = body.version if body else None
    return shared.change(league_entries.enter, asker, season_id, bot_id, version, _gate(body))


@router.patch("/{bot_id}", responses=REFUSED)
def change_entry(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: EntryChange) -> Entry:
    """Move an entry to another division, unless the season is frozen. Organisers only."""
    with shared.db.transaction() as session:
        assign_division(session, asker, season_id, bot_id, body.division)
        return league_entries.entry_info(session, season_id, bot_id)


@router.get("/{bot_id}/challenges", responses={401: {}, 404: {}})
def list_challenges(shared: Shared, asker: Asker, season_id: Id, bot_id: Id) -> base.Items[Challenge]:
    """List new versions at the entry's promotion gate, the newest first, with their progress or verdicts. Only for its
    author.
    """
    return base.Items[Challenge](items=shared.read(challenges, asker, season_id, bot_id))


@router.get("/{bot_id}/waiting", responses={404: {}})
def get_waiting(shared: Shared, season_id: Id, bot_id: Id, page: Annotated[_Waits, Query()]) -> Waiting:
    """Say how long a bot, or one version of it, waits for its next result: its place in the queue, and an estimate."""
    return shared.read(waiting, season_id, bot_id, page.version)


def _gate(body: EntryRequest | None) -> league_entries.Gate:
    if body is None or "gate" not in body.model_fields_set:
        return "keep"
    gate = body.gate
    return "none" if gate is None else lambda: Duel(gate.games, gate.terms("gate"))


board_router = APIRouter(prefix="/v1/seasons/{season_id}/leaderboard", tags=["seasons"])

_BOARDS = TypeAdapter(Leaderboard)


@board_router.get("", response_model=Leaderboard, responses={304: {"description": "Not modified"}, 404: {}})
async def get_leaderboard(shared: Shared, season_id: Id, request: Request) -> Response:
    """Return the newest ranking. Send its ETag as If-None-Match to learn cheaply whether there is a newer one."""
    key = ("leaderboard", season_id)
    body = shared.bodies.fresh(key)
    if body is None:
        body = await to_thread.run_sync(_body, shared, season_id, limiter=shared.showing)
    shared.bodies.remember(request.scope, key)
    return answer(request, body)


def _body(shared: Shared, season_id: int) -> Body:
    key = ("leaderboard", season_id)
    with shared.db.reading() as session:
        kept = shared.bodies.current(key, newest_snapshot(session, season_id))
        if kept is not None:
            return kept
        board = leaderboard(session, season_id)
    about = {each.name: getattr(board, each.name) for each in fields(board) if each.name != "standings"}
    shown = _BOARDS.validate_python(about | board.standings)
    etag = f'"{season_id}-{board.snapshot_id or 0}"'
    content = _BOARDS.dump_json(shown)
    return shared.bodies.keep(key, Body(board.snapshot_id, etag, content, "application/json"))
