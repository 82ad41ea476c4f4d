"""The queue: its names, its configuration, and how to put a nudge into it.

A message carries only an id and is only a nudge: the database says whether there is anything to do. The sweeper
replaces a lost message, and a duplicate finds its row taken. So Celery is used in its simplest form: without results,
reliance on acknowledgements, or its own retries.

With the embedded broker (``filesystem://``) messages are files below the data directory and need no server.
"""

import socket
import tempfile
from functools import cache, partialmethod
from typing import Any
from urllib.parse import urlsplit

import redis
from celery import Celery
from kombu import Connection

from deadheat.league import telemetry
from deadheat.league.config import Settings
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.tables.programs import TABLES

CONTROL = "control"
"""The queue for everything that is not a job: planning, sweeping, ranking. Each kind of job has its own."""

BROKER_TIMEOUT_S = 5
"""A hanging broker must not block an API thread for longer."""

DELIVERIES = "deliveries"
"""The queue for sending notices to webhooks, in a process of its own: others' servers may be slow."""

TICK_SECONDS = 2
"""How often new series are planned and due rankings requested: a few indexed queries if there is nothing to do."""

RANK_SECONDS = 60
"""How often rankings are made unasked. The tick requests all that are due, so usually there are none; the task's runs
show that rankings would be made."""

SWEEP_SECONDS = 5
"""How often lost work is searched for: short compared with a lease, and two indexed queries if nothing was lost."""

DELIVER_SECONDS = 5
"""How often due notices are searched for, by an indexed query."""

FORGET_SECONDS = 3600
"""How often old notices are removed: rarely, because they are kept for months."""

ENVIRONMENT_SECONDS = 300
"""How often a worker checks whether its judge image is still the one that it described."""

INTERVALS = {
    "tick": TICK_SECONDS,
    "sweep": SWEEP_SECONDS,
    "deliver": DELIVER_SECONDS,
    "refit": RANK_SECONDS,
    "environment": ENVIRONMENT_SECONDS,
    "forget": FORGET_SECONDS,
}
"""The periodic tasks, with the seconds between two messages of one scheduler."""

SILENCE = {
    socket.TCP_USER_TIMEOUT: 10_000,  # milliseconds
    socket.TCP_KEEPIDLE: 4,
    socket.TCP_KEEPINTVL: 2,
    socket.TCP_KEEPCNT: 3,
}
"""A Redis that acknowledges nothing for ten seconds is considered gone, like a database (`league.database`). TCP alone
tries for a quarter of an hour, and after an outage takes as long again to notice that the network is back."""

EXPIRY_SECONDS = 2 * 3600
"""A message of the scheduler, or one that requests more series, is dropped after this time, so that none pile up
without a worker. This is far more than needed, because sender and receiver have different clocks, and clocks are wrong.
"""

ADVICE_EXPIRY_SECONDS = 60
"""The sweep asks again every few seconds; expiry keeps more than a dozen messages about a match from piling up."""

CHECK_EXPIRY_SECONDS = 10

_REDIS = "deadheat.workers.broker.redisqueue:RedisTransport"
OUR_TRANSPORTS = {
    "filesystem": "deadheat.workers.broker.transports:FileTransport",
    "redis": _REDIS,
    "rediss": _REDIS,
}
"""Our transports by the scheme of the broker's URL; others are kombu's own."""

POLL_SECONDS = 0.1
"""How often the embedded broker lists its folder: this sets its latency to a tenth of a second."""


def task_name(life: Life) -> str:
    """Return the name of the task that carries out a job of this kind."""
    return f"deadheat.{life.queue}"


class _Reconnecting(Connection):
    """Tries to reach a broker that is away every five seconds; Celery's own pauses grow to half a minute."""

    ensure_connection = partialmethod(Connection.ensure_connection, interval_max=5)


def celery_app(settings: Settings) -> Celery:
    """Make a Celery application for these settings, without tasks yet."""
    app = Celery("deadheat", broker=settings.broker)
    app.amqp.Connection = _Reconnecting
    if transport := OUR_TRANSPORTS.get(urlsplit(settings.broker).scheme):
        app.conf.broker_transport = transport
    app.conf.update(
        task_ignore_result=True,
        task_default_queue=CONTROL,
        # Acknowledge late: otherwise a worker that is told to stop would still start the messages it has prefetched. (A
        # repeated message finds its row taken.)
        task_acks_late=True,
        task_routes={
            "deadheat.environment": {"queue": BUILDS.queue},  # only workers that build are certain to have a sandbox
            "deadheat.deliver": {"queue": DELIVERIES},
            "deadheat.advise": {"queue": TABLES.queue},
            **{task_name(life): {"queue": life.queue} for life in KINDS},
        },
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=BROKER_TIMEOUT_S,
        broker_transport_options=_transport_options(settings),
    )
    return app


def _transport_options(settings: Settings) -> dict[str, Any]:
    if not settings.broker.startswith("filesystem:"):
        return {
            # The sweeper redelivers, so Redis need not know who holds which message. It must not know, either: a
            # message that could not be acknowledged, because Redis died while every process was busy, stayed
            # unacknowledged forever, and the worker took no other message.
            "ack_emulation": False,
            "socket_timeout": BROKER_TIMEOUT_S,
            "socket_connect_timeout": BROKER_TIMEOUT_S,
            "socket_keepalive": True,
            "socket_keepalive_options": SILENCE,
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


@cache
def _sender() -> Celery:
    return celery_app(Settings())


def enqueue(life: Life, row_id: int) -> None:
    """Nudge a worker to carry out this job. Raises the broker's errors."""
    _send(task_name(life), row_id)


def enqueue_advice(table_id: int) -> None:
    """Enqueue advice on a person's match. Raises the broker's errors."""
    _send("deadheat.advise", table_id, expires=ADVICE_EXPIRY_SECONDS)


def enqueue_plan(season_id: int) -> None:
    """Enqueue the planning of this season's next series. Raises the broker's errors."""
    _send("deadheat.plan", season_id, expires=EXPIRY_SECONDS)


def enqueue_periodic(task: str) -> None:
    """Enqueue a task that is named in `INTERVALS`. Raises the broker's errors."""
    _send(f"deadheat.{task}", expires=EXPIRY_SECONDS)


def enqueue_refit() -> None:
    """Enqueue the rankings that are due. Raises the broker's errors."""
    enqueue_periodic("refit")


def enqueue_environment() -> None:
    """Enqueue a check of a worker's judge image. Raises the broker's errors."""
    _send("deadheat.environment")


def _send(task: str, *row_ids: int, expires: float | None = None) -> None:
    # One quick attempt: the caller is an API thread or the scheduler, and the sweeper nudges again.
    with telemetry.doing(f"send {task}", "PRODUCER"):
        _sender().send_task(task, row_ids, retry=False, expires=expires, headers=telemetry.headers())


def check(settings: Settings, timeout_s: float) -> None:
    """Check that messages are accepted, because a broker that answers may be full, or a replica. Raises its errors."""
    if settings.broker.startswith("filesystem:"):
        tempfile.TemporaryFile(dir=_transport_options(settings)["data_folder_out"]).close()
        return
    waits = {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s}
    with redis.Redis.from_url(settings.broker, **waits) as client:
        client.set("deadheat:check", "", ex=CHECK_EXPIRY_SECONDS)
