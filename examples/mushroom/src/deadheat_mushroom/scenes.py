"""Mushroom as viewers see it: the board, whose its cells are, and the rectangle just taken with what it adds up to.

State: ``rows`` (the mushrooms by row: a digit, or a dot where one has gone), ``owners`` (by row: 0 or 1 for a seat, a
dot for nobody), ``last`` (what was just done, or null: ``seat``, ``rectangle`` or null for a pass, ``mushrooms`` as
[row, column, digit], how many cells it ``gained``, which of them were ``stolen``), ``cells`` and ``bank_ms``
(null before the first move) of both seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadheat.engine.core import NS_PER_MS
from deadheat.engine.figures import counted, duration
from deadheat.engine.language import _
from deadheat.engine.scenes.core import Director, Figures, Moment, Row, Scene, at_fault, fault_words
from deadheat_mushroom.board import NOBODY, SUM, Board, place
from deadheat_mushroom.rules import Mushroom


def scenes(moments: Iterator[Moment], names: Sequence[str]) -> Iterator[Scene]:
    """See `engine.scenes.core.Director`."""
    table = _Table()
    for moment in moments:
        event = moment.event
        if event["type"] == "final":
            break
        words = table.show(event, names)
        yield Scene(words, table.state(), table.turn, moment.exchange, moment.answers, at_fault(event))


def frame(rules: Mushroom) -> dict[str, Any]:
    """Return what no scene changes: the size of the board, what a rectangle adds up to, and the bank at first."""
    return {"rows": rules.rows, "columns": rules.columns, "sum": SUM, "bank_ms": rules.bank_ms}


def _cells(state: Mapping[str, Any]) -> Figures:
    return list(state["cells"])


def _sheet(events: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    final = events[-1]
    moves = [event for event in events if event["type"] == "move"]
    taken = [[event for event in moves if event["seat"] == seat and event["rectangle"]] for seat in (0, 1)]
    passed = [sum(event["seat"] == seat and not event["rectangle"] for event in moves) for seat in (0, 1)]
    yield _("rectangles"), [str(len(found)) for found in taken], None
    yield _("passes"), [str(count) for count in passed], None
    yield _("left in the bank"), [duration(bank_ns) for bank_ns in final["bank_ns"]], None
    yield _("total"), [str(count) for count in final["cells"]], final["cells"]


DIRECTOR = Director(scenes, figure="cells", figures=_cells, board=frame, sheet=_sheet)


class _Table:
    """The board as it is now."""

    def __init__(self) -> None:
        self.turn: int | None = None
        self.board = Board(["0"])
        self.last: dict[str, Any] | None = None
        self.bank_ms: list[int | None] = [None, None]  # before the first move

    def show(self, event: Mapping[str, Any], names: Sequence[str]) -> str:
        """Change by one event; return what happened, in words."""
        match event["type"]:
            case "board":
                self.board = Board(event["rows"])
                grown = counted(sum(map(len, event["rows"])), "mushroom")
                return _("%(mushrooms)s have grown. %(bot)s begins.", mushrooms=grown, bot=names[0])
            case "move":
                self.turn = event["round"]
                self.bank_ms = [bank // NS_PER_MS for bank in event["bank_ns"]]
                return self._move(event["seat"], event["rectangle"], names)
            case _:
                return fault_words(event, names)

    def _move(self, seat: int, rectangle: list[int] | None, names: Sequence[str]) -> str:
        self.last = {"seat": seat, "rectangle": rectangle, "mushrooms": [], "gained": 0, "stolen": []}
        if rectangle is None:
            return _("%(bot)s passes.", bot=names[seat])
        top, left, bottom, right = rectangle
        rows, columns = range(top, bottom + 1), range(left, right + 1)
        mushrooms = [(row, column, self.board.mushrooms[row][column]) for row in rows for column in columns]
        self.last["mushrooms"] = [list(each) for each in mushrooms if each[2]]
        stolen = [[row, column] for row in rows for column in columns if self.board.owners[row][column] == 1 - seat]
        before = self.board.cells[seat]
        digits = self.board.take((top, left, bottom, right), seat)
        gained = self.board.cells[seat] - before
        self.last |= {"gained": gained, "stolen": stolen}
        told = {
            "bot": names[seat],
            "rectangle": place((top, left, bottom, right)),
            "sum": f"{' + '.join(map(str, digits))} = {SUM}",
            "cells": counted(gained, "cell"),
        }
        if not stolen:
            return _("%(bot)s takes %(rectangle)s: %(sum)s, and gains %(cells)s.", **told)
        so = {**told, "stolen": f"{len(stolen)}", "other": names[1 - seat]}
        return _("%(bot)s takes %(rectangle)s: %(sum)s, and gains %(cells)s, %(stolen)s of them from %(other)s.", **so)

    def state(self) -> dict[str, Any]:
        """Return a copy of everything."""
        return {
            "rows": ["".join(str(digit) if digit else "." for digit in row) for row in self.board.mushrooms],
            "owners": ["".join("." if owner == NOBODY else str(owner) for owner in row) for row in self.board.owners],
            "last": self.last,
            "cells": list(self.board.cells),
            "bank_ms": list(self.bank_ms),
        }
