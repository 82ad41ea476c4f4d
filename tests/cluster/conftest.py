"""One cluster for all tests of this folder: starting it takes longer than most of them."""

import shutil
from collections.abc import Iterator

import pytest

from tests.cluster import network
from tests.cluster.chaos import BOTS
from tests.cluster.cluster import Cluster
from tests.league import postgres


@pytest.fixture(scope="package")
def cluster(engine_required: None) -> Iterator[Cluster]:
    """A running cluster."""
    if problem := network.missing():
        pytest.skip(problem)
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    if shutil.which("redis-server") is None:
        pytest.skip("no Redis server is installed (Debian: redis-server)")
    with Cluster() as running:
        yield running


@pytest.fixture(scope="package")
def bots(cluster: Cluster) -> list[tuple[str, int]]:
    """Bots uploaded over HTTP and built without warnings: their authors' tokens, and their ids."""
    built = cluster.bots(BOTS)
    assert cluster.warned() == []
    return built
