"""Yacht Auction in a terminal: the totals after each round."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from deadheat.cli.replays.pages import View


def _totals(state: Mapping[str, Any], _: Sequence[str]) -> Text | None:
    if state["last"] is None or state["last"][0] != 1:  # a seat failed before the round ended
        return None
    return Text(f"  total {state['totals'][0]} : {state['totals'][1]}", style="bold")


VIEW = View(after=_totals, once_a_round={"ROLL": 1, "SCORE": 2})
