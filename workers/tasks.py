"""The Celery tasks, each a few lines; other modules do their work.

``celery --app workers.tasks`` starts `app`. Tasks take ids; the database says whether there is anything to do (see
workers.broker.queue).
"""

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, product
from typing import Any, TypeVar

from celery import Task
from celery.exceptions import SecurityWarning
from celery.signals import celeryd_init, setup_logging, worker_process_init, worker_ready
from sqlmodel import Session

from deadheat.league import telemetry
from deadheat.league.config import Settings
from deadheat.league.service.course.schedule import go_on, runs_low, seasons_going_on
from deadheat.league.service.evaluations.playing import keep_standings
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs import sweep as league_sweep
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.machines.trust import tend_machines
from deadheat.league.service.people.channels import forget_removed
from deadheat.league.service.people.notices import forget_old
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings.standings import publish, seasons_to_publish, seasons_to_refit
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.hosts import live_machines
from deadheat.league.service.tables.advising import due_advice
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.service.views.queues import take_sample
from deadheat.league.storage.schema import WrongSchema, must_fit
from deadheat.workers import metrics, stopping
from deadheat.workers.advice import give_advice
from deadheat.workers.again import play_again_when_due
from deadheat.workers.broker.queue import (
    TICK_SECONDS,
    celery_app,
    enqueue,
    enqueue_advice,
    enqueue_environment,
    enqueue_plan,
    enqueue_refit,
    task_name,
)
from deadheat.workers.build import build_version
from deadheat.workers.context import context
from deadheat.workers.environment import describe_environment
from deadheat.workers.holding import AWAY, cause_of
from deadheat.workers.play import play_series
from deadheat.workers.sending.deliveries import send_due
from deadheat.workers.tables import play_table

log = logging.getLogger(__name__)
Told = TypeVar("Told")
app = celery_app(Settings())

STEP_ASIDE_SECONDS = 5
"""How long a process on a machine that may not judge leaves messages to machines that may."""


def step_aside(life: Life, row_id: int) -> None:
    """Nudge another machine, because this one may not judge, and give it time to take the job."""
    enqueue(life, row_id)
    time.sleep(STEP_ASIDE_SECONDS)


class Guarded(Task):  # type: ignore[type-arg]  # it has no type arguments when the program runs
    """Does nothing in a database that another version of Deadheat has migrated; the sweep finds the work again. Each
    task checks this, because a migration breaks no connection: nothing else would tell a process that it is outdated.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run the task, or decline it if the schema differs."""
        counted_as = str(self.name).removeprefix("deadheat.")
        try:
            must_fit(context().database.engine)
        except WrongSchema as error:
            log.error("%s is left to workers of that version: %s", self.name, error)
            time.sleep(STEP_ASIDE_SECONDS)
            return None
        try:
            with telemetry.carrying_out(str(self.name), self.request.headers or {}):
                done = super().__call__(*arguments, **options)
        except Exception as error:  # Celery logs the error
            metrics.task_failures.labels(counted_as, cause_of(error)).inc()
            raise
        if counted_as in metrics.SCHEDULED:
            metrics.tasks_done.labels(counted_as).inc()
        return done


@setup_logging.connect
def _log_to_stderr(**_: Any) -> None:
    telemetry.begin_logs(Settings())
    if Settings().log_level != "DEBUG":  # they log every nudge: ten a minute even without work
        for chatty in ("celery", "kombu"):
            logging.getLogger(chatty).setLevel(logging.WARNING)


@celeryd_init.connect
def _root_is_no_mistake(**_: Any) -> None:
    # A worker that confines bots must be root (see docs/how-to/machines.md), and Celery warns of it at every start.
    warnings.filterwarnings("ignore", category=SecurityWarning)


@worker_process_init.connect
def _fresh_connections(**_: Any) -> None:
    context.cache_clear()  # resources opened before the fork must not be used after it
    telemetry.begin_traces(Settings(), "worker")
    stopping.listen()


@worker_ready.connect
def _look_at_the_image(**_: Any) -> None:
    enqueue_environment()  # run it in a process of the pool, because this process only hands out work


@app.task(name="deadheat.environment", base=Guarded)
def environment() -> None:
    """Describe the judge image if no description is stored yet."""
    describe_environment(context())


@app.task(name=task_name(BUILDS), base=Guarded)
def build(version_id: int) -> None:
    build_version(context(), version_id)


@app.task(name=task_name(SERIES), base=Guarded)
def play(series_id: int) -> None:
    """Play one series. If this machine may not judge, nudge another one and step aside."""
    played_id = play_series(context(), series_id)
    if played_id is None:
        step_aside(SERIES, series_id)
    else:
        ask_for_more(played_id)
        play_again_when_due(context())


def ask_for_more(series_id: int) -> None:
    """Request the next series at once, not at the next tick, if few of the season are left after this one; after the
    last one, also request the ranking.
    """
    try:
        with context().database.reading() as session:
            season_id = runs_low(session, series_id, ended=True)
            rank = season_id is not None and season_id in seasons_to_refit(session, ended=True)
        if season_id is not None:
            enqueue_plan(season_id)
        if rank:
            enqueue_refit()
    except Exception:  # the matches played are stored; brokers may raise anything, and the next tick plans anyway
        log.warning("more series could not be requested after series %d; the next tick will", series_id, exc_info=True)


@app.task(name=task_name(TABLES), base=Guarded)
def exhibit(table_id: int) -> None:
    """Play the programs of one table, or step aside as for a series."""
    if not play_table(context(), table_id):
        step_aside(TABLES, table_id)


@app.task(name="deadheat.advise", base=Guarded)
def advise(table_id: int) -> None:
    """Store what the house's strongest bot would have done in a person's match."""
    give_advice(context(), table_id)


@app.task(name="deadheat.tick", base=Guarded)
def tick() -> None:
    """Plan the next series of every open season, and request the rankings that are due."""
    with context().database.reading() as session:
        going_on = seasons_going_on(session)
    make_series(going_on)
    with context().database.reading() as session:
        due = seasons_to_refit(session) or seasons_to_publish(session)
    if due:
        enqueue_refit()


_in_vain_until: dict[int, float] = {}
"""The monotonic time, by season, from which a requested planning may be worth its cost again."""


@app.task(name="deadheat.plan", base=Guarded)
def plan(season_id: int) -> None:
    """Plan the next series of a season with few left. If many requests arrive at once, planning for the first serves
    all. If a season has no more to play, all but the first request per tick are refused.
    """
    if time.monotonic() < _in_vain_until.get(season_id, 0.0):
        return
    with context().database.reading() as session:
        low = runs_low(session, season_id)
    if low and not make_series([season_id]):
        _in_vain_until[season_id] = time.monotonic() + TICK_SECONDS


def make_series(season_ids: Iterable[int]) -> bool:
    """Plan these seasons, nudge workers for the new series, and return whether there are any."""
    made = list(chain(*apart("tick", season_ids, go_on)))  # collect everything first, before a broker can fail
    for series_id in made:
        enqueue(SERIES, series_id)
    return bool(made)


@app.task(name="deadheat.sweep", base=Guarded)
def sweep() -> None:
    """Find lost work: expired leases, and rows without a message. Each minute, also store a sample for charts, and
    judge the machines that nobody must trust.
    """
    silent: league_sweep.Silent = []
    with context().database.transaction() as session:
        swept, to_advise = league_sweep.sweep(session, silent), due_advice(session)
        machines = live_machines(session)
    for life, host in product(KINDS, machines):
        metrics.leases_expired.labels(life.queue, host)  # a rate cannot see a counter appear
    for life, host in silent:
        metrics.leases_expired.labels(life.queue, host).inc()
    with context().database.transaction() as session:
        is_new_minute = take_sample(session)
    for table_id in to_advise:
        enqueue_advice(table_id)
    for life, row_ids in swept.items():
        for row_id in row_ids:
            enqueue(life, row_id)
    if is_new_minute:
        with context().database.transaction() as session:  # last, so that nothing here keeps the others waiting
            tend_machines(session)


@app.task(name="deadheat.refit", base=Guarded)
def refit() -> None:
    """Rank again the seasons whose log has grown, and publish the standings of those that are over."""
    with context().database.reading() as session:
        seasons = seasons_to_refit(session)
        over = seasons_to_publish(session)
    for _ in chain(apart("refit", seasons, standings.refit), apart("publish", over, publish)):
        pass


@app.task(name="deadheat.forget", base=Guarded)
def forget() -> None:
    """Remove old notices, and store standings that are still computed at each reading."""
    with context().database.transaction() as session:
        forget_old(session)
        forget_removed(session)
    kept = True
    while kept:
        with context().database.transaction() as session:
            kept = keep_standings(session)


@app.task(name="deadheat.deliver", base=Guarded)
def deliver() -> None:
    """Send the notices that are due."""
    send_due(context())


def apart(task: str, season_ids: Iterable[int], act: Callable[[Session, int], Told]) -> Iterator[Told]:
    """Handle each season in its own transaction, so that our mistake in one stops none of the others. An unavailable
    database stops them all; an error that concerns only one season does not.
    """
    for season_id in season_ids:
        try:
            with context().database.transaction() as session:
                result = act(session, season_id)
        except Exception as error:
            if isinstance(error, AWAY):
                context().database.check()  # raises if it is unavailable
            log.exception("%s of season %d failed; the other seasons are not affected", task, season_id)
            metrics.task_failures.labels(task, type(error).__name__).inc()
            continue
        yield result
