"""A worker process that is killed at a chosen moment: python -m tests.workers.victim DATA_DIR NOW SERIES MOMENT.

A process of its own, not a fork: the blob store's runtime has threads, and those do not survive a fork.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from pathlib import Path

from deadheat.league.database import Database
from deadheat.league.service.series import carrying_out
from deadheat.sandbox import pipes
from deadheat.workers import play
from deadheat.workers.context import Context
from tests.league.world import settings


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_mid_match() -> None:
    sleep = pipes._sleep
    waits = iter(range(40))  # the first match has 26 exchanges: the process dies inside the second one's

    def the_last_wait(*arguments: object) -> object:
        if next(waits, None) is None:
            die()
        return sleep(*arguments)  # type: ignore[arg-type]

    setattr(pipes, "_sleep", the_last_wait)  # noqa: B010  a private name


def die_between_blobs_and_results() -> None:
    play.finish = die


def die_in_mid_commit() -> None:
    finish_series = carrying_out.finish_series

    def die_before_commit(*arguments: object) -> bool:
        finish_series(*arguments)  # type: ignore[arg-type]
        die()
        raise AssertionError

    setattr(play, "finish_series", die_before_commit)  # noqa: B010  an imported name, which mypy guards


MOMENTS = {
    "in mid-match": die_in_mid_match,
    "between blobs and results": die_between_blobs_and_results,
    "in mid-commit": die_in_mid_commit,
}

if __name__ == "__main__":
    folder, now, series_id, moment = sys.argv[1:]
    context = Context(settings(Path(folder), sandbox="local"))
    context.__dict__["database"] = Database(context.settings, lambda: datetime.fromisoformat(now))
    MOMENTS[moment]()
    play.play_series(context, int(series_id))
