"""Mushroom for programs that learn.

Actions: to pass, then every rectangle of the board, in the order of its first row, first column, last row and last
column. Observations have the digits of the mushrooms that are left (0 where one has gone) and whose the cells are.
Banks are left out: they stay full.
"""

from __future__ import annotations

import numpy as np

from deadheat.training.view import Layout, Mask, View
from deadheat_mushroom.board import COLUMNS, ROWS, SUM, Board, Rectangle
from deadheat_mushroom.rules import NO_MOVE

RECTANGLES: list[Rectangle] = [
    (top, left, bottom, right)
    for top in range(ROWS)
    for left in range(COLUMNS)
    for bottom in range(top, ROWS)
    for right in range(left, COLUMNS)
]
ACTIONS = {rectangle: action for action, rectangle in enumerate(RECTANGLES, 1)}
CELLS = ROWS * COLUMNS

LAYOUT = Layout(
    asked=(1, 0, 1),  # 1: a move is wanted
    first=(1, 0, 1),  # 1: this seat moved first
    passed=(1, 0, 1),  # 1: the other seat's last move was a pass
    mushrooms=(CELLS, 0, SUM - 1),
    mine=(CELLS, 0, 1),  # 1: this seat owns the cell
    theirs=(CELLS, 0, 1),
    cells_mine=(1, 0, CELLS),
    cells_theirs=(1, 0, CELLS),
)
"""What an observation holds."""

FIELDS = LAYOUT.fields


class MushroomView(View):
    """What one seat of Mushroom knows; see the top of this file. The seat itself is 0 on its board."""

    layout = LAYOUT
    start = LAYOUT.zeros()
    actions = 1 + len(RECTANGLES)

    def __init__(self, seat: int, seats: int) -> None:
        super().__init__(seat, seats)
        self.board = Board(["0" * COLUMNS] * ROWS)

    def hear(self, line: str) -> None:
        """See `View.hear`."""
        command, *words = line.split(" ")
        self.numbers[FIELDS["asked"]] = command == "TIME"
        if command == "READY":
            self.numbers[FIELDS["first"]] = words == ["FIRST"]
        elif command == "INIT":
            rows = [row.ljust(COLUMNS, "0") for row in words]  # a smaller board has no mushrooms in the rest
            self.board = Board(rows + ["0" * COLUMNS] * (ROWS - len(rows)))
            self._count()
        elif command == "OPP":
            self._move(1, words[:4])

    def reply(self, line: str) -> None:
        """See `View.reply`."""
        if self.numbers[FIELDS["asked"]] and line != NO_MOVE:
            self._move(0, line.split())

    def line(self, action: int) -> str:
        """See `View.line`."""
        return " ".join(map(str, RECTANGLES[action - 1])) if action else NO_MOVE

    def mask(self) -> Mask:
        """See `View.mask`."""
        mask = np.zeros(self.actions, np.int8)
        mask[[0, *(ACTIONS[rectangle] for rectangle in self.board.rectangles())]] = 1
        return mask

    def _move(self, who: int, words: list[str]) -> None:
        passes = words[0] == "-1"
        if who == 1:
            self.numbers[FIELDS["passed"]] = passes
        if not passes and len(words) == 4 and all(word.isdecimal() for word in words):
            top, left, bottom, right = map(int, words)
            if self.board.fault((top, left, bottom, right)) is None:  # else the own seat has lost by it
                self.board.take((top, left, bottom, right), who)
                self._count()

    def _count(self) -> None:
        numbers, board = self.numbers, self.board
        owners = np.frombuffer(b"".join(board.owners), np.uint8)
        numbers[FIELDS["mushrooms"]] = np.frombuffer(b"".join(board.mushrooms), np.uint8)
        numbers[FIELDS["mine"]], numbers[FIELDS["theirs"]] = owners == 0, owners == 1
        numbers[FIELDS["cells_mine"]], numbers[FIELDS["cells_theirs"]] = board.cells


VIEW = MushroomView
