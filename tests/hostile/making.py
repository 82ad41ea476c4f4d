"""Makes archives that no honest tool makes, for the cases' make.py and the tests of `sandbox.archive`.

Standard library only: a case's make.py is a program of its own, which finds this module beside its folder.
"""

import io
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from deadheat.engine.games.folder import bots_of

MIB = 1024 * 1024
LEGAL = (bots_of("yacht-auction") / "hello-python" / "main.py").read_bytes()
"""A bot that would be ready, so that nothing else is wrong with an upload."""

EMPTY = b"\x03\x00"
"""A deflate stream of nothing."""

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def upload(filename: str, content: bytes) -> None:
    """Put the upload into the folder that is the program's argument. Every make.py ends with this."""
    Path(sys.argv[1], filename).write_bytes(content)


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content, compress_type=method)
    return made.getvalue()


def entry(name: str, mode: int = 0, *, system: int = 3) -> zipfile.ZipInfo:
    """Make an entry as another tool might write it, with the name as it is."""
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    info.create_system = system
    return info


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    return entry(name, stat.S_IFLNK | 0o777), target.encode()


def zeros(size_bytes: int) -> bytes:
    """Return a deflate stream of this many zeros, made by repeating one block instead of packing them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return block * (size_bytes // MIB) + rest.compress(bytes(size_bytes % MIB)) + rest.flush()


def raw_zip(files: Iterable[tuple[str, bytes, int]]) -> bytes:
    """Return a zip of these deflate streams, each with the size that it is to claim."""
    body, directory, offset = [], [], 0
    for name, stream, claimed_bytes in files:
        about = struct.pack("<5H3LH", 20, 0, zipfile.ZIP_DEFLATED, 0, 0, 0, len(stream), claimed_bytes, len(name))
        body.append(LOCAL + about + struct.pack("<H", 0) + name.encode() + stream)
        directory.append(central(about, offset, name))
        offset += len(body[-1])
    return ended(b"".join(body), b"".join(directory), len(directory))


def central(about: bytes, offset: int, name: str) -> bytes:
    return CENTRAL + struct.pack("<H", 20) + about + struct.pack("<4H2L", 0, 0, 0, 0, 0, offset) + name.encode()


def ended(body: bytes, directory: bytes, count: int) -> bytes:
    """Join entries, their directory and the record that ends a zip."""
    many = min(count, 0xFFFF)
    return body + directory + END + struct.pack("<4H2LH", 0, 0, many, many, len(directory), len(body), 0)


def overlapping(names: Iterable[str], content: bytes) -> bytes:
    """Return a zip whose entries have names of their own and share their compressed bytes (the method of D. Fifield's
    "A better zip bomb", 2019): the local header of each but the last is followed, in a stored block, by the next one's.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body, data, entries = packer.compress(content) + packer.flush(), content, []
    for name in reversed(list(names)):
        sum_ = zlib.crc32(data)
        about = struct.pack("<5H3LH", 20, 0, zipfile.ZIP_DEFLATED, 0, 0, sum_, len(body), len(data), len(name))
        header = LOCAL + about + struct.pack("<H", 0) + name.encode()
        entries.append((name, about, len(header) + len(body)))
        data = header + data
        body = struct.pack("<B2H", 0, len(header), len(header) ^ 0xFFFF) + header + body
    body = body[5:]  # nothing quotes the first header
    directory = b"".join(central(about, len(body) - tail, name) for name, about, tail in reversed(entries))
    return ended(body, directory, len(entries))


def member(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = "", mode: int = 0o644
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname, info.mode = kind, size, link, mode
    return info


def tarred(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()
