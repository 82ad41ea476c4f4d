"""Health checks and metrics for operators and their tools."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from deadheat.api import metrics
from deadheat.api.deps import Shared
from deadheat.api.schemas.environment import Readiness

router = APIRouter(tags=["operation"])
log = logging.getLogger(__name__)

CHECK_SECONDS = 5
"""A part that does not answer in this time is not ready."""

_checks = ThreadPoolExecutor(max_workers=6, thread_name_prefix="readyz")


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """The process answers."""
    return "ok\n"


@router.get("/readyz", responses={503: {"model": Readiness, "description": "A part cannot be reached"}})
def readyz(shared: Shared, response: Response) -> Readiness:
    """Say whether the database, the blob store and the broker can be reached."""
    parts: dict[str, Callable[[], None]] = {
        "database": shared.db.check,
        "blobs": shared.blobs.check,
        "broker": shared.queue.check,
    }
    waiting = {name: _checks.submit(check) for name, check in parts.items()}
    found = {}
    for name, check in waiting.items():
        try:
            check.result(CHECK_SECONDS)
            found[name] = "ok"
        except TookTooLong:
            found[name] = f"no answer within {CHECK_SECONDS} s"
        except Exception as error:  # any exception of a driver means that we are not ready
            log.warning("%s is not ready", name, exc_info=True)
            found[name] = f"cannot be reached ({type(error).__name__})"
    if set(found.values()) != {"ok"}:
        response.status_code = 503
    return Readiness(**found)


@router.get("/metrics", response_class=PlainTextResponse, responses={403: {"description": "Not from that network"}})
def get_metrics(shared: Shared, request: Request) -> Response:
    """Return metrics for Prometheus. Only the networks that the settings name may read them."""
    if not shared.settings.may_measure(request.client.host if request.client is not None else ""):
        raise HTTPException(403, "Metrics are not available to this network; see DEADHEAT_METRICS_NETWORKS.")
    return Response(metrics.exposition(shared), media_type="text/plain; version=0.0.4; charset=utf-8")
