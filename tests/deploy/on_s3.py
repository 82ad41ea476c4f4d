"""Blobs in an S3-compatible store: moto's server, which keeps all in memory.

./scripts/deploy-check installs it for this file alone, and starts this file.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from deadheat.league.blobs import BlobMissing, Blobs
from deadheat.league.storage.backup import back_up, read_backup
from deadheat.league.storage.restore import restore
from deadheat.league.tables import BotVersion
from tests.deployment import free_port
from tests.league.ground import settings
from tests.league.world import World

START_SECONDS = 120
WRITERS = 16
BUCKET = "s3://blobs"


@contextmanager
def reached(port: int, key: str, secret: str) -> Iterator[None]:
    """Set the environment from which obstore takes the store's address and credentials."""
    environment = {
        "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen(["moto_server", "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while not is_made(f"http://127.0.0.1:{port}/blobs"):
            assert time.monotonic() < until and server.poll() is None
            time.sleep(0.2)
        with reached(port, "key", "secret"):
            yield BUCKET
    finally:
        server.terminate()
        server.wait(30)


def is_made(bucket: str) -> bool:
    try:
        return httpx.put(bucket).status_code == 200
    except httpx.TransportError:
        return False


def test_blobs_are_stored_found_and_missed(store: str) -> None:
    blobs = Blobs(store)
    blobs.check()
    for content in (bytes(20_000_000), os.urandom(20_000_000)):  # one shrinks and is sent whole, one in parts
        name = blobs.put(content)
        assert blobs.has(name) and blobs.get(name, 20_000_000) == content
    with pytest.raises(BlobMissing):
        blobs.get("0" * 64, 1)


def test_many_may_write_and_read_the_same_at_once(store: str) -> None:
    blobs = Blobs(store)

    def everybody_alike(number: int) -> None:
        content = b"%d" % (number // WRITERS)
        assert blobs.get(blobs.put(content), 100) == content
        blobs.check()

    with ThreadPoolExecutor(WRITERS) as pool:
        assert len([*pool.map(everybody_alike, range(16 * WRITERS))]) == 16 * WRITERS


def test_a_league_moves_from_a_folder_to_the_store_and_back(store: str, tmp_path: Path) -> None:
    world = World(settings(tmp_path / "folder"))
    world.season(3)
    with world.db.transaction() as session:
        for version in session.exec(select(BotVersion)):
            version.source_sha256 = Blobs(world.settings.blobs).put(f"source {version.id}".encode())
            version.program_sha256 = Blobs(world.settings.blobs).put(f"program {version.id}".encode())
    world.close()
    there = settings(tmp_path / "store", blob_url=store)
    assert restore(there, back_up(world.settings, tmp_path / "first")).blobs == 6
    back_up(there, tmp_path / "second")
    assert restore(settings(tmp_path / "back"), read_backup(tmp_path / "second")).blobs == 6
