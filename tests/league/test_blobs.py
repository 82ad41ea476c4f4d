"""Blobs are stored and found by the hash of their content."""

import hashlib
import io
import os
from pathlib import Path

import pytest

from deadheat.league.blobs import BlobDamaged, BlobMissing, Blobs
from deadheat.league.errors import BlobsAway
from tests.league.refusals import refused

pytestmark = pytest.mark.quick


@pytest.fixture(params=["memory", "folder"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return Blobs("memory:///" if request.param == "memory" else (tmp_path / "a b").as_uri())


def test_what_was_put_is_got(blobs: Blobs) -> None:
    blobs.check()
    for content in (b"", b"x", b"hello" * 100_000):
        name = blobs.put(content)
        assert name == hashlib.sha256(content).hexdigest() == blobs.put_file(io.BytesIO(content))
        assert blobs.has(name)
        assert blobs.get(name, len(content)) == content


def test_a_store_that_takes_nothing_is_no_missing_content(tmp_path: Path) -> None:
    blobs = Blobs((tmp_path / "store").as_uri())
    (tmp_path / "store").rmdir()
    (tmp_path / "store").write_text("where folders were, there can be none now")
    with pytest.raises(BlobsAway) as caught:
        blobs.put(b"content")
    assert "try again later" in str(caught.value)
    assert caught.value.why


def written(path: Path) -> Path:
    """Return a blob's final path, even while the file has a temporary name."""
    return path.with_name(path.name.partition("#")[0])


def test_what_was_put_outlives_the_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    safe: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda fd: safe.append(written(Path(f"/proc/self/fd/{fd}").readlink())))
    for _ in range(2):  # the second time, another process may have written it but not synced it
        blobs = Blobs(tmp_path.as_uri())
        name = blobs.put(b"content")
        file = tmp_path / name[:2] / f"{name}.zst"
        assert safe == [file, file.parent, tmp_path]
        safe.clear()
        blobs.put(b"content")
        assert safe == [file, file.parent]  # the folder's own entry is on the disk already
        safe.clear()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BlobsAway):
        Blobs(tmp_path.as_uri()).put(b"content")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_the_power_left_of_one_is_put_again(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path.as_uri())
    name = blobs.put(b"content")
    (tmp_path / name[:2] / f"{name}.zst").write_bytes(b"")
    assert not blobs.has(name)
    assert blobs.get(blobs.put(b"content"), 10) == b"content"


def test_what_is_not_there_is_missing(blobs: Blobs) -> None:
    assert not blobs.has("0" * 64)
    refused(BlobMissing, blobs.get, "0" * 64, 10)


def test_no_more_is_read_than_asked_for(blobs: Blobs) -> None:
    name = blobs.put(bytes(10_000_000))
    refused(BlobDamaged, blobs.get, name, 9_999_999)


def test_damage_is_noticed(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path.as_uri())
    one, other = blobs.put(b"one"), blobs.put(b"other")
    (path,) = tmp_path.rglob(f"{one}.zst")
    (another,) = tmp_path.rglob(f"{other}.zst")
    path.write_bytes(another.read_bytes())
    assert "another SHA-256" in refused(BlobDamaged, blobs.get, one, 100)
    path.write_bytes(b"not zstd")
    assert "cannot be unpacked" in refused(BlobDamaged, blobs.get, one, 100)
    path.write_bytes(another.read_bytes()[:-3])
    refused(BlobDamaged, blobs.get, one, 100)


def test_a_name_is_not_a_path(blobs: Blobs) -> None:
    refused(BlobDamaged, blobs.get, "../../etc/passwd", 10)


def test_at_rest_it_is_compressed(tmp_path: Path) -> None:
    name = Blobs(tmp_path.as_uri()).put(b"transcript\n" * 10_000)
    (path,) = tmp_path.rglob(f"{name}.zst")
    assert path.stat().st_size < 1000
