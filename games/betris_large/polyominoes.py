"""The 21 blocks of Betris, and the cells of its board as bits.

A set of cells is one integer: row x and column y (both from 1, x downwards) are bit ``8 (x - 1) + (y - 1)``. The bits
of the eighth column, which does not exist, are never set. So a shift by 1 or 8 moves a set by a column or a row, and
cells that leave the right edge do not reappear on the left.

The names stand for all free polyominoes of one to five cells (B-16). A block has up to eight *forms*, its rotated and
flipped shapes; all blocks together have 91. A *placement* is a form at some place on the board.
"""

from collections.abc import Iterable, Mapping

SIDE = 7  # rows and columns of the board
STRIDE = SIDE + 1

Cell = tuple[int, int]
"""A row and a column, from (1, 1) at the top left."""

SHAPES: Mapping[str, str] = {
    "I1": "#", "I2": "##", "I3": "###", "L3": "#./##", "I4": "####", "L4": "#../###", "S4": ".##/##.",
    "T4": "###/.#.", "O4": "##/##", "I5": "#####", "L5": "#.../####", "F5": ".##/##./.#.", "N5": "##../.###",
    "P5": "##/##/#.", "T5": "###/.#./.#.", "U5": "#.#/###", "V5": "#../#../###", "W5": "#../##./.##",
    "X5": ".#./###/.#.", "Y5": ".#../####", "Z5": "##./.#./.##",
}  # fmt: skip
"""One form of each block, with rows from the top separated by slashes, in the order of the source text."""

NAMES = tuple(SHAPES)


def bit(cell: Cell) -> int:
    """Return the set with only this cell."""
    row, column = cell
    return 1 << (STRIDE * (row - 1) + column - 1)


def cells_in(mask: int) -> tuple[Cell, ...]:
    """Return the cells of a set, row by row."""
    cells = ((row, column) for row in range(1, SIDE + 1) for column in range(1, SIDE + 1))
    return tuple(cell for cell in cells if mask & bit(cell))


def _cells_of(shape: str) -> frozenset[Cell]:
    """Return the cells of a shape drawn as in `SHAPES`, at the board's top left."""
    rows = enumerate(shape.split("/"), 1)
    return frozenset((x, y) for x, row in rows for y, mark in enumerate(row, 1) if mark == "#")


def _at_top_left(cells: Iterable[Cell]) -> frozenset[Cell]:
    cells = tuple(cells)
    top, left = min(x for x, _ in cells), min(y for _, y in cells)
    return frozenset((x - top + 1, y - left + 1) for x, y in cells)


def forms(shape: str) -> frozenset[frozenset[Cell]]:
    """Return the distinct shapes that turning and flipping make of one, each at the board's top left."""
    turned = _cells_of(shape)
    shapes = set()
    for _ in range(4):
        turned = _at_top_left((y, -x) for x, y in turned)
        shapes |= {turned, _at_top_left((x, -y) for x, y in turned)}
    return frozenset(shapes)


def _placements(shape: str) -> Iterable[int]:
    for form in forms(shape):
        height, width = max(x for x, _ in form), max(y for _, y in form)
        top_left = sum(map(bit, form))
        for row in range(SIDE - height + 1):
            for column in range(SIDE - width + 1):
                yield top_left << (STRIDE * row + column)


SIZES: Mapping[str, int] = {name: shape.count("#") for name, shape in SHAPES.items()}

PLACEMENTS: Mapping[str, frozenset[int]] = {name: frozenset(_placements(shape)) for name, shape in SHAPES.items()}
"""Every set of cells that a block can cover on an empty board."""


def largest_square(cells: int) -> int:
    """Return the side of the largest square, parallel to the edges, with all cells in the set; 0 for none (B-13)."""
    side = 0
    while cells:
        # A square of side n + 1 has its corner where four neighbouring cells are corners of squares of side n.
        cells &= cells >> 1 & cells >> STRIDE & cells >> (STRIDE + 1)
        side += 1
    return side
