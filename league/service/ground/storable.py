"""Makes text from bots and workers fit for the database.

A bot's output may contain anything: lone surrogates (which no database driver accepts), NUL (which PostgreSQL does not
store), and more than anyone reads.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import islice

from deadheat.league.tables import MOST_WORD

MOST_DETAIL = 4000
"""Characters kept of one sentence to people."""

MOST_ITEMS = 1000
"""Items kept of one list or object in evidence."""

MOST_DEPTH = 8


def storable(text: str, limit: int = MOST_DETAIL) -> str:
    """Return the first `limit` characters as text that every database can store."""
    return text[:limit].encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def storable_word(text: str) -> str:
    """Make text storable, cut to the length of the columns of causes and commands."""
    return storable(text, MOST_WORD)


def storable_tail(text: str, limit_bytes: int) -> str:
    """Make the end of a text storable, counted in UTF-8 bytes."""
    data = text[-limit_bytes:].encode("utf-8", "replace")[-limit_bytes:]
    return data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def storable_json(value: object, depth: int = 0) -> object:
    """Return a JSON value; parts that JSON lacks (bytes, dates, infinities, deep nesting) become text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping) and depth < MOST_DEPTH:
        items = islice(value.items(), MOST_ITEMS)
        return {storable(str(key), 200): storable_json(item, depth + 1) for key, item in items}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and depth < MOST_DEPTH:
        return [storable_json(item, depth + 1) for item in value[:MOST_ITEMS]]
    return storable(str(value))


def evidence_json(evidence: Mapping[str, object]) -> dict[str, object]:
    """Return the evidence of an attempt in the form that is stored."""
    found = storable_json(evidence)
    assert isinstance(found, dict)
    return found
