"""Reads a stored ranking without decoding the parts that no page shows: decoding all of 2,000 rows takes 10 ms.

The text is the output of `json.dumps` for standings (see `league.service.rankings.ranking`), on every database. It is
cut where its parts and rows begin, and never inside a string: within a string a backslash precedes each quotation mark,
and punctuation follows the closing one. So a quotation mark after a brace or a comma and before a letter opens a
string, and the text before it lies outside any.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, overload

from deadheat.league.database import decoded

Row = dict[str, Any]

PARTS = ("rows", "unranked", "totals", "fit", "seats", "pairs", "rules", "latency")
"""The parts of standings in their order; older rankings lack the last ones."""


class Rows(Sequence[Row]):
    """The rows of a ranking, a list between two positions of a text. They are decoded whenever they are read."""

    def __init__(self, text: str, begin: int, end: int) -> None:
        self._text, self._begin, self._end = text, begin + 1, end - 1  # within the brackets
        self._first = text[begin + 1 : text.find(":", begin, end) + 2]  # of each row: the brace and the first key
        self._known = [begin + 1]

    def _places(self, number: int) -> list[int]:
        """Return where the first `number` rows begin and where the next one does, or the end if there is none. Threads
        share the known positions and never change them.
        """
        known = self._known
        if len(known) <= number:
            known = [*known]
            while len(known) <= number:
                at = self._text.find(self._first, known[-1] + 1, self._end)
                known.append(at if at >= 0 else self._end)
            self._known = known
        return known

    @cached_property
    def _count(self) -> int:
        return self._text.count(self._first, self._begin, self._end) if self._begin < self._end else 0

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        chosen = range(len(self))[place]
        if isinstance(chosen, int):
            return self._between(chosen, chosen + 1)[0]
        assert chosen.step == 1, "rows are read in their order"
        return self._between(chosen.start, chosen.stop) if chosen else []

    def _between(self, first: int, end: int) -> list[Row]:
        places = self._places(end)
        return self._rows(places[first], places[end])

    def _rows(self, begin: int, end: int) -> list[Row]:
        found: list[Row] = decoded(f"[{self._text[begin:end].rstrip(', ')}]")
        return found

    def cut(self, *names: str) -> list[Row]:
        """Return all rows with only these values, which must be adjacent in a row; if they are not, with all values."""
        found = _values(names).findall(self._text, self._begin, self._end)
        if len(found) < len(self):  # an older ranking
            return self[:]
        rows: list[Row] = decoded(f"[{{{'}, {'.join(found)}}}]") if found else []
        return rows

    @cached_property
    def ranked(self) -> int:
        """The number of rows with a place."""
        return len(self) - self._text.count('"rank": null', self._begin, self._end)

    @cached_property
    def bots(self) -> list[int]:
        """The bot of every row."""
        return [*map(int, _BOT.findall(self._text, self._begin, self._end))]

    def of(self, bot_ids: Collection[int]) -> list[Row]:
        """Return the rows of these bots."""
        return [self[place] for place, bot_id in enumerate(self.bots) if bot_id in bot_ids]

    def around(self, bot_id: int) -> tuple[Row | None, Iterator[Row], Iterator[Row]]:
        """Return a bot's row (or None), the rows above it, the nearest first, and the rows below it."""
        at = self._text.find(f'"bot_id": {bot_id}, ', self._begin, self._end)
        if at < 0:
            return None, iter(()), iter(())
        begin = self._text.rfind(self._first, self._begin, at)
        below = self._below(begin)
        return next(below), self._above(begin), below

    def _above(self, end: int) -> Iterator[Row]:
        while end > self._begin:
            begin = self._text.rfind(self._first, self._begin, end)
            yield from self._rows(begin, end)
            end = begin

    def _below(self, begin: int) -> Iterator[Row]:
        while begin < self._end:
            found = self._text.find(self._first, begin + 1, self._end)
            end = found if found >= 0 else self._end
            yield from self._rows(begin, end)
            begin = end


_BOT = re.compile(r'"bot_id": (\d+)')


@cache
def _values(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a text or figure after each of these names."""
    return re.compile(", ".join(rf'"{name}": (?:"[^"\\]*(?:\\.[^"\\]*)*"|[^",}}]+)' for name in names))


class Times:
    """Response times by version. They contain no string and no nested object."""

    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, rows: Iterable[Row]) -> dict[int, Any]:
        """Return the times of these rows' versions, by version, for those that have any. The search follows the order
        of the rows, which is that of the times in a ranking.
        """
        found, at = {}, 0
        for version_id in (row["version_id"] for row in rows):
            name = f'"{version_id}": '
            begin = self._text.find(name, at)
            if begin < 0:
                begin = self._text.find(name, 0, at)
            if begin >= 0:
                at = self._text.index("}", begin) + 1
                found[version_id] = decoded(self._text[begin + len(name) : at])
        return found


def standings_in(text: str) -> dict[str, Any]:
    """Return a text's standings: ``rows`` and ``unranked`` as `Rows`, ``latency`` as `Times`, the others decoded."""
    try:
        return _cut(text)
    except ValueError:  # something else wrote it
        whole = decoded(text)
        return _cut(json.dumps({name: whole[name] for name in PARTS if name in whole}))


def _cut(text: str) -> dict[str, Any]:
    """Cut a text in this version's spelling. Raises ValueError for any other, such as a later version's."""
    if not text.startswith('{"rows": ['):
        raise ValueError("rows do not come first")
    found: dict[str, Any] = {"latency": Times("{}")}
    for name, (begin, end) in _parts(text).items():
        if name in ("rows", "unranked"):
            found[name] = Rows(text, begin, end)
        else:
            found[name] = Times(text[begin:end]) if name == "latency" else decoded(text[begin:end])
    return found


def _parts(text: str) -> dict[str, tuple[int, int]]:
    """Return the beginning and end of each part."""
    begins, at = [], 0
    for name in PARTS:
        find = text.rfind if name == "unranked" else text.find  # less follows than precedes; no key has its name
        found = find(f'"{name}": ', at)
        if found >= 0:
            begins.append((name, at := found))
    ends = [*(begin - 2 for _, begin in begins[1:]), len(text) - 1]
    return {name: (begin + len(name) + 4, end) for (name, begin), end in zip(begins, ends, strict=True)}
