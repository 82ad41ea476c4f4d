"""What the pages of a contest cost when they are made anew: CPU time, statements, size, and the most memory at once."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Iterator

import httpx
from sqlalchemy import event

from deadheat.api.app import create_app
from deadheat.league.blobs import Blobs
from tests.api.site import InProcess, NotedQueue
from tests.league.world import World

TIMES = 5


def costs(world: World, season_id: int) -> Iterator[tuple[str, float]]:
    """Yield a line for each page, and its CPU time in ms."""
    settings = world.settings.model_copy(update={"reads_per_minute": 10**9})
    app = create_app(settings, queue=NotedQueue(), db=world.db, blobs=Blobs("memory:///"))
    client = httpx.Client(transport=InProcess(app), base_url="http://league")
    statements: list[object] = []
    with world.db.reading() as session:
        event.listen(session.get_bind(), "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    evaluation = client.get(f"/v1/seasons/{season_id}/evaluations?limit=1").json()["items"][0]["id"]
    for path in (
        f"/evaluations/{evaluation}",
        f"/evaluations/{evaluation}?page=32",
        f"/v1/evaluations/{evaluation}",
        f"/v1/evaluations/{evaluation}/rounds/1",
        f"/seasons/{season_id}/evaluations",
        f"/seasons/{season_id}",
        f"/seasons/{season_id}/participants",
        f"/seasons/{season_id}/entries",
        "/participants",
        "/bots",
        "/bots/1",
        "/authors/team-0000",
    ):
        spent: list[float] = []
        answer = client.get(path)  # warms up
        for _ in range(TIMES):
            app.state.services.bodies._kept.clear()
            statements.clear()
            began = time.process_time()
            answer = client.get(path)
            spent.append(1000 * (time.process_time() - began))
        if answer.status_code == 404:
            continue
        assert answer.status_code == 200, answer.text[:500]
        asked = len(statements)
        app.state.services.bodies._kept.clear()
        tracemalloc.start()
        client.get(path)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        cpu_ms = statistics.median(spent)
        size = len(answer.content) / 1000
        yield f"    {path:34}{cpu_ms:8.1f} ms{asked:5} statements{size:7.0f} kB{memory / 2**20:7.1f} MiB", cpu_ms
    client.close()
