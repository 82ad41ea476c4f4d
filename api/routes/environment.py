"""What this server has and how it is: the environment in which bots run, its games and machines, health
and metrics.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import asdict
from datetime import datetime
from typing import Self

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from deadheat.api import metrics
from deadheat.api.deps import Asker, Shared
from deadheat.api.edge.rates import host_of
from deadheat.api.schemas import Items
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import problems
from deadheat.engine.games.variants import parameters
from deadheat.league.config import Settings
from deadheat.league.errors import NotFound
from deadheat.league.records.hosts import Workers
from deadheat.league.service.bots.bots import EnvironmentInfo, environment
from deadheat.league.service.series.games import games_for
from deadheat.league.service.series.hosts import hosts_for
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


log = logging.getLogger(__name__)
operation = APIRouter(tags=["operation"])

READY = Readiness(database="ok", blobs="ok", broker="ok")

KEPT_SECONDS = 1.0
"""How long all requests get the same answer about readiness, because they are not limited and each check costs work."""


@operation.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """The process answers."""
    return "ok\n"


@operation.get("/readyz", responses={503: {"model": Readiness, "description": "A part cannot be reached"}})
async def readyz(shared: Shared, response: Response) -> Readiness:
    """Say whether the database, the blob store and the broker can be reached."""
    async with shared.checking:  # nobody holds a thread while waiting for another's check
        if shared.checked is None or time.monotonic() >= shared.checked[0] + KEPT_SECONDS:
            checked = await run_sync(readiness, shared, limiter=shared.measuring)
            shared.checked = time.monotonic(), checked
    ready = shared.checked[1]
    if ready != READY:
        response.status_code = 503
    return ready


@operation.get("/metrics", response_class=PlainTextResponse, responses={403: {"description": "Not from that network"}})
async def get_metrics(shared: Shared, request: Request) -> Response:
    """Return metrics for Prometheus. Only the networks that the settings name may read them."""
    if not shared.settings.may_measure(host_of(request)):
        raise HTTPException(403, "Metrics are not available to this network; see DEADHEAT_METRICS_NETWORKS.")
    # It has threads of its own, because all others may be waiting for the database.
    text = await run_sync(metrics.exposition, shared, limiter=shared.measuring)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@operation.get("/v1/workers", responses={401: {}, 403: {}})
def list_workers(shared: Shared, asker: Asker) -> Workers:
    """List the machines, whether each may judge, and if not, why; and the league's games."""
    with shared.db.reading() as session:
        workers = hosts_for(session, asker)
        games = games_for(session, asker)
    return Workers(items=workers, judge_unfit=shared.settings.judge_unfit, games=games, broken_games=problems())


CHECK_SECONDS = 5
_checks = ThreadPoolExecutor(max_workers=6, thread_name_prefix="readyz")


def readiness(shared: Shared) -> Readiness:
    """Query the database, the blob store and the broker at once. Return "ok" for each, or why it cannot be reached."""
    parts: dict[str, Callable[[], None]] = {
        "database": shared.db.check,
        "blobs": shared.blobs.check,
        "broker": shared.queue.check,
    }
    waiting = {name: _checks.submit(check) for name, check in parts.items()}
    states = {}
    for name, check in waiting.items():
        try:
            check.result(CHECK_SECONDS)
            states[name] = "ok"
        except TookTooLong:
            states[name] = f"no answer within {CHECK_SECONDS} s"
        except Exception as error:  # any exception of a driver means that we are not ready
            log.warning("%s is not ready", name, exc_info=True)
            states[name] = f"cannot be reached ({type(error).__name__})"
    return Readiness(**states)
