"""One process of a machine that plays over HTTP: series after series, until it is told to stop.

It ends after SIGTERM as soon as its series is over; between two series, at once. `workers.stopping` makes it hand its
series back before that.
"""

import logging
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

from deadheat.workers import stopping
from deadheat.workers.context import Context
from deadheat.workers.holding import RETRY_SECONDS, LeagueAway
from deadheat.workers.machine.client import OverHttp
from deadheat.workers.play import play_series

log = logging.getLogger(__name__)

NO_SERIES = 0
"""In place of a message's series: the league chooses."""


class Player:
    """Plays whatever the league has for this machine."""

    def __init__(self, context: Context, link: OverHttp) -> None:
        self._context, self._link = context, link
        self._idle, self._ends = True, False

    def run(self) -> NoReturn:
        """Play until SIGTERM. Raises Dismissed."""
        stopping.listen()
        signal.signal(signal.SIGTERM, self._end)
        away = False
        while True:
            try:
                played = self._play()
                if away:
                    log.info("the league answers again")
                away = False
                if not played:
                    time.sleep(RETRY_SECONDS)  # another machine was faster, or it was not for this one
                    self._link.wait()
            except LeagueAway as error:
                if not away:
                    log.warning("the league does not answer, trying again: %s", error)
                away = True
                time.sleep(RETRY_SECONDS)

    def _play(self) -> bool:
        self._idle = False
        try:
            return play_series(self._context, NO_SERIES) != NO_SERIES
        finally:
            self._idle = True
            if self._ends:
                sys.exit()

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._ends = True
        if self._idle:
            sys.exit()
