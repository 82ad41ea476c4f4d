"""Plays again, between two series, what machines of low trust played (see `league.service.machines.trust`)."""

import logging

from deadheat.engine.core import TransportError
from deadheat.league.errors import BlobsAway
from deadheat.league.service.machines.trust import record_again, take_again
from deadheat.sandbox.arena import uncollected
from deadheat.workers.context import Context
from deadheat.workers.play import Run, run

log = logging.getLogger(__name__)


def play_again_when_due(context: Context) -> None:
    """Play the match that is due twice, and report both results. What fails is due once more after a pause."""
    with context.database.transaction() as session:
        job = take_again(session, context.host)
    if job is None:
        return
    runs: list[Run] = []
    try:
        with uncollected(), context.slots.take() as cpus:
            run(context, job, cpus, lambda: None, runs.append)
    except (TransportError, BlobsAway) as error:
        log.warning("match %d could not be played again: %s", job.matches[0].match_id, error)
    results = [each.played.transcript.result for each in runs if each.played is not None]
    if len(results) == len(job.matches):
        with context.database.transaction() as session:
            record_again(session, job.matches[0].match_id, results)
