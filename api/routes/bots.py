"""Bots and their versions: uploads, builds and logs. For anybody but the author, a version does not exist."""

import tempfile
from functools import partial
from typing import Annotated, BinaryIO, Self, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError
from starlette.responses import StreamingResponse

from deadheat.api.deps import Asker, Id, Shared
from deadheat.api.edge.uploading import FIELD, Received, receive_file, takes_upload
from deadheat.api.routes.replays import A_FILE, JSON_LINES, record_file, uploaded_file
from deadheat.api.schemas import Input, Items, Name, RowId
from deadheat.api.schemas import Query as QueryModel
from deadheat.engine.games import GAMES
from deadheat.league.records.bots import Bot, BuildLog, Version
from deadheat.league.records.entries import PanelResult
from deadheat.league.service.bots import bots
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons import participation
from deadheat.league.service.seasons.entries import check_wish
from deadheat.league.service.views.former import panel_results

Description = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=500),
    Field(description="For people, at most 500 characters.", examples=["Greedy, with a table of all endings."]),
]


class BotRequest(Input):
    """A new bot."""

    game: str = Field(max_length=64, examples=[next(iter(GAMES))], json_schema_extra={"enum": [*sorted(GAMES)]})
    name: Name = Field(examples=["greedy"])
    team_id: RowId | None = Field(default=None, description="One of your teams, whose members then share the bot.")


class BotChange(Input):
    """Changes to a bot."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    team_id: RowId | None = Field(default=None, description="null: it belongs to its creator alone.")
    name: Name = Field(default="", examples=["greedy"])
    description: Description = ""
    retired: bool = Field(default=False, description="true: it leaves its seasons and the lists; results stay.")
    plays_people: bool = Field(default=True, description="Whether people may play against it.")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "Give at least one field to change.")
        return self


class Panels(Items[PanelResult]):
    """The newest first."""


router = APIRouter(prefix="/v1/bots", tags=["bots"])


@router.post("", status_code=201, responses={401: {}, 404: {}, 409: {}, 422: {}})
def create_bot(shared: Shared, asker: Asker, body: BotRequest, response: Response) -> Bot:
    """Create a bot without versions; upload one next."""
    bot = shared.change(bots.create_bot, asker, body.game, body.name, body.team_id)
    response.headers["Location"] = f"/v1/bots/{bot.id}"
    return bot


@router.get("", responses={401: {}})
def list_own_bots(shared: Shared, asker: Asker) -> Items[Bot]:
    """List your bots and those of your teams."""
    return Items[Bot](items=shared.read(bots.bots_of, asker))


@router.get("/{bot_id}", responses={404: {}})
def get_bot(shared: Shared, bot_id: Id) -> Bot:
    """Return the public facts about a bot."""
    return shared.read(bots.bot_info, bot_id)


@router.get("/{bot_id}/panels", responses={401: {}, 404: {}})
def list_panels(
    shared: Shared,
    asker: Asker,
    bot_id: Id,
    version: Annotated[RowId | None, Query(description="Only of this version, by its number.")] = None,
) -> Panels:
    """List the points of your bot's versions against the panels of their seasons, the newest hundred first. A version
    plays every bot of a panel as soon as it arrives.
    """
    return Panels(items=shared.read(panel_results, asker, bot_id, version))


@router.patch("/{bot_id}", responses={401: {}, 403: {}, 404: {}, 409: {}})
def change_bot(shared: Shared, asker: Asker, bot_id: Id, body: BotChange) -> Bot:
    """Rename a bot, describe it, retire it or bring it back, and open or close it to people who want to play
    against it. While it is in no season, also give it to one of your teams or (as that team's captain) back to
    its creator. Fields that are left out stay as they are.
    """
    change = cast("participation.BotChange", body.model_dump(exclude_unset=True))
    return shared.change(participation.change_bot, asker, bot_id, **change)


versions_router = APIRouter(prefix="/v1/bots/{bot_id}/versions", tags=["versions"])

_FILE = {
    "type": "string",
    "format": "binary",
    "description": "One source file (bot.py, bot.c, Main.java, ...) or a zip with main.py, main.c, Main.java, ... or a "
    "deadheat.toml at its root; `/v1/environment` lists them all.",
}
_SHAPE = {"type": "object", "required": [FIELD], "additionalProperties": False, "properties": {FIELD: _FILE}}
_FORM = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _SHAPE}}}}


class Wish(QueryModel):
    """The query of an upload."""

    season: RowId | None = Field(default=None, description="The season that the bot enters once the version is ready.")


def _uploadable_bot(shared: Shared, asker: Asker, bot_id: Id) -> int:
    """Return the bot's id before any of the body is read. Raises NotFound, OverQuota."""
    shared.read(bots.may_upload, asker, bot_id)
    return bot_id


@versions_router.post(
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
    bot_id: Annotated[int, Depends(_uploadable_bot)],
    request: Request,
    response: Response,
    wish: Annotated[Wish, Query()],
) -> Version:
    """Upload a version. It is built next: poll the address in `Location`."""
    if wish.season is not None:
        await to_thread.run_sync(shared.change, check_wish, asker, wish.season, bot_id)
    async with shared.room.take(asker.id, request):
        with tempfile.TemporaryFile() as file:
            received = await receive_file(request, file, shared.settings.upload_limit_bytes)
            taking_in = partial(_accept_upload, shared, asker, bot_id, cast("BinaryIO", file), received, wish.season)
            version = await to_thread.run_sync(taking_in, limiter=shared.taking_in)
    response.headers["Location"] = f"/v1/bots/{bot_id}/versions/{version.number}"
    return version


@versions_router.get("", responses={401: {}, 404: {}})
def list_versions(shared: Shared, asker: Asker, bot_id: Id) -> Items[Version]:
    """List the newest hundred versions of a bot."""
    return Items[Version](items=shared.read(bots.versions_of, asker, bot_id))


@versions_router.get("/{number}", responses={401: {}, 404: {}})
def get_version(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> Version:
    """Return a version and its state."""
    return shared.read(bots.version_info, asker, bot_id, number)


class Lending(Input):
    """Whether a version may play on lent machines."""

    lendable: bool = Field(description="Their owners can read it; off by default.")


@versions_router.patch("/{number}", responses={401: {}, 403: {}, 404: {}})
def lend_version(shared: Shared, asker: Asker, bot_id: Id, number: Id, body: Lending) -> Version:
    """Let a version play on machines that others lend to the league, or no longer."""
    return shared.change(bots.lend_version, asker, bot_id, number, lendable=body.lendable)


@versions_router.get("/{number}/log", responses={401: {}, 404: {}})
def get_build_log(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> BuildLog:
    """Return the output of the build and the trial match, and failures of the service."""
    return shared.read(bots.build_log, asker, bot_id, number)


@versions_router.get(
    "/{number}/trial", response_class=StreamingResponse, responses={200: {**JSON_LINES}, 401: {}, 404: {}}
)
def get_trial(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> Response:
    """Return the transcript of the trial match against the house bot."""
    sha256 = shared.read(bots.trial_of, asker, bot_id, number)
    return record_file(shared, sha256, f"trial-{bot_id}-{number}.jsonl")


@versions_router.get(
    "/{number}/source", response_class=StreamingResponse, responses={200: {**A_FILE}, 401: {}, 404: {}}
)
def get_source(shared: Shared, asker: Asker, bot_id: Id, number: Id) -> Response:
    """Return the upload, byte for byte."""
    version = shared.read(bots.version_info, asker, bot_id, number)
    name = f"bot-{bot_id}-version-{number}"
    return uploaded_file(shared, version.sha256, version.size_bytes, version.filename, name)


def _accept_upload(
    shared: Shared, asker: Person, bot_id: int, file: BinaryIO, received: Received, enters_id: int | None = None
) -> Version:
    """Inspect and store an upload, commit, and only then tell a worker."""
    installed = shared.read(bots.installed_languages)
    upload = bots.accept(file, received.filename, received.sha256, shared.settings, shared.blobs, installed)
    version = shared.change(bots.add_version, asker, bot_id, upload, enters_id)
    shared.nudge(BUILDS, version.id)
    return version
