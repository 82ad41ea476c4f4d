"""Plays one series: claim, run, store, finish. This is the hot path of the product.

Theory of operation
-------------------
First, now and then, a canary match (`workers.canary`) shows that this machine still judges correctly. `claim` takes the
row by compare-and-set and gives the job a new attempt number and a lease. The store is asked whether it accepts writes.
`run` then plays without a database connection, except that the lease is renewed between exchanges, when no bot's clock
runs: none of our threads ever competes with the referee. `store` writes transcripts to the blob store, where writing
twice is harmless. `finish` writes all results in one transaction, and only if the row still has our attempt number.

So a worker may die at any point: before `finish` the lease runs out and another worker plays the series again, with the
next seeds; after it, the results are stored. There is nothing in between. A failure of the service is an exception; it
voids a match or fails the series. Either way the work ends here: matches played before are stored and finished, and the
others go back to the queue in the same transaction, for new boxes and the next seeds. A failure never becomes a result.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deadheat.engine.core import TransportError
from deadheat.engine.games.variants import rules
from deadheat.league.causes import BLAMELESS, Cause
from deadheat.league.jobs import AttemptRecord, Failure, MatchJob, MatchOutcome, SeriesJob
from deadheat.league.outcomes import evidence
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.telemetry import doing
from deadheat.sandbox.arena import Arena, Played, uncollected
from deadheat.sandbox.box import Program, bot_limits
from deadheat.workers import metrics, stopping
from deadheat.workers.canary import play_canary_when_due
from deadheat.workers.context import PLAY, Context, fetch_program
from deadheat.workers.holding import MAX_DETAIL, Heartbeat, LeaseLost, cause_of, failure_of
from deadheat.workers.live import Broadcast

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Run:
    """An attempt at one match: `played` is None if it was void."""

    match: MatchJob
    played: Played | None
    attempt: AttemptRecord


def play_series(context: Context, series_id: int) -> int | None:
    """Carry out the next series, on receipt of a message about this one. Return its id, or the message's id
    if nothing was left to do; None if work is left for another machine only.

    Garbage is collected only after the series, because its objects are needed until its end.
    """
    with uncollected(), context.slots.take() as cpus:
        play_canary_when_due(context, cpus)
        job = context.link.claim(series_id)
        if job is None:
            return None if context.link.turn_away(series_id) else series_id
        metrics.appear(job.game, job.season_id)
        try:
            with doing("series", series=job.series_id, attempt=job.attempt, game=job.game):
                log.info("series %d attempt %d: %d matches", job.series_id, job.attempt, len(job.matches))
                runs, outcomes, failure = carry_out(context, job, cpus)
        except LeaseLost:
            log.warning("series %d: the lease of attempt %d was lost", job.series_id, job.attempt)
            return job.series_id
    with doing("finish", series=job.series_id):
        finish(context, job, runs, outcomes, failure)
    return job.series_id


def carry_out(
    context: Context, job: SeriesJob, cpus: Sequence[int]
) -> tuple[list[Run], list[MatchOutcome], Failure | None]:
    """Play as many matches as possible and store them. Return why the rest could not be played, unless one was void.

    Raises:
        LeaseLost: the series is no longer ours.
    """
    heartbeat = Heartbeat(lambda: context.link.renew(job))
    what = f"series {job.series_id} attempt {job.attempt}"
    runs: list[Run] = []
    outcomes: list[MatchOutcome] = []
    failure = None
    try:
        context.link.must_take()
        run(context, job, cpus, heartbeat, runs.append)
    except LeaseLost:
        raise
    except Exception as error:  # noqa: BLE001  any other error is ours
        failure = failure_of(SERIES, what, error)
    try:
        store(context, runs, heartbeat.renew, outcomes.append)
    except LeaseLost:
        raise
    except Exception as error:  # noqa: BLE001  matches that are not stored are played again
        failure = failure_of(SERIES, what, error)
    return runs, outcomes, failure


def run(
    context: Context, job: SeriesJob, cpus: Sequence[int], heartbeat: Callable[[], None], hand_in: Callable[[Run], None]
) -> None:
    """Play the matches of the series in one set of boxes, up to the first void one, and pass each to `hand_in`.

    Raises:
        LeaseLost: the series is no longer ours.
        SandboxError: the boxes cannot be opened at all.
    """
    players = sorted(job.programs)
    with context.folder(PLAY) as folder:
        programs = [fetch_program(context, job.programs[version], folder / str(version), job) for version in players]
        with Arena(context.sandbox, programs, bot_limits(cpus), context.slots.referee(cpus)) as arena:
            opened_at = time.monotonic()
            with doing("open boxes", versions=players):
                arena.open()
            metrics.sandbox_open_seconds.observe(time.monotonic() - opened_at)
            broadcast = Broadcast(context, job)
            for match in job.matches:
                seating = [players.index(version) for version in match.seats]
                with doing("match", match=match.match_id, versions=list(match.seats)):
                    item = play_match(arena, job, programs, match, seating, heartbeat, broadcast)
                hand_in(item)
                if item.played is None:
                    return


def play_match(
    arena: Arena,
    job: SeriesJob,
    programs: Sequence[Program],
    match: MatchJob,
    seating: Sequence[int],
    between: Callable[[], None],
    broadcast: Broadcast,
) -> Run:
    """Make one attempt at one match."""
    broadcast.begin(match.match_id)
    players = [programs[player].label for player in seating]
    about = {"match": match.match_id, "series": job.series_id, "players": players}
    started_at_ns = time.time_ns()
    try:
        game = rules(job.game, job.variant)
        played = arena.play(game, seating, match.seed, about, between, broadcast.around, attempt=match.attempt)
    except TransportError as error:
        if error.cause in BLAMELESS:
            raise  # nothing can be played here, which is not this match's fault
        log.warning("match %d is void: %s: %s %s", match.match_id, error.cause, error.detail, error.evidence)
        detail = error.detail[:MAX_DETAIL]
        return Run(match, None, AttemptRecord(started_at_ns, time.time_ns(), error.cause, detail, error.evidence))
    except (LeaseLost, stopping.Stopping):
        raise
    except Exception as error:  # our mistake; a bot may have triggered it, so only this match pays for it
        log.exception("match %d is void because of a mistake in Deadheat", match.match_id)
        detail = str(error)[:MAX_DETAIL]
        return Run(match, None, AttemptRecord(started_at_ns, time.time_ns(), cause_of(error), detail, {}))
    broadcast.end()
    known = evidence(played.transcript)
    return Run(match, played, AttemptRecord(started_at_ns, time.time_ns(), Cause.PLAYED, evidence=known))


def store(
    context: Context, runs: Sequence[Run], heartbeat: Callable[[], None], hand_in: Callable[[MatchOutcome], None]
) -> None:
    """Write the transcripts, and pass each match's outcome to `hand_in`. A void match comes first, because it
    has nothing to write.
    """
    for item in sorted(runs, key=lambda item: item.played is not None):
        heartbeat()
        hand_in(stored(context, item))


def stored(context: Context, item: Run) -> MatchOutcome:
    """Store one match's transcript and return its outcome."""
    played = item.played
    if played is None:
        return MatchOutcome(item.match.match_id, None, None, attempts=(item.attempt,))
    return context.link.store(item.match.match_id, played, item.attempt)


def finish(
    context: Context,
    job: SeriesJob,
    runs: Sequence[Run],
    outcomes: Sequence[MatchOutcome],
    failure: Failure | None = None,
) -> None:
    """Hand in the results; update the metrics only if they were accepted."""
    if not context.link.finish(job, outcomes, failure):
        log.warning("series %d: the results of attempt %d are not taken", job.series_id, job.attempt)
        return
    handed_in = {outcome.match_id for outcome in outcomes}
    taken_runs = [item for item in runs if item.match.match_id in handed_in]
    for item in taken_runs:
        metrics.attempts.labels(job.game, item.attempt.cause).inc()  # "played", or why it is void
    measured = [latency for outcome in outcomes for latency in outcome.latencies]
    metrics.record([item.played.transcript for item in taken_runs if item.played is not None], measured, job.season_id)
