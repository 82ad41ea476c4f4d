"""Cursors of paged lists: opaque to clients, so that what they hold may change."""

from __future__ import annotations

import re

from deadheat.league.errors import BadCursor

CURSOR = r"^1-[0-9]{1,10}$"
"""The pattern of a cursor, for the API's document; the number before the dash is the version of this form."""

_cursor = re.compile(CURSOR, re.ASCII)


def write_cursor(last_id: int) -> str:
    """Write the cursor at which the next page begins."""
    return f"1-{last_id}"


def read_cursor(cursor: str | None) -> int | None:
    """Read a cursor; None is the first page. Raises BadCursor."""
    if cursor is None:
        return None
    if _cursor.fullmatch(cursor) is None:
        raise BadCursor
    return int(cursor[2:])
