"""Versions: uploads, their builds and logs. Only the author may see them; for anybody else, the bot does not exist."""

from __future__ import annotations

import tempfile
from functools import partial
from typing import Annotated, BinaryIO, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field
from starlette.responses import StreamingResponse

from deadheat.api.deps import Asker, Id, Shared
from deadheat.api.edge.multipart import FIELD, Received, receive_file
from deadheat.api.edge.uploading import takes_upload
from deadheat.api.replays import A_FILE, JSON_LINES, record_file, uploaded_file
from deadheat.api.schemas.base import Items, RowId
from deadheat.api.schemas.base import Query as QueryModel
from deadheat.api.services import Services
from deadheat.league.records.bots import BuildLog, Version
from deadheat.league.service.bots import bots
from deadheat.league.service.bots.bots import (
    add_version,
    build_log,
    installed_languages,
    may_upload,
    trial_of,
    version_info,
    versions_of,
)
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.entries import check_wish

router = APIRouter(prefix="/v1/bots/{bot_id}/versions", tags=["versions"])

_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FIELD],
                    "additionalProperties": False,
                    "properties": {
                        FIELD: {
                            "type": "string",
                            "format": "binary",
                            "description": "One source file (bot.py, bot.c, Main.java, ...) or a zip with main.py, "
                            "main.c, Main.java, ... or a deadheat.toml at its root; `/v1/environment` lists them all.",
                        }
                    },
                }
            }
        },
    }
}


class Wish(QueryModel):
    """The query of an upload."""

    season: RowId | None = Field(default=None, description="The season that the bot enters once the version is ready.")


def uploadable_bot(shared: Shared, asker: Asker, bot_id: Id) -> int:
    """Return the bot's id before any of the body is read. Raises NotFound, OverQuota."""
    with shared.db.reading() as session:
        may_upload(session, asker, bot_id)
    return bot_id


@router.post(
    "",
    status_code=202,
    responses={
        **{status: {} for status in (400, 401, 404, 409, 413, 415, 422)},
        429: {"description": "Over a quota; `Retry-After` says how many seconds to wait"},
    },
    openapi_extra=_FORM,
)
@takes_upload
async def upload_version(
    shared: Shared,
    asker: Asker,
    bot_id: Annotated[int, Depends(uploadable_bot)],
    request: Request,
    response: Response,
    wish: Annotated[Wish, Query()],
) -> Version:
    """Upload a version. It is built next: poll the address in `Location`."""
    if wish.season is not None:
        await to_thread.run_sync(_check_wish, shared, asker, wish.season, bot_id)
    async with shared.room.take(asker.id, request):
        with tempfile.TemporaryFile() as file:
            received = await receive_file(request, file, shared.settings.upload_limit_bytes)
            taking_in = partial(accept_upload, shared, asker, bot_id, cast("BinaryIO", file), received, wish.season)
            version = await to_thread.run_sync(taking_in, limiter=shared.taking_in)
    response.headers["Location"] = f"/v1/bots/{bot_id}/versions/{version.number}"
    return version


@router.get("", responses={401: {}, 404: {}})
def list_versions(shared: Shared, asker: Asker, bot_id: Id) -> Items[Version]:
    """List the newest hundred versions of a bot."""
    with shared.db.reading() as session:
        return Items[Version](items=versions_of(session, asker, bot_id))


@router.get("/{number}", responses={401: {}, 404: {}})
def get_version(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> Version:
    """Return a version and its state."""
    with shared.db.reading() as session:
        return version_info(session, asker, bot_id, number)


@router.get("/{number}/log", responses={401: {}, 404: {}})
def get_build_log(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> BuildLog:
    """Return the output of the build and the trial match, and failures of the service."""
    with shared.db.reading() as session:
        return build_log(session, asker, bot_id, number)


@router.get("/{number}/trial", response_class=StreamingResponse, responses={200: {**JSON_LINES}, 401: {}, 404: {}})
def get_trial(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> Response:
    """Return the transcript of the trial match against the house bot."""
    with shared.db.reading() as session:
        sha256 = trial_of(session, asker, bot_id, number)
    return record_file(shared, sha256, f"trial-{bot_id}-{number}.jsonl")


@router.get("/{number}/source", response_class=StreamingResponse, responses={200: {**A_FILE}, 401: {}, 404: {}})
def get_source(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> Response:
    """Return the upload, byte for byte."""
    with shared.db.reading() as session:
        version = version_info(session, asker, bot_id, number)
    name = f"bot-{bot_id}-version-{number}"
    return uploaded_file(shared, version.sha256, version.size_bytes, version.filename, name)


def _check_wish(shared: Services, asker: Person, season_id: int, bot_id: int) -> None:
    with shared.db.transaction() as session:
        check_wish(session, asker, season_id, bot_id)


def accept_upload(
    shared: Services, asker: Person, bot_id: int, file: BinaryIO, received: Received, enters_id: int | None = None
) -> Version:
    """Inspect and store an upload, commit, and only then tell a worker."""
    with shared.db.reading() as session:
        installed = installed_languages(session)
    upload = bots.accept(file, received.filename, received.sha256, shared.settings, shared.blobs, installed)
    with shared.db.transaction() as session:
        version = add_version(session, asker, bot_id, upload, enters_id)
    shared.nudge(BUILDS, version.id)
    return version
