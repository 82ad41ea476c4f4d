"""Untrusted archives: inspected before they are kept, and unpacked safely.

Authors send zips, and builds of their code produce tars; both are untrusted, under the same rules. An entry
is a regular file or a directory, has a plain relative path of printable text, and appears once. Anything else
is refused, not repaired, so exactly the inspected content is unpacked. Because no link is ever created and
every file is newly created, nothing can be written outside the directory.

Sizes are bounded three times: the sizes declared in the archive's directory, the ratio to the size sent, and the bytes
actually unpacked. No two entries may share bytes; otherwise bytes sent once could be unpacked a thousand times (D.
Fifield, "A better zip bomb", 2019). A zip's directory is bounded before the standard library parses it, which takes
half a kilobyte of memory per entry. (Its own filters of tars came with Python 3.11.4; Debian 12 has 3.11.2.)
"""

import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO

from deadheat.sandbox.languages import MANIFEST, MAX_MANIFEST_BYTES, Recipe

CHUNK_BYTES = 64 * 1024
MAX_PATH_BYTES = 1024
MAX_DEPTH = 32
MAX_NAME_BYTES = 255
"""Linux's bound on one part of a path."""

MAX_RATIO = 200
"""Sources shrink by a factor of 3 to 10; deflate's own limit is 1,032, which only a bomb approaches."""

RATIO_FROM_BYTES = 1024 * 1024
"""The size from which the ratio counts: smaller archives of very repetitive files are no threat."""

MAX_DIRECTORY_BYTES_PER_FILE = 46 + 2 * MAX_NAME_BYTES
"""Bytes per file in a zip's central directory: the fixed part, the name, and extra fields that common tools write."""

MAX_PROGRAM_FILES = 20_000
"""The most files of a program: a build may add a compiled file for each source, and more."""

_END = struct.Struct("<4s4H2LH")
_END_MAGIC, _END64_MAGIC = b"PK\x05\x06", b"PK\x06\x07"
_END64_LOCATOR_BYTES = 20
_LOCAL_HEADER_BYTES = 30
_MAX_COMMENT_BYTES = 0xFFFF
_ENCRYPTED = 0x1 | 0x40
_UTF8 = 0x800
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class BadArchive(Exception):
    """The archive is refused. `reason` is a stable word; the text says what is wrong with which entry."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits for unpacking an upload."""

    files: int = 2000
    total_bytes: int = 64 * 1024 * 1024


def inspect_zip(file: BinaryIO, bounds: Bounds) -> tuple[tuple[str, ...], str | None]:
    """Check everything, and unpack each entry once without storing it. Return the files' names, and the text
    of the manifest, if there is one. Raises BadArchive: the first mistake found.
    """
    with _opened(file, bounds) as archive:
        entries = _checked_entries(archive, bounds)
        manifest = None
        for info in entries:
            data = bytearray()
            for chunk in _content(archive, info):
                if info.filename == MANIFEST and len(data) <= MAX_MANIFEST_BYTES:
                    data += chunk
            if info.filename == MANIFEST:
                try:
                    manifest = data.decode()
                except UnicodeDecodeError as error:
                    raise BadArchive("bad-name", f"{MANIFEST} is not UTF-8.") from error
    return tuple(info.filename for info in entries if not info.is_dir()), manifest


def extract_upload(upload: bytes, filename: str, recipe: Recipe, directory: Path, bounds: Bounds | None = None) -> None:
    """Write an upload's sources into a new directory. Raises BadArchive: it should not have been accepted."""
    directory.mkdir()
    if not is_zip_name(filename):
        (directory / recipe.entries[0]).write_bytes(upload)
        return
    bounds = bounds or Bounds()
    with _opened(io.BytesIO(upload), bounds) as archive:
        for info in _checked_entries(archive, bounds):
            content = None if info.is_dir() else _content(archive, info)
            _write(directory / info.filename, content, executable=bool((info.external_attr >> 16) & stat.S_IXUSR))


def extract_program(tar: bytes, directory: Path, limit_bytes: int) -> None:
    """Unpack a built program into an empty directory. Raises BadArchive: it is too much, or not only plain files."""
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            _extract_members(archive, directory, limit_bytes)
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise BadArchive("not-an-archive", f"Not a readable tar: {str(error).rstrip('.')}.") from error


def is_zip_name(filename: str) -> bool:
    """Say whether an upload of this name should be a zip."""
    return filename.lower().endswith(".zip")


def _opened(file: BinaryIO, bounds: Bounds) -> zipfile.ZipFile:
    # The directory's size, read from the archive's end as by `zipfile`, which will parse that much.
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - _MAX_COMMENT_BYTES - _END64_LOCATOR_BYTES))
    tail = file.read()
    at = len(tail) - _END.size
    if at < 0 or tail[at : at + 4] != _END_MAGIC or tail[-2:] != b"\0\0":
        at = tail.rfind(_END_MAGIC)
    if at < 0 or len(tail) - at < _END.size:
        raise BadArchive("not-an-archive", "Not a zip: its end is missing.")
    _, _, _, _, files, directory_bytes, _, _ = _END.unpack_from(tail, at)
    if files > bounds.files or directory_bytes > bounds.files * MAX_DIRECTORY_BYTES_PER_FILE:
        raise BadArchive("too-many-files", f"The archive may have at most {bounds.files} entries.")
    if tail[max(0, at - _END64_LOCATOR_BYTES) : at].startswith(_END64_MAGIC):
        raise BadArchive("not-an-archive", "A zip in the 64-bit format; an upload is too small to need one.")
    try:
        return zipfile.ZipFile(file)
    except UnicodeDecodeError as error:
        raise BadArchive("bad-name", "The archive has a name that is not UTF-8.") from error
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, OverflowError) as error:
        raise BadArchive("not-an-archive", f"Not a readable zip: {str(error).rstrip('.')}.") from error


def _checked_entries(archive: zipfile.ZipFile, bounds: Bounds) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > bounds.files:
        raise BadArchive("too-many-files", f"The archive may have at most {bounds.files} entries.")
    for info in entries:
        _check_entry(info)
    _check_paths((info.filename.rstrip("/"), info.is_dir()) for info in entries)
    for first, second in pairwise(sorted(entries, key=lambda info: info.header_offset)):
        end = first.header_offset + _LOCAL_HEADER_BYTES + len(first.orig_filename.encode()) + first.compress_size
        if end > second.header_offset:
            raise BadArchive("bomb", f"{first.filename[:100]!r} and {second.filename[:100]!r} share their content.")
    total = sum(info.file_size for info in entries)
    if total > bounds.total_bytes:
        raise BadArchive("too-large", f"The archive unpacks to more than {bounds.total_bytes} bytes.")
    if total > RATIO_FROM_BYTES and total > MAX_RATIO * sum(info.compress_size for info in entries):
        raise BadArchive("bomb", f"The archive grows more than {MAX_RATIO}-fold when unpacked.")
    return entries


def _check_entry(info: zipfile.ZipInfo) -> None:
    name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
    if not name:
        raise BadArchive("bad-name", "An entry has no name.")
    plain = info.filename == name and (name.isascii() or info.flag_bits & _UTF8)
    special = kind not in {0, stat.S_IFREG, stat.S_IFDIR} or (kind == stat.S_IFDIR) > info.is_dir()
    for wrong, reason, what in (
        (info.flag_bits & _ENCRYPTED, "encrypted", "encrypted"),
        (not plain, "bad-name", "not a plain name in UTF-8"),
        (kind == stat.S_IFLNK, "link", "a symbolic link"),
        (special, "special-file", "neither a file nor a directory"),
        (info.is_dir() and info.file_size, "special-file", "a directory with content"),
        (info.compress_type not in _METHODS, "unsupported", "packed by a method other than store or deflate"),
    ):
        if wrong:
            raise BadArchive(reason, f"{name[:100]!r} is {what}.")


def _check_paths(entries: Iterable[tuple[str, bool]]) -> None:
    """Check that paths are plain, relative and unique, and that no file is where another entry needs a directory."""
    seen: dict[str, bool] = {}
    for path, is_directory in entries:
        check_path(path)
        if path in seen and not (is_directory and seen[path]):
            raise BadArchive("duplicate", f"{path[:100]!r} appears twice.")
        seen[path] = is_directory
    for parent in (parent for path in seen for parent in accumulate(path.split("/")[:-1], "{}/{}".format)):
        if seen.get(parent) is False:
            raise BadArchive("duplicate", f"{parent[:100]!r} is a file and a directory.")


def check_path(path: str) -> None:
    """Check that a path leads to a place inside the folder in which it begins. Raises BadArchive."""
    shown = repr(path[:100])
    if not path.isprintable():
        raise BadArchive("bad-name", f"{shown} has characters that cannot be printed.")
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        raise BadArchive("bad-name", f"{shown} is more than {MAX_DEPTH} folders deep.")
    if path.startswith("/") or "\\" in path or any(part in {"", ".", ".."} for part in parts):
        raise BadArchive("unsafe-path", f"{shown} is not a plain path inside the archive.")
    if len(path.encode()) > MAX_PATH_BYTES or any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        raise BadArchive("bad-name", f"{shown}... is too long.")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the decompressed content, never more than was declared, and compare its checksum at the end."""
    left = info.file_size
    try:
        with archive.open(info) as file:
            while chunk := file.read(CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise BadArchive("damaged", f"{info.filename!r} is longer than the archive says.")
                yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise BadArchive("damaged", f"{info.filename[:100]!r} cannot be unpacked: {str(error).rstrip('.')}.") from error
    if left:
        raise BadArchive("damaged", f"{info.filename[:100]!r} is shorter than the archive says.")


def _extract_members(archive: tarfile.TarFile, directory: Path, limit_bytes: int) -> None:
    members: list[tuple[tarfile.TarInfo, str]] = []
    total = 0
    for member in archive:
        if len(members) == MAX_PROGRAM_FILES:
            raise BadArchive("too-many-files", f"A program may have at most {MAX_PROGRAM_FILES} files.")
        name = member.name.removeprefix("./")
        if name in {"", "."} and member.isdir():
            continue
        if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE} or member.issparse():
            raise BadArchive("special-file", f"{name[:100]!r} is neither a file nor a directory.")
        total += member.size
        if total > limit_bytes:
            raise BadArchive("too-large", f"The program has more than {limit_bytes} bytes.")
        members.append((member, name))
    _check_paths((name, member.isdir()) for member, name in members)
    for member, name in members:
        file = archive.extractfile(member)
        content = None if file is None else iter(partial(file.read, CHUNK_BYTES), b"")
        _write(directory / name, content, executable=bool(member.mode & stat.S_IXUSR))


def _write(target: Path, content: Iterable[bytes] | None, *, executable: bool) -> None:
    """Write a new file, or make a folder if there is no content."""
    (target if content is None else target.parent).mkdir(parents=True, exist_ok=True)
    if content is None:
        return
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if executable else 0o644)
    with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor has no path
        file.writelines(content)
