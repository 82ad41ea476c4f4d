"""Reads a stored ranking without decoding what no page shows: decoding all of 2,000 rows takes 10 ms.

The text is what `json.dumps` makes of standings (see `league.service.rankings.ranking`), on every database. It is cut
where its parts and rows begin, and never inside a string: within a string a backslash precedes each quotation mark,
and punctuation follows the closing one. So a quotation mark after a brace or a comma and before a letter opens a
string, and what precedes it lies outside of any.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, overload

from deadheat.league.database import decoded

Row = dict[str, Any]

PARTS = ("rows", "unranked", "totals", "fit", "seats", "pairs", "rules", "latency")
"""The parts of standings in their order; older rankings lack the last ones."""


class Rows(Sequence[Row]):
    """Rows of a ranking, decoded whenever they are looked at."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = text[1 : text.find(":") + 2]  # of each row: the brace and its first key

    @cached_property
    def _texts(self) -> list[str]:
        """What follows the beginning of each row, up to the next one."""
        return self._text.split(self._begin)[1:] if self._begin else []

    def _decoded(self, texts: Sequence[str]) -> list[Row]:
        rows = [self._begin + text[: text.rfind("}") + 1] for text in texts]
        found: list[Row] = decoded(f"[{', '.join(rows)}]")
        return found

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, int):
            return self._decoded([self._texts[place]])[0]
        return self._decoded(self._texts[place])

    @cached_property
    def ranked(self) -> int:
        """The number of rows with a place."""
        return len(self) - self._text.count('"rank": null')

    @cached_property
    def bots(self) -> list[int]:
        """The bot of every row."""
        key = '"bot_id": '
        return [int(text[(at := text.find(key) + len(key)) : text.find(",", at)]) for text in self._texts]

    def of(self, bot_ids: Collection[int]) -> list[Row]:
        """Return the rows of these bots."""
        return self._decoded([text for text, bot_id in zip(self._texts, self.bots, strict=True) if bot_id in bot_ids])

    def place_of(self, bot_id: int) -> int | None:
        """Return the place of a bot's row in the list; None: it has none."""
        at = self._text.find(f'"bot_id": {bot_id}, ')
        return None if at < 0 else self._text.count(self._begin, 0, at) - 1


class Times:
    """Response times by version. No string is in them, and no further object."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _texts(self) -> dict[str, str]:
        """By version, without the brace behind them."""
        return dict(one.split('": ', 1) for one in self._text[2:-2].split('}, "') if one)

    def of(self, rows: Iterable[Row]) -> dict[int, Any]:
        """Return the times of these rows' versions, by version, where there are any."""
        found = ((row["version_id"], self._texts.get(str(row["version_id"]))) for row in rows)
        return {version_id: decoded(text + "}") for version_id, text in found if text}


def standings_in(text: str) -> dict[str, Any]:
    """Return a text's standings: ``rows`` and ``unranked`` as `Rows`, ``latency`` as `Times`, the others decoded."""
    lazy = {"rows": Rows, "unranked": Rows, "latency": Times}
    return {"latency": Times("{}")} | {name: lazy.get(name, decoded)(part) for name, part in _parts(text).items()}


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
