"""Mushroom: two players take rectangles that add up to ten from a common board, in turn.

`protocol.md` explains rules and rulings to bot authors; the rulings are those of Deadheat's own games (C-*, B-*). The
frame of a duel with a time bank is Deadheat's `banked`, and what a rectangle may be is in `board`.

A match is at most 173 exchanges: READY and FINISH, at most 85 rectangles, because each takes two mushrooms or more, and
no two passes in a row except at the end.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Annotated

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, Event, Message, Reply, Result, Seat, Step
from deadheat.engine.games.banked import Banked
from deadheat.engine.games.duel import SEATS
from deadheat.engine.games.parsing import illegal, malformed, number, words
from deadheat.engine.games.variants import Parameter
from deadheat_mushroom.board import COLUMNS, ROWS, Board, Rectangle

BANK_MS = 10_000
DIGITS = "123456789"
NO_MOVE = "-1 -1 -1 -1"
NAMES = ("FIRST", "SECOND")


def read_move(line: str, board: Board) -> Rectangle | None:
    """Read ``r1 c1 r2 c2``, or a pass, which is None.

    Raises:
        Refused: malformed, or illegal on this board.
    """
    found = words(line)
    if len(found) != 4:
        raise malformed(f"a move is four numbers, got {len(found)} words")
    if "-1" in found:
        if found != NO_MOVE.split(" "):
            raise malformed(f"a pass is {NO_MOVE}")
        return None
    top, left, bottom, right = map(number, found)
    rectangle = top, left, bottom, right
    if (fault := board.fault(rectangle)) is not None:
        raise illegal(fault)
    return rectangle


@dataclass(frozen=True)
class Mushroom:
    """The rules, as `engine.core.Game`."""

    name = "mushroom"
    title = "Mushroom"
    rules_version = 1
    seats = range(2, 3)
    commands = ("READY", "TIME")

    bank_ms: Annotated[int, Parameter(1000, BANK_MS, "Milliseconds in a time bank")] = BANK_MS
    rows: Annotated[int, Parameter(2, ROWS, "Rows of the board")] = ROWS
    columns: Annotated[int, Parameter(2, COLUMNS, "Columns of the board")] = COLUMNS

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        assert seats in self.seats
        return _Match(chance, self).play()


class _Match(Banked):
    """One match; the digits are drawn row by row."""

    def __init__(self, chance: Chance, rules: Mushroom) -> None:
        super().__init__(rules.bank_ms * NS_PER_MS)
        self.rows = ["".join([DIGITS[chance.below(9)] for _ in range(rules.columns)]) for _ in range(rules.rows)]
        self.board = Board(self.rows)

    def ready(self, seat: Seat) -> str:
        """Tell the seat whether it moves first."""
        return f"READY {NAMES[seat]}"

    def rounds(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Ask in turn until both have passed, one after the other."""
        self.events.append({"type": "board", "rows": list(self.rows)})
        self.notices += [Message(seat, " ".join(["INIT", *self.rows])) for seat in SEATS]
        seat, passes, turn = 0, 0, 0
        while passes < 2:
            turn += 1
            move, reply = yield from self.ask_one(seat, f"TIME {self.times(seat)}", self.read)
            passes = passes + 1 if move is None else 0
            said = NO_MOVE if move is None else " ".join(map(str, move))
            self.notices.append(Message(1 - seat, f"OPP {said} {reply.elapsed_ns // NS_PER_MS}"))
            self.events.append(
                {
                    "type": "move",
                    "round": turn,
                    "seat": seat,
                    "rectangle": None if move is None else list(move),
                    "mushrooms": [] if move is None else self.board.take(move, seat),
                    "cells": list(self.board.cells),
                    "elapsed_ms": reply.elapsed_ns // NS_PER_MS,
                    "bank_ns": list(self.banks_ns),
                }
            )
            seat = 1 - seat

    def read(self, _seat: Seat, line: str) -> Rectangle | None:
        """See `read_move`."""
        return read_move(line, self.board)

    def points(self) -> tuple[int, int]:
        """Count each seat's cells."""
        return self.board.cells[0], self.board.cells[1]

    def final(self) -> Event:
        """Return what viewers are shown last."""
        return {"type": "final", "cells": list(self.board.cells), "bank_ns": list(self.banks_ns)}
