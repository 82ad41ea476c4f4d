"""Health checks and metrics for operators and their tools, and for organisers the machines that play."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from deadheat.api import metrics
from deadheat.api.deps import Asker, Shared
from deadheat.api.edge.rates import host_of
from deadheat.api.routes.environment import Readiness
from deadheat.api.services import Services
from deadheat.engine.games.folder import problems
from deadheat.league.records.hosts import Workers
from deadheat.league.service.series.games import games_for
from deadheat.league.service.series.hosts import hosts_for

log = logging.getLogger(__name__)
router = APIRouter(tags=["operation"])

READY = Readiness(database="ok", blobs="ok", broker="ok")

KEPT_SECONDS = 1.0
"""How long all requests get the same answer about readiness, because they are not limited and each check costs work."""


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """The process answers."""
    return "ok\n"


@router.get("/readyz", responses={503: {"model": Readiness, "description": "A part cannot be reached"}})
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


@router.get("/metrics", response_class=PlainTextResponse, responses={403: {"description": "Not from that network"}})
async def get_metrics(shared: Shared, request: Request) -> Response:
    """Return metrics for Prometheus. Only the networks that the settings name may read them."""
    if not shared.settings.may_measure(host_of(request)):
        raise HTTPException(403, "Metrics are not available to this network; see DEADHEAT_METRICS_NETWORKS.")
    # It has threads of its own, because all others may be waiting for the database.
    text = await run_sync(metrics.exposition, shared, limiter=shared.measuring)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/workers", responses={401: {}, 403: {}})
def list_workers(shared: Shared, asker: Asker) -> Workers:
    """List the machines, whether each may judge, and if not, why; and the league's games."""
    with shared.db.reading() as session:
        workers = hosts_for(session, asker)
        games = games_for(session, asker)
    return Workers(items=workers, judge_unfit=shared.settings.judge_unfit, games=games, broken_games=problems())


CHECK_SECONDS = 5
_checks = ThreadPoolExecutor(max_workers=6, thread_name_prefix="readyz")


def readiness(shared: Services) -> Readiness:
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
