"""Content-addressed storage of uploads, built programs and transcripts.

A blob's name is the SHA-256 of its content before compression, so writing twice is harmless, a name proves the content,
and a database row cannot point at anything else. At rest everything is compressed (zstd). The store is a local
directory, memory (tests), or any object store that `obstore` opens from a URL; each of them makes a blob visible at
once and whole. When `put` returns, the blob is on the disk, as the row that names it soon will be, so a power failure
never loses a reported result.
"""

import hashlib
import io
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

import obstore
import zstandard
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from deadheat.league.errors import BlobDamaged, BlobMissing, BlobsAway


@dataclass(frozen=True, slots=True)
class Room:
    """The free space of a file system for users other than root."""

    free_bytes: int
    size_bytes: int
    free_files: int
    size_files: int  # 0: the file system creates inodes as needed

    @property
    def free_ratio(self) -> float:
        """The smaller free share of two resources: bytes, and inodes, which millions of small blobs use up first."""
        files = self.free_files / self.size_files if self.size_files else 1.0
        return min(self.free_bytes / max(1, self.size_bytes), files)


def room_at(folder: Path) -> Room:
    """Return the space on the file system of a folder. Raises OSError."""
    volume = os.statvfs(folder)
    # Only root may use a full disk's reserve, so it does not count.
    return Room(
        free_bytes=volume.f_bavail * volume.f_frsize,
        size_bytes=volume.f_blocks * volume.f_frsize,
        free_files=volume.f_favail,
        size_files=volume.f_files,
    )


def blob_folder(url: str) -> Path | None:
    """Return the folder in which a store with that URL keeps its blobs, or None if it has none."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


__all__ = ["BlobDamaged", "BlobMissing", "Blobs", "to_disk"]

LEVEL = 3
"""zstd's default: transcripts shrink about tenfold at some 300 MB/s."""

CHUNK_BYTES = 256 * 1024
_NAME = re.compile(r"[0-9a-f]{64}")
_CHECK_NAME = "check"


class Blobs:
    """A blob store that threads and processes may share."""

    def __init__(self, url: str) -> None:
        self._folder = blob_folder(url)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self._store: ObjectStore = LocalStore(str(self._folder)) if self._folder else from_url(url)
        self._kept: set[Path] = set()
        """The folders of the store that this process has flushed to the disk."""

    def put(self, data: bytes) -> str:
        """Store the content, and return its name. Raises BlobsAway."""
        name = hashlib.sha256(data).hexdigest()
        if self._folder is None:
            return self.put_file(io.BytesIO(data), name)
        file = self._folder / _path(name)
        try:
            if _is_there(file):  # perhaps another process has just written it and is about to do this itself
                to_disk(file)
            else:
                _write(file, zstandard.ZstdCompressor(level=LEVEL).compress(data))
            self._name_to_disk(file)
        except OSError as error:
            raise BlobsAway(error.strerror or str(error)) from error
        return name

    def put_file(self, file: IO[bytes], sha256: str = "") -> str:
        """Store a seekable file's whole content in bounded memory, and return its name.

        `sha256`: the name, if the caller has already computed it. Raises BlobsAway.
        """
        file.seek(0)
        name = sha256 or hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
        if not self.has(name):
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            with tempfile.SpooledTemporaryFile(CHUNK_BYTES) as packed:  # most are small: a file takes longer
                zstandard.ZstdCompressor(level=LEVEL).copy_stream(file, packed, size=size)
                packed.seek(0)
                with _answering():
                    obstore.put(self._store, _path(name), packed)
        self._to_disk(name)  # even if another process has just written it and is about to do this itself
        return name

    def has(self, name: str) -> bool:
        """Say whether the blob is there. An empty file does not count: a power failure may leave one."""
        try:
            with _answering():
                return obstore.head(self._store, _path(name))["size"] > 0
        except FileNotFoundError:
            return False

    def get(self, name: str, limit_bytes: int) -> bytes:
        """Return the content, checked against its name. Raises BlobMissing; BlobDamaged: it does not match its name, or
        is larger than `limit_bytes`; BlobsAway.
        """
        return b"".join(self.stream(name, limit_bytes))

    def stream(self, name: str, limit_bytes: int) -> Iterator[bytes]:
        """Yield a blob's content in pieces; damage may show only after the last piece."""
        return self._unpack(name, _Reader(self._pieces(name)), limit_bytes)

    def verify(self, name: str) -> None:
        """Read a whole blob and check it. Raises as `get` does."""
        for _ in self.stream(name, sys.maxsize):
            pass

    def whole(self, name: str) -> bool:
        """Say whether the blob is there and matches its name. Raises BlobsAway."""
        try:
            self.verify(name)
        except (BlobMissing, BlobDamaged):
            return False
        return True

    def copy(self, name: str, to: "Blobs") -> None:
        """Copy a blob in its stored form to another store, once it has been checked. Raises as `get` does; then nothing
        was copied.
        """
        pieces = self._pieces(name)
        with tempfile.TemporaryFile() as packed:
            try:
                for piece in pieces:
                    packed.write(piece)
            except BaseError as error:
                raise _unreadable(name, error) from error
            packed.seek(0)
            for _ in self._unpack(name, packed, sys.maxsize):
                pass
            packed.seek(0)
            with _answering():
                obstore.put(to._store, _path(name), packed)  # noqa: SLF001  of the same class

    def must_take(self) -> None:
        """Raise BlobsAway if nothing can be stored now. Call this before work whose result must be stored."""
        with _answering():
            self.check()

    def check(self) -> None:
        """Write a few bytes and read them back. Raises whatever the store raises."""
        obstore.put(self._store, _CHECK_NAME, b"deadheat")
        if bytes(obstore.get(self._store, _CHECK_NAME).bytes()) != b"deadheat":
            raise BlobDamaged(_CHECK_NAME, "the store returned different content from what was written")

    def _pieces(self, name: str) -> Iterator[bytes]:
        """Return the stored bytes of a blob in pieces. Raises BlobMissing, BlobsAway."""
        try:
            with _answering():
                return iter(obstore.get(self._store, _path(name)).stream())
        except FileNotFoundError as error:
            raise BlobMissing(name) from error

    def _to_disk(self, name: str) -> None:
        """Flush a local file to the disk, against power failures. Other stores confirm only what is safe."""
        if self._folder is None:
            return
        file = self._folder / _path(name)
        try:
            to_disk(file)
            self._name_to_disk(file)
        except OSError as error:
            raise BlobsAway(error.strerror or str(error)) from error

    def _name_to_disk(self, file: Path) -> None:
        to_disk(file.parent)
        if self._folder is not None and file.parent not in self._kept:
            to_disk(self._folder)
            self._kept.add(file.parent)

    def _unpack(self, name: str, packed: "IO[bytes] | _Reader", limit_bytes: int) -> Iterator[bytes]:
        digest = hashlib.sha256()
        total = 0
        try:
            with zstandard.ZstdDecompressor().stream_reader(cast("BinaryIO", packed), closefd=False) as reader:
                while chunk := reader.read(CHUNK_BYTES):
                    total += len(chunk)
                    if total > limit_bytes:
                        raise BlobDamaged(name, f"it has more than {limit_bytes} bytes")
                    digest.update(chunk)
                    yield chunk
        except zstandard.ZstdError as error:
            raise BlobDamaged(name, f"it cannot be unpacked ({error})") from error
        except BaseError as error:
            raise _unreadable(name, error) from error
        if digest.hexdigest() != name:
            raise BlobDamaged(name, "its content has another SHA-256")


@contextmanager
def _answering() -> Iterator[None]:
    """Turn every failure of the store into BlobsAway, except that a missing blob stays FileNotFoundError."""
    try:
        yield
    except BaseError as error:
        raise BlobsAway(str(error).partition("\n")[0]) from error  # the following lines are obstore's internals


def _unreadable(name: str, error: BaseError) -> BlobDamaged:
    return BlobDamaged(name, f"it cannot be read ({error})")


class _Reader(io.RawIOBase):
    """A file interface to a store's stream of pieces, for the decompressor."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the stub's Buffer has no length
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(bytes(piece))
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _is_there(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _write(file: Path, content: bytes) -> None:
    """Write a file of the store to the disk so that it appears at once and whole. obstore's local store does the same
    for several times the CPU time. Its lists leave out names such as the file's temporary one.
    """
    draft = file.with_name(f"{file.name}#{secrets.randbits(62)}")
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        fd = os.open(draft, how, 0o666)
    except FileNotFoundError:
        file.parent.mkdir(exist_ok=True)
        fd = os.open(draft, how, 0o666)
    try:
        while content:
            content = content[os.write(fd, content) :]
        os.fsync(fd)  # before it has its name: what is found under it has been on the disk
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def to_disk(path: Path) -> None:
    """Wait until a file's content or a folder's list of names is on the disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _path(name: str) -> str:
    """Return the path of a blob, in one of 256 folders so that none grows large. Raises BlobDamaged for no name."""
    if not _NAME.fullmatch(name):
        raise BlobDamaged(ascii(name), "its name is not a SHA-256")
    return f"{name[:2]}/{name}.zst"
