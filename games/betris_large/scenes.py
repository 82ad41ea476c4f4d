"""Betris (Large): two blocks on offer, bets in chips, two boards that fill up, and the clocks.

State: ``offer`` [block, block] or null; ``bets`` [{choice, bet, acquired, paid}, ...] or null, and ``coin``; for each
seat ``boards`` (cells as [row, column], 1-based, block after block), ``pieces`` (the blocks' names in the same order),
``last`` (cells just filled), ``blocks`` (acquired this round or null), ``chips``, ``bank_ms``, ``filled``, ``square``,
``totals``. Constants, such as the shapes of blocks, are in the document's ``board`` part (`_shapes`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadheat.engine.core import NS_PER_MS, Event
from deadheat.engine.figures import duration
from deadheat.engine.language import _
from deadheat.engine.scenes.core import Director, Figures, Moment, Row, Scene, at_fault, fault_words
from deadheat.games.betris_large.polyominoes import SHAPES, SIDE
from deadheat.games.betris_large.rules import CHIPS, Betris


def scenes(moments: Iterator[Moment], names: Sequence[str]) -> Iterator[Scene]:
    """See `engine.scenes.Director`."""
    table = _Table()
    for moment in moments:
        event = moment.event
        if event["type"] == "final":
            break
        words = table.show(event, names)
        yield Scene(words, table.state(), table.round, moment.exchange, moment.answers, at_fault(event))


def _shapes(rules: Betris) -> dict[str, Any]:
    """Return the constant part: every block's shape (rows of # and ., separated by /), the board's side, and the chips
    and the time with which a seat begins.
    """
    return {"shapes": dict(SHAPES), "side": SIDE, "chips": CHIPS, "bank_ms": rules.bank_ms}


def _points(state: Mapping[str, Any]) -> Figures:
    return [None if total is None else float(total) for total in state["totals"]]


def _sheet(events: Sequence[Event]) -> Iterator[Row]:
    final: Any = events[-1]
    cells, sides, chips = final["cells"], final["square"], final["chips"]
    yield _("filled cells"), [str(count) for count in cells], cells
    yield _("largest square"), [f"{side} x {side} = {side * side}" for side in sides], [side * side for side in sides]
    yield _("chips, half a point each"), [str(count) for count in chips], [count / 2 for count in chips]
    yield _("total"), final["total"], [float(total) for total in final["total"]]
    passed = [event["seat"] for event in events if event["type"] == "place" and not event["cells"]]
    yield _("passed"), [str(passed.count(seat)) for seat in (0, 1)], None
    yield _("left in the bank"), [duration(bank_ns) for bank_ns in final["bank_ns"]], None


DIRECTOR = Director(scenes, figure="points", figures=_points, board=_shapes, sheet=_sheet)


class _Table:
    """The state of a match: both boards and the blocks on offer."""

    def __init__(self) -> None:
        self.round: int | None = None
        self.offer: list[str] | None = None
        self.bets: list[dict[str, Any]] | None = None
        self.coin = False
        self.boards: tuple[list[list[int]], list[list[int]]] = ([], [])
        self.pieces: tuple[list[str], list[str]] = ([], [])
        self.last: list[list[list[int]]] = [[], []]
        self.blocks: list[str | None] = [None, None]
        self.numbers: dict[str, list[Any]] = {
            "chips": [None, None],
            "bank_ms": [None, None],
            "filled": [0, 0],
            "square": [0, 0],
            "totals": [None, None],
        }

    def show(self, event: Event, names: Sequence[str]) -> str:
        """Apply one event and describe it."""
        self.round = event.get("round", self.round)  # type: ignore[assignment]
        match event["type"]:
            case "offer":
                self.offer, self.bets, self.coin = [str(event["a"]), str(event["b"])], None, False
                self.blocks, self.last = [None, None], [[], []]
                return _("On offer: %(a)s and %(b)s.", a=event["a"], b=event["b"])
            case "bets":
                return self._bets(event, names)
            case "place":
                return self._place(event, names)
            case _:
                return fault_words(event, names)

    def _bets(self, event: Any, names: Sequence[str]) -> str:
        self.bets, lines = [], []
        for seat in (0, 1):
            choice, bet = event["choices"][seat], event["bets"][seat]
            acquired, paid = event["acquired"][seat], event["paid"][seat]
            self.bets.append({"choice": choice, "bet": bet, "acquired": acquired, "paid": paid})
            self.blocks[seat] = acquired
            words = {"bot": names[seat], "bet": bet, "choice": choice, "acquired": acquired, "paid": paid}
            lines.append(_("%(bot)s bets %(bet)s on %(choice)s, gets %(acquired)s and pays %(paid)s", **words))
        self.coin = event["coin"]
        self.numbers["chips"] = list(event["chips"])
        self.numbers["bank_ms"] = [bank // NS_PER_MS for bank in event["bank_ns"]]
        return f"{'; '.join(lines)}{_('; the coin decides') if self.coin else ''}."

    def _place(self, event: Any, names: Sequence[str]) -> str:
        seat, cells = event["seat"], [list(cell) for cell in event["cells"]]
        if seat == 0:
            self.last = [[], []]
        self.boards[seat].extend(cells)
        if cells:
            self.pieces[seat].append(event["block"])
        self.last[seat] = cells
        for name, value in (("filled", event["filled"]), ("square", event["square"]), ("totals", event["total"])):
            self.numbers[name][seat] = value
        self.numbers["bank_ms"][seat] = event["bank_ns"] // NS_PER_MS
        words = {"bot": names[seat], "block": event["block"], "cells": event["filled"]}
        words |= {"square": event["square"], "points": event["total"]}
        if cells:
            return _("%(bot)s places %(block)s: %(cells)s cells, a square of %(square)s, %(points)s points.", **words)
        return _("%(bot)s passes with %(block)s: %(cells)s cells, a square of %(square)s, %(points)s points.", **words)

    def state(self) -> dict[str, Any]:
        """Return a copy of the state."""
        return {
            "offer": self.offer,
            "bets": self.bets,
            "coin": self.coin,
            "boards": [list(board) for board in self.boards],
            "pieces": [list(pieces) for pieces in self.pieces],
            "last": [list(cells) for cells in self.last],
            "blocks": list(self.blocks),
            **{name: list(values) for name, values in self.numbers.items()},
        }
