"""What the pages of a contest cost when none is kept: CPU time, statements, size, and the most memory at once."""

import statistics
import time
import tracemalloc
from collections.abc import Iterator, MutableMapping
from typing import Any

import httpx
from sqlalchemy import event

from deadheat.api.app import create_app
from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.database import Database
from tests.api.site import InProcess, NotedQueue
from tests.league.world import World

TIMES = 5


class Anew:
    """An application that makes every page for each request; no answer is kept."""

    def __init__(self, settings: Settings, database: Database, cookies: dict[str, str] | None = None) -> None:
        settings = settings.model_copy(update={"reads_per_minute": 10**9})
        app = create_app(settings, queue=NotedQueue(), db=database, blobs=Blobs("memory:///"))
        self.services = app.state.services
        self.client = httpx.Client(transport=InProcess(app), base_url="http://league", cookies=cookies)
        self._statements: list[object] = []
        with database.reading() as session:
            event.listen(session.get_bind(), "before_cursor_execute", lambda *what: self._statements.append(what[2]))

    def cost(self, path: str, times: int, *kept: MutableMapping[Any, Any]) -> tuple[httpx.Response, float, int]:
        """Return the last answer, the median of its CPU time in ms, and its statements; `kept` is cleared, too."""
        spent = []
        answer = self.client.get(path)  # warms up
        for _ in range(times):
            for one in (self.services.bodies._kept, *kept):
                one.clear()
            self._statements.clear()
            began = time.process_time()
            answer = self.client.get(path)
            spent.append(1000 * (time.process_time() - began))
        return answer, statistics.median(spent), len(self._statements)


def costs(world: World, season_id: int) -> Iterator[tuple[str, float]]:
    """Yield a line for each page, and its CPU time in ms."""
    anew = Anew(world.settings, world.db)
    evaluation = anew.client.get(f"/v1/seasons/{season_id}/evaluations?limit=1").json()["items"][0]["id"]
    for path in (
        *(f"/contests/{evaluation}", f"/contests/{evaluation}?page=32"),
        *(f"/v1/evaluations/{evaluation}", f"/v1/evaluations/{evaluation}/rounds/1"),
        *(f"/seasons/{season_id}{page}" for page in ("/contests", "", "/participants", "/entries")),
        *("/participants", "/bots", "/bots/1", "/authors/team-0000"),
    ):
        answer, cpu_ms, asked = anew.cost(path, TIMES)
        if answer.status_code == 404:
            continue
        assert answer.status_code == 200, answer.text[:500]
        anew.services.bodies._kept.clear()
        tracemalloc.start()
        anew.client.get(path)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = len(answer.content) / 1000
        yield f"    {path:34}{cpu_ms:8.1f} ms{asked:5} statements{size:7.0f} kB{memory / 2**20:7.1f} MiB", cpu_ms
    anew.client.close()
