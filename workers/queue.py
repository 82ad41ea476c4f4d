"""The queue: what it is called, how it is configured, and how to put a nudge into it.

A message carries an id and nothing else, and is only a nudge: the database says whether there is anything to do.
A lost message is found by the sweeper, a doubled one finds its row taken. So Celery is used in its simplest form:
no results, no acknowledgement games, no retries of its own.

With the embedded broker (``filesystem://``) messages are files below the data directory and need no server.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from celery import Celery

from league.config import Settings

BUILD, PLAY, CONTROL = "build", "play", "control"
QUEUES = (BUILD, PLAY, CONTROL)

BROKER_TIMEOUT_S = 5
"""A broker that hangs must not hold an API thread for longer."""

ENVIRONMENT_SECONDS = 300
"""How often a worker looks whether its judge image is still the one that it described."""

POLL_SECONDS = 0.1
"""How often the embedded broker looks into its folder: a tenth of a second of latency for a listing of a folder."""


def celery_app(settings: Settings) -> Celery:
    """A Celery application for these settings, with its schedule and no tasks yet."""
    app = Celery("deadheat", broker=settings.broker)
    if settings.broker.startswith("filesystem:"):
        app.conf.broker_transport = "workers.filequeue:Transport"
    app.conf.update(
        task_ignore_result=True,
        task_default_queue=CONTROL,
        # Late: else a worker that is told to stop would still begin what it has fetched ahead. (A message that comes
        # again finds its row taken.)
        task_acks_late=True,
        task_routes={
            "deadheat.build": {"queue": BUILD},
            "deadheat.environment": {"queue": BUILD},  # only there is a sandbox for certain
            "deadheat.play": {"queue": PLAY},
        },
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=BROKER_TIMEOUT_S,
        broker_transport_options=_transport_options(settings),
        beat_schedule=_schedule(settings),
        beat_schedule_filename=str(settings.data_dir.absolute() / "beat-schedule"),
        beat_max_loop_interval=1,
    )
    return app


def _transport_options(settings: Settings) -> dict[str, Any]:
    if not settings.broker.startswith("filesystem:"):
        return {
            "visibility_timeout": 3600,  # redelivery is the sweeper's business, not the broker's
            "socket_timeout": BROKER_TIMEOUT_S,
            "socket_connect_timeout": BROKER_TIMEOUT_S,
        }
    folder = settings.data_dir.absolute() / "queue"
    control = folder / "control"
    for path in (folder, control):
        path.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(folder),
        "data_folder_out": str(folder),
        "control_folder": str(control),
        "store_processed": False,
        "polling_interval": POLL_SECONDS,
    }


def _schedule(settings: Settings) -> dict[str, Any]:
    every = {
        "tick": settings.tick_seconds,
        "sweep": settings.sweep_seconds,
        "refit": settings.refit_seconds,
        "environment": ENVIRONMENT_SECONDS,
    }
    return {
        name: {"task": f"deadheat.{name}", "schedule": seconds, "options": {"expires": 5 * seconds}}
        for name, seconds in every.items()
    }


@cache
def _sender() -> Celery:
    return celery_app(Settings())


def enqueue_build(version_id: int) -> None:
    """Nudge a worker to build this version; raises the broker's own errors."""
    _send("deadheat.build", version_id)


def enqueue_series(series_id: int) -> None:
    """Nudge a worker to play this series; raises the broker's own errors."""
    _send("deadheat.play", series_id)


def enqueue_environment() -> None:
    """Have a worker look at its judge image; raises the broker's own errors."""
    _send("deadheat.environment")


def _send(task: str, *row_ids: int) -> None:
    # Once, and quickly: whoever asks is an API thread or the scheduler, and the sweeper nudges again.
    _sender().send_task(task, row_ids, retry=False)
