"""A worker whose processes are killed, once at a chosen moment or by every job of a kind:

    python -m tests.cluster.victim --flag FILE --moment MOMENT
    python -m tests.cluster.victim --deadly PROGRAM_SHA256...

The first of its processes that reaches the moment and finds the file removes it and dies; those that Celery starts in
its place find no file, and live. A deadly program kills every process that is about to start it.
"""

import argparse
import os
import signal
from collections.abc import Callable
from pathlib import Path

from deadheat.cli.operator.deployment import jobs
from deadheat.league.jobs import ProgramRef, SeriesJob
from deadheat.sandbox.box import Program
from deadheat.workers import play
from deadheat.workers.context import Context, fetch_program
from tests.workers.victim import MOMENTS, Die


def main() -> None:
    """Take jobs, as `deadheat worker` does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--flag", type=Path)
    parser.add_argument("--moment", choices=MOMENTS)
    parser.add_argument("--deadly", nargs="+", default=[])
    chosen = parser.parse_args()
    if chosen.moment:
        once(chosen.flag, MOMENTS[chosen.moment])
    every_time(set(chosen.deadly))
    jobs("build,play,control", 2)


def once(flag: Path, moment: Callable[[Die], None]) -> None:
    """Let the first process that reaches the moment die there."""

    def die() -> None:
        try:
            flag.unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    moment(die)


def every_time(deadly: set[str]) -> None:
    """Kill every process that is to play one of these programs, between its claim of the series and its report."""

    def doomed(context: Context, program: ProgramRef, folder: Path, job: SeriesJob) -> Program:
        if program.program_sha256 in deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return fetch_program(context, program, folder, job)

    setattr(play, "fetch_program", doomed)  # noqa: B010  an imported name, which mypy guards


if __name__ == "__main__":
    main()
