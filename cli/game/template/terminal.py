"""The table in a terminal: what both hold after every round, and a sheet at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from deadheat.cli.replays.pages import Row, View, final_event, sheet
from deadheat.engine.core import Seat
from deadheat.engine.transcript import Transcript


def _table(state: Mapping[str, Any], names: Sequence[str]) -> RenderableType | None:
    lines = (
        f"    {name}: {' '.join(map(str, hand)) or 'no cards'}; {points} points"
        for name, hand, points in zip(names, state["hands"], state["sums"], strict=True)
    )
    return Text("\n".join(lines))


def _sheets(transcript: Transcript, own: Seat | None = None) -> Table:
    return sheet(transcript, "", _rows(transcript), own)


def _rows(transcript: Transcript) -> Iterator[Row]:
    sums = final_event(transcript)["sums"]
    yield "total", [str(points) for points in sums], sums


VIEW = View(after=_table, sheet=_sheets, account=_sheets, once_a_round={"PLAY": 1})
