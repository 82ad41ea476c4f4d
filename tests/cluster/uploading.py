"""An author who uploads a new version while the cluster is disturbed, and does not give up."""

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator

from deadheat.cli.server.api_client import Refused
from tests.cluster.cluster import BOT, Cluster

PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.5


class Author:
    """Uploads versions of a bot in no season, again and again: each must be built, none may be broken."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._token, self._bot_id = cluster.bot()
        self._version = 0
        self._numbers = itertools.count(1)
        self._why = ""

    @contextlib.contextmanager
    def uploads(self, after_seconds: float) -> Iterator[None]:
        """Upload this long after the block begins and repeat until the API accepts it, which the block's end awaits."""
        self._version, self._why = 0, "nobody has tried"
        sending = threading.Thread(target=self._send, args=(after_seconds,), daemon=True)
        sending.start()
        yield
        sending.join()
        assert self._version, f"an upload was not taken within {PATIENCE_SECONDS:g} s: {self._why}"

    def is_built(self) -> bool:
        """Return whether the newest upload is ready. Raises AssertionError if it was called broken."""
        try:
            with self._cluster.api(self._token) as client:
                version = client.version(self._bot_id, self._version)
        except Refused as error:
            if not error.passing:
                raise
            return False
        assert version.state != "broken", version.reason
        return version.state == "ready"

    def _send(self, after_seconds: float) -> None:
        time.sleep(after_seconds)
        end_at = time.monotonic() + PATIENCE_SECONDS
        while not self._version and time.monotonic() < end_at:
            try:
                another = BOT + f"// {next(self._numbers)}\n".encode()  # the same file again would be refused
                with self._cluster.api(self._token) as client:
                    self._version = client.upload(self._bot_id, "bot.c", another).number
            except Refused as error:
                self._why = str(error)
                if not error.passing:
                    return
                time.sleep(PAUSE_SECONDS)
