"""Yacht Auction in a terminal: the totals after each round, score sheets at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from deadheat.cli.replays.pages import Row, View, final_event, sheet
from deadheat.engine.core import Seat
from deadheat.engine.transcript import Transcript
from deadheat.games.yacht_auction.rules import BASIC, CATEGORIES


def _totals(state: Mapping[str, Any], _: Sequence[str]) -> Text | None:
    if state["last"] is None or state["last"][0] != 1:  # a seat failed before the round ended
        return None
    return Text(f"  total {state['totals'][0]} : {state['totals'][1]}", style="bold")


def _sheets(transcript: Transcript, own: Seat | None = None) -> Table:
    return sheet(transcript, "category", _rows(transcript), own)


def _rows(transcript: Transcript) -> Iterator[Row]:
    final = final_event(transcript)
    scored: dict[object, Any] = {(e["seat"], e["category"]): e for e in transcript.events() if e["type"] == "score"}
    for category in CATEGORIES:
        found = [scored.get((seat, category)) for seat in (0, 1)]
        cells = [f"{event['dice']} {event['points']:7d}" if event else "-" for event in found]
        yield category, cells, [event["points"] if event else 0 for event in found]
        if category == list(BASIC)[-1]:
            yield "bonus", [str(points) for points in final["bonus"]], final["bonus"]
    for name in ("bids", "total"):
        yield name, [str(points) for points in final[name]], final[name]


VIEW = View(after=_totals, sheet=_sheets, account=_sheets, once_a_round={"ROLL": 1, "SCORE": 2})
