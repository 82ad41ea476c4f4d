"""The log of a build, which its author can read while it grows.

It is kept whole here and written to the version's row at most once a second: when the build prints something, and
between the exchanges of a trial match, when no bot's clock runs. The tools' output is not appended but replaced each
time (`sandbox.build`), because only the beginning and the end of long output are kept.
"""

from __future__ import annotations

import logging
import time

from sqlalchemy.exc import SQLAlchemyError

from deadheat.league.service.jobs.builds import BuildJob, note_build_log
from deadheat.workers.context import Context
from deadheat.workers.holding import LeaseLost

log = logging.getLogger(__name__)

WRITE_SECONDS = 1.0


class BuildLog:
    """Our own lines and the tools' output so far, in order."""

    def __init__(self, context: Context, job: BuildJob) -> None:
        self._context, self._job = context, job
        self._said, self._heard = "", ""
        self._unwritten = False
        self._due_at = time.monotonic()

    @property
    def text(self) -> str:
        """Return the whole log so far."""
        return self._said + self._heard

    def say(self, lines: str) -> None:
        """Add our own lines after all of the tools' output. Raises LeaseLost."""
        before = self.text
        self._said, self._heard = before + ("\n" if before and not before.endswith("\n") else "") + lines + "\n", ""
        self._note()

    def hear(self, printed: str) -> None:
        """Replace the tools' output since our last lines. Raises LeaseLost."""
        self._heard = printed
        self._note()

    def write_when_due(self) -> None:
        """Show the log to the author, at most once a second. Raises LeaseLost if the build is no longer ours."""
        if not self._unwritten or time.monotonic() < self._due_at:
            return
        self._due_at = time.monotonic() + WRITE_SECONDS
        try:
            with self._context.database.transaction() as session:
                if not note_build_log(session, self._job, self.text):
                    raise LeaseLost
        except SQLAlchemyError as error:  # the database may come back; the log is also stored when the build ends
            log.warning("version %d: its log could not be written: %s", self._job.version_id, error)
            return
        self._unwritten = False

    def _note(self) -> None:
        self._unwritten = True
        self.write_when_due()
