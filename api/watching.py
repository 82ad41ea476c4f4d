"""What each process of the site does for tables beside requests: it reports that people and agents can answer, ends
turns that are late, lets the house's bots take seats for which nobody comes, and records matches without programs that
are over.

If no process reports, the site was away, and nobody's time runs (`league.service.tables.turns`).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi.concurrency import run_in_threadpool

from deadheat.api.services import Services
from deadheat.engine.transcript import encode
from deadheat.league.errors import BlobsAway
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.service.tables.queueing import put_off, sit_in, without_players
from deadheat.league.service.tables.turns import WATCH_SECONDS, attend, finish, record, report, watch

log = logging.getLogger(__name__)

leaving = threading.Event()
"""Set as soon as this process has been told to end: it serves what it has begun, but accepts nobody, so it no longer
reports that the site is there."""


async def watch_tables(shared: Services) -> None:
    """Watch all tables until cancelled. Whatever fails is tried again; a slow store keeps nobody from reporting."""
    await asyncio.gather(*(_again_and_again(look, shared) for look in (report_once, watch_once)))


async def _again_and_again(look: Callable[[Services], None], shared: Services) -> None:
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        await run_in_threadpool(look, shared)


def report_once(shared: Services) -> None:
    """Report that this process is there."""
    if not leaving.is_set():
        with logged("the tables could not be told that the site is there"):
            shared.change(report)


def watch_once(shared: Services) -> None:
    """Watch all tables once, each in a transaction of its own; seat bots; and record the matches that are over."""
    over: list[int] = []
    with logged("the tables could not be watched"):
        for table_id in shared.read(watch):
            with logged(f"table {table_id} could not be watched"):
                over += [table_id] if shared.change(attend, table_id) else []
    with logged("the open tables could not be listed"):
        for table_id in shared.read(without_players):
            with logged(f"the house's bots could not be seated at table {table_id}"):
                _seat_bots(shared, table_id)
    for table_id in over:
        with logged(f"table {table_id} could not be recorded"):
            keep_record(shared, table_id)


def _seat_bots(shared: Services, table_id: int) -> None:
    try:
        if shared.change(sit_in, table_id):
            shared.nudge(TABLES, table_id)
    except Exception:
        shared.change(put_off, table_id)
        raise


@contextmanager
def logged(what: str) -> Iterator[None]:
    """Log any failure: databases and stores raise many kinds of exceptions, and the next look is soon."""
    try:
        yield
    except Exception:
        log.exception("%s; the next look is in %s s", what, WATCH_SECONDS)


def keep_record(shared: Services, table_id: int) -> None:
    """Store the record and the result of a match without programs, if it is over. Repeating it is harmless; while the
    store is away, the next look tries again.
    """
    transcript = shared.read(record, table_id)
    if transcript is not None:
        try:
            shared.change(finish, table_id, 0, transcript.result, shared.blobs.put(encode(transcript)), transcript)
        except BlobsAway as error:
            log.warning("the record of table %d cannot be stored yet: %s", table_id, error.why)
