"""A bot's workshop, only for its author: uploads, the state of each version, and the bot's seasons."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, BinaryIO, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from deadheat.api.deps import Id, Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.multipart import receive_file
from deadheat.api.edge.uploading import takes_upload
from deadheat.api.pages.forms import (
    Complaint,
    NameForm,
    Submitted,
    Visit,
    Visiting,
    attempt,
    checked,
    onward,
    posting,
    private,
)
from deadheat.api.routes.versions import accept_upload
from deadheat.api.schemas import bots as schemas
from deadheat.api.schemas.entries import EntryRequest
from deadheat.api.services import Services
from deadheat.league.records.entries import PanelResult
from deadheat.league.service.bots.bots import (
    bot_info,
    build_log,
    installed_languages,
    may_upload,
    version_info,
    versions_of,
)
from deadheat.league.service.duels.views import panel_results
from deadheat.league.service.seasons.absence import rejoin, withdraw
from deadheat.league.service.seasons.entries import enter, enter_when_ready
from deadheat.league.service.seasons.participation import change_bot, participation
from deadheat.league.states import ChallengeState, VersionState
from deadheat.sandbox.languages import LANGUAGES

router = APIRouter(prefix="/bots/{bot_id}")


class BotForm(NameForm):
    """The form with a bot's name and description."""

    description: schemas.Description = ""


class RetireForm(BaseModel):
    """Whether to retire a bot."""

    retired: bool


def _playing(panels: Sequence[PanelResult]) -> bool:
    """Say whether a page with these results should refresh itself."""
    return any(panel.state is ChallengeState.RUNNING for panel in panels)


def _workshop(shared: Services, visit: Visit, bot_id: int, complaint: Complaint | None = None, **_: Any) -> Response:
    with shared.db.reading() as session:
        versions = versions_of(session, visit.person, bot_id)
        bot = bot_info(session, bot_id)
        seasons = participation(session, visit.person, bot_id)
        panels = panel_results(session, visit.person, bot_id)
        installed = installed_languages(session)
    ready = [version.number for version in versions if version.state is VersionState.READY]
    return private(
        shared,
        "upload.html",
        visit,
        complaint,
        bot=bot,
        versions=versions,
        ready=ready,
        seasons=seasons,
        panels=panels,
        playing=_playing(panels),
        limit_bytes=shared.settings.upload_limit_bytes,
        suffixes=[
            suffix
            for recipe in LANGUAGES.values()
            if installed is None or recipe.name in installed
            for suffix in recipe.suffixes
        ],
    )


@router.get("/upload")
def workshop(shared: Shared, visit: Visiting, bot_id: Id) -> Response:
    """Show the uploads, versions and seasons of a bot."""
    return _workshop(shared, visit, bot_id)


def uploading(shared: Shared, request: Request, visit: Visiting, bot_id: Id) -> Visit:
    """Return the uploader before the body is read. Raises NotFound, OverQuota."""
    sessions.must_be_ours(request, shared.settings)
    with shared.db.reading() as session:
        may_upload(session, visit.person, bot_id)
    return visit


@router.post("/versions")
@takes_upload
async def upload(shared: Shared, request: Request, visit: Annotated[Visit, Depends(uploading)], bot_id: Id) -> Response:
    """Receive the form's upload. The token precedes the file, which is ignored if the token is wrong."""
    async with shared.room.take(visit.person.id, request):
        with tempfile.TemporaryFile() as file:
            limit_bytes = shared.settings.upload_limit_bytes
            received = await receive_file(request, file, limit_bytes, before=(sessions.CSRF_FIELD,))
            sessions.must_match(visit.secret, received.fields.get(sessions.CSRF_FIELD))

            def act() -> Response:
                version = accept_upload(shared, visit.person, bot_id, cast("BinaryIO", file), received)
                return onward(f"/bots/{bot_id}/versions/{version.number}")

            taking_in = partial(attempt, "upload", {}, act, partial(_workshop, shared, visit, bot_id))
            return await to_thread.run_sync(taking_in, limiter=shared.taking_in)


@router.get("/versions/{number}")
def version(shared: Shared, visit: Visiting, bot_id: Id, number: Id) -> Response:
    """Show the state of an upload and the build's log."""
    with shared.db.reading() as session:
        bot = bot_info(session, bot_id)
        found = version_info(session, visit.person, bot_id, number)
        log = build_log(session, visit.person, bot_id, number)
        panels = panel_results(session, visit.person, bot_id, number)
    underway = not found.ended
    return private(
        shared,
        "version.html",
        visit,
        None,
        bot=bot,
        version=found,
        log=log.log,
        tries=log.tries,
        underway=underway,
        panels=panels,
        playing=_playing(panels),
    )


@router.post("/seasons/{season_id}/{verb}")
@posting("season-{season_id}", _workshop)
def take_part(shared: Shared, posted: Submitted, bot_id: Id, season_id: Id, verb: str) -> Response:
    """Enter a season, choose a version, withdraw, or return."""
    person = posted.visit.person
    with shared.db.transaction() as session:
        if verb == "enter":
            number = checked(EntryRequest, posted.fields).version
            if number is not None or not enter_when_ready(session, person, season_id, bot_id):
                enter(session, person, season_id, bot_id, number)
        elif verb == "withdraw":
            withdraw(session, person, season_id, bot_id)
        elif verb == "rejoin":
            rejoin(session, person, season_id, bot_id)
        else:
            raise HTTPException(404)
    return onward(f"/bots/{bot_id}/upload#season-{season_id}")


@router.post("/change")
@posting("bot", _workshop)
def change(shared: Shared, posted: Submitted, bot_id: Id) -> Response:
    """Change a bot's name or description."""
    body = checked(BotForm, posted.fields)
    with shared.db.transaction() as session:
        change_bot(session, posted.visit.person, bot_id, name=body.name, description=body.description)
    return onward(f"/bots/{bot_id}/upload#bot")


@router.post("/retire")
@posting("bot", _workshop)
def retire(shared: Shared, posted: Submitted, bot_id: Id) -> Response:
    """Retire the bot, or bring it back."""
    retired = checked(RetireForm, posted.fields).retired
    with shared.db.transaction() as session:
        change_bot(session, posted.visit.person, bot_id, retired=retired)
    return onward(f"/bots/{bot_id}/upload#bot")


@router.post("/people")
def people(shared: Shared, posted: Submitted, bot_id: Id) -> Response:
    """Let people play against the bot, or stop them."""
    with shared.db.transaction() as session:
        plays_people = posted.fields.get("plays_people") == "yes"
        change_bot(session, posted.visit.person, bot_id, plays_people=plays_people)
    return onward(f"/bots/{bot_id}/upload#people")
