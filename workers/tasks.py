"""The tasks, each a line: what they do is elsewhere.

`app` is what ``celery --app workers.tasks`` starts. Tasks take ids; whether there is anything to do is the
database's word (see workers.queue).
"""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

from celery.exceptions import SecurityWarning
from celery.signals import celeryd_init, setup_logging, worker_process_init, worker_ready

from league import service
from league.config import Settings
from workers.build import build_version
from workers.context import context
from workers.environment import describe_environment
from workers.play import play_series
from workers.queue import celery_app, enqueue_build, enqueue_environment, enqueue_series

app = celery_app(Settings())

STEP_ASIDE_SECONDS = 5
"""For this long a process that may not play leaves messages to the machines that may."""


@setup_logging.connect
def _log_to_stderr(**_: Any) -> None:
    logging.basicConfig(level=Settings().log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if Settings().log_level != "DEBUG":  # they tell of every nudge, ten times a minute without any work
        for chatty in ("celery", "kombu"):
            logging.getLogger(chatty).setLevel(logging.WARNING)


@celeryd_init.connect
def _root_is_no_mistake(**_: Any) -> None:
    # A worker that confines bots must be root (see docs/operators.md), and Celery warns of it at every start.
    warnings.filterwarnings("ignore", category=SecurityWarning)


@worker_process_init.connect
def _fresh_connections(**_: Any) -> None:
    context.cache_clear()  # nothing opened before the fork may be used after it


@worker_ready.connect
def _look_at_the_image(**_: Any) -> None:
    enqueue_environment()  # in a process of the pool: this one only hands out work


@app.task(name="deadheat.environment")
def environment() -> None:
    """Describe the judge image, where that is still to be done."""
    describe_environment(context())


@app.task(name="deadheat.build")
def build(version_id: int) -> None:
    """Build one version."""
    build_version(context(), version_id)


@app.task(name="deadheat.play")
def play(series_id: int) -> None:
    """Play one series. Where this machine may not judge, another one is told, and this one steps aside."""
    if not play_series(context(), series_id):
        enqueue_series(series_id)
        time.sleep(STEP_ASIDE_SECONDS)


@app.task(name="deadheat.tick")
def tick() -> None:
    """Make the next series of every open season."""
    with context().database.transaction() as session:
        made = service.tick(session)
    for series_id in made:
        enqueue_series(series_id)


@app.task(name="deadheat.sweep")
def sweep() -> None:
    """Find what was lost: expired leases, rows that nobody was told of."""
    with context().database.transaction() as session:
        swept = service.sweep(session)
    for version_id in swept.build_ids:
        enqueue_build(version_id)
    for series_id in swept.series_ids:
        enqueue_series(series_id)


@app.task(name="deadheat.refit")
def refit() -> None:
    """Rank again the seasons whose log has grown, and publish the standings of those that are over."""
    with context().database.transaction() as session:
        seasons = service.seasons_to_refit(session)
        over = service.seasons_to_publish(session)
    for season_id in seasons:
        with context().database.transaction() as session:
            service.refit(session, season_id)
    for season_id in over:
        with context().database.transaction() as session:
            service.publish(session, season_id)
