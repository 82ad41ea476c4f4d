"""Plays again, between two series, what machines of low trust played (see `league.service.machines.trust`)."""

import logging

from deadheat.engine.core import TransportError
from deadheat.league.errors import BlobsAway
from deadheat.league.service.machines.trust import record_again, take_again
from deadheat.sandbox.arena import uncollected
from deadheat.workers.context import Context
from deadheat.workers.play import Run, run

log = logging.getLogger(__name__)

LOOK_EVERY = 4
"""After so many series a process looks again, if nothing was due: most leagues have no machine of low trust."""

_to_skip = [0]


def after_series(context: Context) -> None:
    """Look now and then whether a match is due, and after each series while some are."""
    if _to_skip[0] or play_again_when_due(context):
        _to_skip[0] = max(0, _to_skip[0] - 1)
    else:
        _to_skip[0] = LOOK_EVERY - 1


def play_again_when_due(context: Context) -> bool:
    """Play the match that is due twice, and report both results. What fails is due once more after a pause. Return
    whether one was due.
    """
    with context.database.transaction() as session:
        job = take_again(session, context.host)
    if job is None:
        return False
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
    return True
