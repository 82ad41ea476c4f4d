"""Cursors of paged lists: opaque to clients, so that what they hold may change."""

from __future__ import annotations

import base64
import binascii

from league.errors import BadCursor

_PREFIX = b"1:"
_MAX_LENGTH = 32


def write_cursor(last_id: int) -> str:
    """Where the next page begins."""
    return base64.urlsafe_b64encode(_PREFIX + str(last_id).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> int | None:
    """The inverse; None for the first page. Raises BadCursor."""
    if cursor is None:
        return None
    if len(cursor) > _MAX_LENGTH:
        raise BadCursor
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        if not text.startswith(_PREFIX) or not text[2:].isdigit() or len(text) > 12:
            raise BadCursor
    except (binascii.Error, ValueError) as error:
        raise BadCursor from error
    return int(text[2:])
