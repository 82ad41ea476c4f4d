"""The board: mushrooms with digits, who owns the cells, and which rectangles may be taken.

A rectangle is (first row, first column, last row, last column), all counted from 0, both ends in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from deadheat.engine.language import _

ROWS = 10
COLUMNS = 17
"""The size of a full board; a variant may have fewer of both."""

SUM = 10
"""What the remaining mushrooms of a rectangle must add up to."""

Rectangle = tuple[int, int, int, int]

NOBODY = 2
"""Stands for the owner of a cell that nobody has taken."""


def place(rectangle: Rectangle) -> str:
    """Return where a rectangle is, in words."""
    top, left, bottom, right = rectangle
    return _("(%(top)s, %(left)s) to (%(bottom)s, %(right)s)", top=top, left=left, bottom=bottom, right=right)


class Board:
    """The board of one match."""

    __slots__ = ("cells", "columns", "mushrooms", "owners")

    def __init__(self, rows: Sequence[str]) -> None:
        self.mushrooms = [bytearray(map(int, row)) for row in rows]  # by row; 0 where the mushroom has gone
        self.columns = len(rows[0])
        self.owners = [bytearray([NOBODY]) * self.columns for _ in rows]
        self.cells = [0, 0]  # how many each seat owns

    def fault(self, rectangle: Rectangle) -> str | None:
        """Return why a rectangle must not be taken, or None if it may."""
        top, left, bottom, right = rectangle
        rows, columns = len(self.mushrooms), self.columns
        if bottom >= rows or right >= columns:
            return f"the board has rows 0 to {rows - 1} and columns 0 to {columns - 1}"
        if top > bottom or left > right:
            return "the first row or column is behind the last one"
        inside = [row[left : right + 1] for row in self.mushrooms[top : bottom + 1]]
        total = sum(map(sum, inside))
        if total != SUM:
            return f"the mushrooms add up to {total}, not to {SUM}"
        if not any(inside[0]) or not any(inside[-1]):
            return f"there is no mushroom in the {'last' if any(inside[0]) else 'first'} row"
        first, last = [row[0] for row in inside], [row[-1] for row in inside]
        if not any(first) or not any(last):
            return f"there is no mushroom in the {'last' if any(first) else 'first'} column"
        return None

    def take(self, rectangle: Rectangle, seat: int) -> list[int]:
        """Take the mushrooms of a rectangle that may be taken; all its cells are the seat's from now on. Return the
        digits that it took, row by row.
        """
        top, left, bottom, right = rectangle
        width = right - left + 1
        taken: list[int] = []
        for row in range(top, bottom + 1):
            mushrooms, owners = self.mushrooms[row], self.owners[row]
            taken += filter(None, mushrooms[left : right + 1])
            lost = owners.count(1 - seat, left, right + 1)
            self.cells[1 - seat] -= lost
            self.cells[seat] += lost + owners.count(NOBODY, left, right + 1)
            mushrooms[left : right + 1] = bytes(width)
            owners[left : right + 1] = bytes([seat]) * width
        return taken

    def rectangles(self) -> Iterator[Rectangle]:
        """Yield every rectangle that may be taken, those with the highest first row first."""
        rows = len(self.mushrooms)
        for top in range(rows):
            sums = [0] * self.columns
            for bottom in range(top, rows):
                sums = [total + digit for total, digit in zip(sums, self.mushrooms[bottom], strict=True)]
                for left, right in _windows(sums):
                    if any(self.mushrooms[top][left : right + 1]) and any(self.mushrooms[bottom][left : right + 1]):
                        yield top, left, bottom, right


def _windows(sums: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last column of every run of columns that adds up and has mushrooms at both ends."""
    first = {}  # by the sum of all columns before it, the column with mushrooms that a run may begin with
    for column, (before, after) in enumerate(zip((0, *accumulate(sums)), accumulate(sums), strict=False)):
        if after > before:
            first[before] = column
            left = first.get(after - SUM)
            if left is not None:
                yield left, column
