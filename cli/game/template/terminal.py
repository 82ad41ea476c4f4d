"""The table in a terminal: what both hold after every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from deadheat.cli.replays.pages import View


def _table(state: Mapping[str, Any], names: Sequence[str]) -> RenderableType | None:
    lines = (
        f"    {name}: {' '.join(map(str, hand)) or 'no cards'}; {points} points"
        for name, hand, points in zip(names, state["hands"], state["sums"], strict=True)
    )
    return Text("\n".join(lines))


VIEW = View(after=_table, once_a_round={"PLAY": 1})
