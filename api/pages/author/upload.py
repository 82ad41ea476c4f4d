"""A bot's workshop, only for its author: uploads, the state of each version, and the bot's seasons."""

import tempfile
from functools import partial
from typing import Annotated, Any, BinaryIO, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from deadheat.api.deps import Id, Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.uploading import receive_file, takes_upload
from deadheat.api.pages import forms
from deadheat.api.routes import bots as schemas
from deadheat.api.routes.bots import accept_upload
from deadheat.api.routes.season.entries import EntryRequest
from deadheat.api.services import Services
from deadheat.league.service.bots.bots import (
    bot_info,
    build_log,
    installed_languages,
    may_upload,
    version_info,
    versions_of,
)
from deadheat.league.service.seasons.absence import rejoin, withdraw
from deadheat.league.service.seasons.entries import enter, enter_when_ready
from deadheat.league.service.seasons.participation import change_bot, participation
from deadheat.league.service.views.contests import at_panels
from deadheat.league.states import ContestState, VersionState
from deadheat.sandbox.languages import LANGUAGES

router = APIRouter(prefix="/bots/{bot_id}")


class BotForm(forms.NameForm):
    description: schemas.Description = ""


class RetireForm(BaseModel):
    retired: bool


def _workshop(
    shared: Services, visit: forms.Visit, bot_id: int, complaint: forms.Complaint | None = None, **_: Any
) -> Response:
    with shared.db.reading() as session:
        versions = versions_of(session, visit.person, bot_id)
        panels = at_panels(session, bot_id)
        installed = installed_languages(session)
        recipes = [recipe for recipe in LANGUAGES.values() if installed is None or recipe.name in installed]
        values = {
            "bot": bot_info(session, bot_id),
            "versions": versions,
            "ready": [version.number for version in versions if version.state is VersionState.READY],
            "seasons": participation(session, visit.person, bot_id),
            "panels": panels,
            "playing": any(panel.state is ContestState.RUNNING for panel in panels),
            "limit_bytes": shared.settings.upload_limit_bytes,
            "suffixes": [suffix for recipe in recipes for suffix in recipe.suffixes],
        }
    return forms.private(shared, "upload.html", visit, complaint, **values)


@router.get("/upload")
def workshop(shared: Shared, visit: forms.Visiting, bot_id: Id) -> Response:
    return _workshop(shared, visit, bot_id)


def uploading(shared: Shared, request: Request, visit: forms.Visiting, bot_id: Id) -> forms.Visit:
    """Return the uploader before the body is read. Raises NotFound, OverQuota."""
    sessions.must_be_ours(request, shared.settings)
    shared.read(may_upload, visit.person, bot_id)
    return visit


@router.post("/versions")
@takes_upload
async def upload(
    shared: Shared, request: Request, visit: Annotated[forms.Visit, Depends(uploading)], bot_id: Id
) -> Response:
    """Receive the form's upload. The token precedes the file, which is ignored if the token is wrong."""
    async with shared.room.take(visit.person.id, request):
        with tempfile.TemporaryFile() as file:
            limit_bytes = shared.settings.upload_limit_bytes
            received = await receive_file(request, file, limit_bytes, before=(sessions.CSRF_FIELD,))
            sessions.must_match(visit.secret, received.fields.get(sessions.CSRF_FIELD))

            def act() -> Response:
                version = accept_upload(shared, visit.person, bot_id, cast("BinaryIO", file), received)
                return forms.onward(f"/bots/{bot_id}/versions/{version.number}")

            taking_in = partial(forms.attempt, "upload", {}, act, partial(_workshop, shared, visit, bot_id))
            return await to_thread.run_sync(taking_in, limiter=shared.taking_in)


@router.get("/versions/{number}")
def version(shared: Shared, visit: forms.Visiting, bot_id: Id, number: Id) -> Response:
    with shared.db.reading() as session:
        bot = bot_info(session, bot_id)
        info = version_info(session, visit.person, bot_id, number)
        log = build_log(session, visit.person, bot_id, number)
        panels = at_panels(session, bot_id, number)
    playing = any(panel.state is ContestState.RUNNING for panel in panels)
    values = {"log": log.log, "tries": log.tries, "underway": not info.ended, "panels": panels, "playing": playing}
    return forms.private(shared, "version.html", visit, None, bot=bot, version=info, **values)


@router.post("/seasons/{season_id}/{verb}")
@forms.posting("season-{season_id}", _workshop)
def take_part(shared: Shared, posted: forms.Submitted, bot_id: Id, season_id: Id, verb: str) -> Response:
    person = posted.visit.person
    with shared.db.transaction() as session:
        if verb == "enter":
            number = forms.checked(EntryRequest, posted.fields).version
            if number is not None or not enter_when_ready(session, person, season_id, bot_id):
                enter(session, person, season_id, bot_id, number)
        elif verb == "withdraw":
            withdraw(session, person, season_id, bot_id)
        elif verb == "rejoin":
            rejoin(session, person, season_id, bot_id)
        else:
            raise HTTPException(404)
    return forms.onward(f"/bots/{bot_id}/upload#season-{season_id}")


@router.post("/change")
@forms.posting("bot", _workshop)
def change(shared: Shared, posted: forms.Submitted, bot_id: Id) -> Response:
    body = forms.checked(BotForm, posted.fields)
    shared.change(change_bot, posted.visit.person, bot_id, name=body.name, description=body.description)
    return forms.onward(f"/bots/{bot_id}/upload#bot")


@router.post("/retire")
@forms.posting("bot", _workshop)
def retire(shared: Shared, posted: forms.Submitted, bot_id: Id) -> Response:
    retired = forms.checked(RetireForm, posted.fields).retired
    shared.change(change_bot, posted.visit.person, bot_id, retired=retired)
    return forms.onward(f"/bots/{bot_id}/upload#bot")


@router.post("/people")
def people(shared: Shared, posted: forms.Submitted, bot_id: Id) -> Response:
    with shared.db.transaction() as session:
        plays_people = posted.fields.get("plays_people") == "yes"
        change_bot(session, posted.visit.person, bot_id, plays_people=plays_people)
    return forms.onward(f"/bots/{bot_id}/upload#people")
