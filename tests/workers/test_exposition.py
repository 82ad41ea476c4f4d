"""A worker's metrics at a port of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from deadheat.workers.exposition import expose
from tests.league.ground import settings


@contextmanager
def exposed(folder: Path, networks: str) -> Iterator[str]:
    server = expose(settings(folder, metrics_networks=networks), folder, 0)
    with closing(server.socket):
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()


def test_metrics_are_told_to_the_networks_that_may_measure_alone(tmp_path: Path) -> None:
    with exposed(tmp_path, "127.0.0.0/8") as url:
        answer = httpx.get(url)
        assert (answer.status_code, answer.headers["Content-Type"].split(";")[0]) == (200, "text/plain")
    with exposed(tmp_path, "10.0.0.0/8") as url, pytest.raises(httpx.TransportError):
        httpx.get(url)
