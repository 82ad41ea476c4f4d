"""Cursors of paged lists. They are opaque to clients, so their content may change."""

from __future__ import annotations

import re

from deadheat.league.errors import BadCursor

MAX_ID = 2**31 - 1
"""The largest of the database's integers. A larger number identifies nothing."""

CURSOR = r"^1-1?[0-9]{1,9}$"
"""The pattern of a cursor, for the API's document. The number before the dash is the version of the format. The one
behind it is below two thousand million, as the database's integers end a little later."""

_cursor = re.compile(CURSOR, re.ASCII)


def write_cursor(last_id: int) -> str:
    """Return the cursor at which the next page begins."""
    return f"1-{last_id}"


def read_cursor(cursor: str | None) -> int | None:
    """Read a cursor; None means the first page. Raises BadCursor."""
    if cursor is None:
        return None
    if _cursor.fullmatch(cursor) is None:
        raise BadCursor
    return int(cursor[2:])
