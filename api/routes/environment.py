"""The environment in which bots run: languages, versions, commands, limits."""

from dataclasses import asdict
from datetime import datetime
from typing import Self

from fastapi import APIRouter
from pydantic import BaseModel, Field

from deadheat.api.deps import Shared
from deadheat.api.schemas.base import Items
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import parameters
from deadheat.league.config import Settings
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import EnvironmentInfo, environment
from deadheat.sandbox.archive import Bounds


class Parameter(BaseModel):
    """A number that a season may set, see its setting `variant`."""

    name: str
    meaning: str
    usual: int = Field(description="By the game's rules.")
    least: int
    most: int


class Game(BaseModel):
    """A game that can be played."""

    name: str
    rules_version: int
    seats_min: int
    seats_max: int
    parameters: list[Parameter]


class JudgeImage(BaseModel):
    """The image in which bots are built and run."""

    name: str = Field(examples=["deadheat/judge:core"])
    id: str
    recipe: str = Field(description="Hash of the inputs of deploy/images/build; equal recipes have equal packages.")
    created_at: datetime
    size_bytes: int


class Language(BaseModel):
    """One language, with the commands for a bot that starts with the usual file."""

    name: str = Field(description="For deadheat.toml.", examples=["cpp"])
    title: str = Field(examples=["C++ 20"])
    version: str = Field(description="Version as its tools report it.", examples=["g++ (Debian 12.2.0-14) 12.2.0"])
    suffixes: list[str] = Field(
        description="Suffixes of a single file; none: only with a deadheat.toml.", examples=[[".cpp"]]
    )
    entries: list[str] = Field(description="One of these is at the root of a zip.", examples=[["main.cpp", "*.cpp"]])
    build: str
    run: str


class RunLimits(BaseModel):
    """Limits of a bot in a match. There is no network, and only /tmp is writable."""

    cpus: int
    memory_bytes: int
    processes: int = Field(description="Processes and threads together.")
    tmp_bytes: int
    tmp_files: int
    open_files: int
    file_bytes: int
    line_bytes: int
    stderr_bytes: int = Field(description="Bytes kept per match.")


class BuildLimits(BaseModel):
    """Limits of a build. There is no network."""

    seconds: int
    memory_bytes: int
    processes: int
    scratch_bytes: int
    program_bytes: int
    log_bytes: int


class UploadLimits(BaseModel):
    """Limits of an upload."""

    upload_bytes: int
    unpacked_bytes: int
    unpacked_files: int


class Environment(BaseModel):
    """The judging environment. `described_at`: when a worker last confirmed it."""

    image: JudgeImage
    cpu: str
    languages: list[Language]
    missing: list[str] = Field(description="Languages that Deadheat knows and this image lacks.")
    running: RunLimits
    building: BuildLimits
    uploads: UploadLimits
    described_at: datetime

    @classmethod
    def of(cls, info: EnvironmentInfo, settings: Settings) -> Self:
        """Combine a worker's description with the API's own limits."""
        uploads = UploadLimits(
            upload_bytes=settings.upload_limit_bytes,
            unpacked_bytes=settings.unpacked_limit_bytes,
            unpacked_files=Bounds().files,
        )
        return cls.model_validate({**info.document, "uploads": uploads, "described_at": info.described_at})


class Readiness(BaseModel):
    """Whether each part can be reached; if not, a sentence says why."""

    database: str = Field(examples=["ok"])
    blobs: str = Field(examples=["ok"])
    broker: str = Field(examples=["ok"])


router = APIRouter(prefix="/v1/environment", tags=["environment"])


@router.get("", responses={404: {"description": "No worker has described the image yet"}})
def get_environment(shared: Shared) -> Environment:
    """Return the judging environment, as a worker read it from the image."""
    info = shared.read(environment)
    if info is None:
        raise NotFound("description of the image", shared.settings.image)
    return Environment.of(info, shared.settings)


games_router = APIRouter(prefix="/v1/games", tags=["games"])


@games_router.get("")
def list_games() -> Items[Game]:
    """List the games of this server."""
    items = []
    for game in GAMES.values():
        bounds = [Parameter(name=each.name, usual=each.usual, **asdict(each.parameter)) for each in parameters(game)]
        seats_min, seats_max = min(game.seats), max(game.seats)
        facts = {"rules_version": game.rules_version, "seats_min": seats_min, "seats_max": seats_max}
        items.append(Game(name=game.name, parameters=bounds, **facts))
    return Items[Game](items=items)
