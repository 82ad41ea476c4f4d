"""A worker process that dies at a chosen moment: python -m tests.workers.victim DATA_DIR NOW SERIES MOMENT.

It is no fork of the test's process, because the blob store's runtime has threads, which do not survive a fork.
"""

import os
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from deadheat.league.database import Database
from deadheat.league.service.series.carrying_out import finish_series
from deadheat.sandbox.pipes import PipeTransport
from deadheat.workers import link, play
from deadheat.workers.context import Context
from tests.league.ground import settings

EXCHANGES = 40
"""The exchanges before a death in mid-match. A match of Yacht Auction has 26, so it is in the second one."""

Die = Callable[[], None]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_mid_match(die: Die) -> None:
    """Die between two exchanges, with both bots running."""
    exchange, left = PipeTransport.exchange, iter(range(EXCHANGES))

    def counted(self: PipeTransport, *arguments: Any) -> Any:
        if next(left, None) is None:
            die()
        return exchange(self, *arguments)

    setattr(PipeTransport, "exchange", counted)  # noqa: B010  a method, which mypy guards


def between_blobs_and_results(die: Die) -> None:
    """Die once all transcripts are written, before the database knows."""
    _around(play, "finish", play.finish, before=die)


def in_mid_commit(die: Die) -> None:
    """Die after the transaction's last statement, before its end."""
    _around(link, "finish_series", finish_series, after=die)


def after_the_commit(die: Die) -> None:
    """Die once the results are stored, before anybody is told."""
    _around(play, "finish", play.finish, after=die)


def _around(
    module: ModuleType, name: str, act: Callable[..., Any], before: Die = lambda: None, after: Die = lambda: None
) -> None:
    def doomed(*arguments: Any) -> Any:
        before()
        done = act(*arguments)
        after()
        return done

    setattr(module, name, doomed)


MOMENTS = {
    "in mid-match": in_mid_match,
    "between blobs and results": between_blobs_and_results,
    "in mid-commit": in_mid_commit,
    "after the commit": after_the_commit,
}

if __name__ == "__main__":
    folder, now, series_id, moment = sys.argv[1:]
    context = Context(settings(Path(folder), sandbox="local"))
    context.__dict__["database"] = Database(context.settings, lambda: datetime.fromisoformat(now))
    MOMENTS[moment](die)
    play.play_series(context, int(series_id))
