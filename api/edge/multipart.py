"""Receives one file of a multipart form, perhaps after small fields, without holding it in memory, and stops when it is
too large. The parser itself bounds headers: 8 of 4 KB.

The framework's own form parser reads the whole body before a route sees any of it. Here each piece is counted, hashed
and written as it arrives. A declared length over the limit is refused before anything is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import IO

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from deadheat.league.errors import UploadTooLarge

FIELD = "file"

MAX_FRAMING_BYTES = 16 * 1024
"""The most bytes that boundary lines and part headers may add to the file."""

MAX_FIELD_BYTES = 256
"""The longest field before the file."""


@dataclass(frozen=True, slots=True)
class Received:
    filename: str
    size_bytes: int
    sha256: str
    fields: Mapping[str, str] = field(default_factory=dict)


async def receive_file(request: Request, into: IO[bytes], limit_bytes: int, before: Collection[str] = ()) -> Received:
    """Write the form's one file, the field `FIELD`, to `into`. `before` names the fields that may precede it.

    Raises:
        UploadTooLarge: as soon as this is certain; the rest of the body stays unread. HTTPException: 400 or 415, it is
        not such a form.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data":
        raise HTTPException(415, "Send the file as multipart/form-data, in the field 'file'.")
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise _malformed("it has no boundary")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit_bytes + MAX_FRAMING_BYTES:
        raise UploadTooLarge(limit_bytes)
    form = _Form(into, limit_bytes, before)
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": form.on_part_begin,
            "on_part_data": form.on_part_data,
            "on_header_field": form.on_header_field,
            "on_header_value": form.on_header_value,
            "on_header_end": form.on_header_end,
            "on_headers_finished": form.on_headers_finished,
            "on_end": form.on_end,
        },
    )
    total = 0
    try:
        async for chunk in request.stream():
            total += len(chunk)
            if total > limit_bytes + MAX_FRAMING_BYTES:
                raise UploadTooLarge(limit_bytes)
            parser.write(chunk)
    except MultipartParseError as error:
        raise _malformed("it does not follow the multipart format") from error
    return form.received()


class _Form:
    """Receives the parser's callbacks."""

    def __init__(self, into: IO[bytes], limit_bytes: int, before: Collection[str]) -> None:
        self._before = before
        self._fields: dict[str, bytes] = {}
        self._name: str | None = None  # the field being read, if it precedes the file
        self._into = into
        self._limit_bytes = limit_bytes
        self._digest = hashlib.sha256()
        self._size = 0
        self._filename: str | None = None
        self._header = b""
        self._value = b""
        self._disposition = b""
        self._ended = False

    def received(self) -> Received:
        """Return the file, once the body has ended."""
        if not self._ended or self._filename is None:
            raise _malformed("it is cut short")
        fields = {name: value.decode("utf-8", "replace") for name, value in self._fields.items()}
        return Received(self._filename, self._size, self._digest.hexdigest(), fields)

    def on_part_begin(self) -> None:
        if self._filename is not None:
            raise _malformed(f"it has more than the one field {FIELD!r}")
        self._header = self._value = self._disposition = b""
        self._name = None

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        kind, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if kind == b"form-data" and name in self._before and name not in self._fields and b"filename" not in options:
            self._name = name
            self._fields[name] = b""
            return
        if kind != b"form-data" or options.get(b"name") != FIELD.encode() or b"filename" not in options:
            raise _malformed(f"its first field is not the file {FIELD!r}")
        self._filename = options[b"filename"].decode("utf-8", "replace")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._name is not None:
            self._fields[self._name] += data[start:end]
            if len(self._fields[self._name]) > MAX_FIELD_BYTES:
                raise _malformed(f"the field {self._name!r} is too long")
            return
        self._size += end - start
        if self._size > self._limit_bytes:
            raise UploadTooLarge(self._limit_bytes)
        piece = data[start:end]
        self._digest.update(piece)
        self._into.write(piece)

    def on_end(self) -> None:
        self._ended = True


def _malformed(why: str) -> HTTPException:
    return HTTPException(400, f"The form cannot be read: {why}.")
