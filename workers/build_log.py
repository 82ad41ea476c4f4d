"""The log of a build, as its author sees it grow.

It is kept whole here and written to the version's row at most once a second: when the build says something, and
between the exchanges of a trial match, where no bot's clock runs. The tools' output is not appended but read anew each
time (`sandbox.build`), because only the beginning and the end of long output are kept.
"""

from __future__ import annotations

import logging
import time

from sqlalchemy.exc import SQLAlchemyError

from league.jobs import BuildJob
from league.service.jobs.builds import note_build_log
from workers.context import Context
from workers.holding import LeaseLost

log = logging.getLogger(__name__)

WRITE_SECONDS = 1.0


class BuildLog:
    """What we and the tools have said so far, in that order."""

    def __init__(self, context: Context, job: BuildJob) -> None:
        self._context, self._job = context, job
        self._said, self._heard = "", ""
        self._unwritten = False
        self._due_at = time.monotonic()

    @property
    def text(self) -> str:
        """All of it."""
        return self._said + self._heard

    def say(self, lines: str) -> None:
        """Our own lines, after all that the tools have printed. Raises LeaseLost."""
        before = self.text
        self._said, self._heard = before + ("\n" if before and not before.endswith("\n") else "") + lines + "\n", ""
        self._note()

    def hear(self, printed: str) -> None:
        """All that the tools have printed since we last said something. Raises LeaseLost."""
        self._heard = printed
        self._note()

    def write_when_due(self) -> None:
        """Let the author see it, at most once a second. Raises LeaseLost where the build is not ours any more."""
        if not self._unwritten or time.monotonic() < self._due_at:
            return
        self._due_at = time.monotonic() + WRITE_SECONDS
        try:
            with self._context.database.transaction() as session:
                if not note_build_log(session, self._job, self.text):
                    raise LeaseLost
        except SQLAlchemyError as error:  # the database may come back; the log is stored when the build ends besides
            log.warning("version %d: its log could not be written: %s", self._job.version_id, error)
            return
        self._unwritten = False

    def _note(self) -> None:
        self._unwritten = True
        self.write_when_due()
