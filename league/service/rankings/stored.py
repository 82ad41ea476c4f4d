"""Reads a stored ranking without decoding what nobody looks at: a page shows some of thousands of rows.

The text is what `json.dumps` makes of standings (see `league.service.rankings.ranking`), on every database. It is cut
where its parts and their rows begin, and never inside a string. Within a string each quotation mark follows a
backslash, and behind its end stands punctuation. So a quotation mark before a letter or a digit begins a string, and
the punctuation before it is no part of one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, overload

from deadheat.league.database import decoded

Row = dict[str, Any]

PARTS = ("rows", "unranked", "totals", "fit", "seats", "pairs", "rules", "latency")
"""The parts of standings in their order; older rankings lack the last ones."""


class Rows(Sequence[Row]):
    """Rows of a ranking, each decoded anew when it is looked at."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _texts(self) -> list[str]:
        begin = self._text[1 : self._text.find(":") + 2]  # the bracket and the first key
        rest = self._text[len(begin) + 1 : -2].split(f"}}, {begin}") if begin else []
        return [begin + one for one in rest]

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, int):
            return _rows([self._texts[place]])[0]
        return _rows(self._texts[place])

    def each(self, key: str) -> list[str]:
        """The JSON of this figure of every row; `key` must not be of free text."""
        return [text.partition(f'"{key}": ')[2].partition(",")[0] for text in self._texts]

    @cached_property
    def bots(self) -> list[int]:
        """The bot of every row."""
        return [*map(int, self.each("bot_id"))]

    def of(self, bot_ids: Collection[int]) -> list[Row]:
        """The rows of these bots."""
        return _rows([*compress(self._texts, (bot_id in bot_ids for bot_id in self.bots))])


def _rows(texts: Sequence[str]) -> list[Row]:
    found: list[Row] = decoded("[" + "}, ".join(texts) + "}]") if texts else []
    return found


class Pieces(Mapping[str, Any]):
    """Objects by key, each decoded when it is looked at. No string is in them."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _texts(self) -> dict[str, str]:
        found = self._text[2:-2].split('}, "') if self._text != "{}" else []
        return dict(one.split('": ', 1) for one in found)

    def __getitem__(self, key: str) -> Any:
        return decoded(self._texts[key] + "}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def standings_in(text: str) -> dict[str, Any]:
    """The standings in a text: ``rows`` and ``unranked`` as `Rows`, ``latency`` as `Pieces`, the others decoded."""
    lazy = {"rows": Rows, "unranked": Rows, "latency": Pieces}
    return {name: lazy.get(name, decoded)(part) for name, part in _parts(text).items()}


def _parts(text: str) -> dict[str, str]:
    if not text.startswith('{"rows": ['):  # something else wrote it
        whole = decoded(text)
        text = json.dumps({name: whole[name] for name in PARTS if name in whole})
    begins, at = [], 0
    for name in PARTS:
        found = text.find(f'"{name}": ', at)
        if found >= 0:
            begins.append((name, at := found))
    ends = [*(begin - 2 for _, begin in begins[1:]), len(text) - 1]
    return {name: text[begin + len(name) + 4 : end] for (name, begin), end in zip(begins, ends, strict=True)}
