#!/usr/bin/env python3
"""A Betris bot that builds towards a large square and bets what a block is worth to both players.

*Placing.* A board is worth what its largest square will bring, and what its empty cells are good for. For every side
from 4 to 7 the bot looks for the square that misses the fewest cells; the chance to complete it falls with the cells
missing and rises with the rounds left. Missing cells in small holes count extra, since few blocks fit them. The empty
cells should form one compact area, so their edges cost points. In the last rounds the bot looks one block ahead.

*Betting.* Let D be what A is worth to me above B, and E the same for the other player, whose board is public (OPP). My
lead is D + E higher if I get A than if I get B, and the same holds for the other player. So both want the same
block, whatever each would like best for itself. Getting it for x chips, instead of letting the other get it for x,
changes my lead by D + E - 2 x chips: nothing at x = (D + E) / (2 chips), which is the highest bet to make.

A board is a number whose bit 8 * row + column is set where a cell is filled, so that a shift moves all cells at once.
The rules are in games/betris_large/protocol.md. The bot also advises (see deadheat/engine/advice.py): PLAYED tells it
what its seat really did instead of what it answered.
"""

import math
import sys

SIDE, STRIDE = 7, 8  # the eighth column stays empty, so what is moved over one edge does not come in at the other
MAX_BET = 5
ROUNDS = 12

# One form of each block; the others are made from it by turning and flipping.
SHAPES = {
    "I1": "#", "I2": "##", "I3": "###", "L3": "#./##", "I4": "####", "L4": "#../###", "S4": ".##/##.",
    "T4": "###/.#.", "O4": "##/##", "I5": "#####", "L5": "#.../####", "F5": ".##/##./.#.", "N5": "##../.###",
    "P5": "##/##/#.", "T5": "###/.#./.#.", "U5": "#.#/###", "V5": "#../#../###", "W5": "#../##./.##",
    "X5": ".#./###/.#.", "Y5": ".#../####", "Z5": "##./.#./.##",
}  # fmt: skip

# Weights of `worth`, in points: fitted to what boards brought in matches that earlier weights had played, then varied
# in 1.6 million matches until nothing improved.
EMPTY, EDGE, NARROW, WIDE, SINGLE = 1.16, -1.1, 0.6, -1.1, 1.0
CERTAINTY, DOUBT, PATIENCE = 2.2, 1.8, 1.12  # chance of a square: see `worth`
HOLE, NARROW_MISSING = 6, 0.3  # what a hole, or a narrow end, adds to the cells that a square misses
SMALL = 4  # cells; a larger empty area is no hole

AHEAD, WIDTH = 3, 4  # with that many rounds left at most, look ahead for the best few placements
CHIP = 0.65  # a chip in points: half of one in the end, and before that what it may still win


def bits(cells):
    """Return the board with these (row, column), counted from 0."""
    return sum(1 << STRIDE * x + y for x, y in cells)


def placements(shape):
    """Return every way to place a block on an empty board."""
    rows = enumerate(shape.split("/"))
    cells = [(x, y) for x, row in rows for y, mark in enumerate(row) if mark == "#"]
    found = set()
    for _ in range(2):
        for _ in range(4):
            cells = [(y, -x) for x, y in cells]  # a quarter turn
            top, left = min(x for x, _ in cells), min(y for _, y in cells)
            cells = [(x - top, y - left) for x, y in cells]
            height, width = max(x for x, _ in cells) + 1, max(y for _, y in cells) + 1
            corners = [STRIDE * x + y for x in range(SIDE - height + 1) for y in range(SIDE - width + 1)]
            found.update(bits(cells) << corner for corner in corners)
        cells = [(x, -y) for x, y in cells]  # a flip
    return sorted(found)


def squares(side):
    """Return all squares of a side."""
    square = bits((x, y) for x in range(side) for y in range(side))
    return [square << STRIDE * x + y for x in range(SIDE - side + 1) for y in range(SIDE - side + 1)]


FULL = squares(SIDE)[0]
SQUARES = [(2 * side - 1, squares(side)) for side in (4, 5, 6, 7)]  # with what a side more brings: s² - (s - 1)²
PLACEMENTS = {name: placements(shape) for name, shape in SHAPES.items()}


def points(board):
    """Return what a board scores: its cells, and the cells of its largest square."""
    side, corners = 0, board
    while corners:  # the upper left corners of all filled squares of a side
        corners &= corners >> 1 & corners >> STRIDE & corners >> STRIDE + 1
        side += 1
    return board.bit_count() + side * side


def holes(empty):
    """Return the small areas of empty cells, each with what a cell of it adds to what a square misses."""
    found = []
    while empty:
        area, grown = 0, empty & -empty
        while grown != area:
            area = grown
            grown = (area | area << 1 | area >> 1 | area << STRIDE | area >> STRIDE) & empty
        empty ^= area
        size = area.bit_count()
        if size <= SMALL:
            found.append((area, HOLE / size))
    return found


def worth(board, rounds):
    """Return what a board will score when so many rounds are over, up to a number that is the same for all boards."""
    if rounds == 0:
        return points(board)
    empty = FULL & ~board
    left, right = empty & ~(empty << 1), empty & ~(empty >> 1)  # empty cells with something on that side of them
    above, below = empty & ~(empty << STRIDE), empty & ~(empty >> STRIDE)
    across, along = left & right, above & below
    narrow = across & (above | below) | along & (left | right)
    wide = empty & empty >> 1 & empty >> STRIDE & empty >> STRIDE + 1
    value = (
        EMPTY * empty.bit_count()
        + EDGE * (left.bit_count() + right.bit_count() + above.bit_count() + below.bit_count())
        + NARROW * narrow.bit_count()
        + WIDE * wide.bit_count()
        + SINGLE * (across & along).bit_count()
    )
    doubt = DOUBT / rounds**PATIENCE
    costs = [(empty, 1), (narrow, NARROW_MISSING), *holes(empty)]
    for gain, places in SQUARES:
        missing = min(sum(cost * (cells & square).bit_count() for cells, cost in costs) for square in places)
        value += gain / (1 + math.exp(doubt * missing - CERTAINTY))
    return value


def boards_with(board, block):
    """Return the board as it is, for a pass, and with the block placed in every way there is."""
    return [board, *(board | place for place in PLACEMENTS[block] if not board & place)]


def ahead(board, rounds):
    """Return the worth of a board as the average over the next block."""
    best = [max(worth(after, rounds - 1) for after in boards_with(board, block)) for block in SHAPES]
    return sum(best) / len(best)


def place(board, block, rounds):
    """Return the worth of the best board that can be made with a block, and that board; `rounds` come after it."""
    found = sorted(((worth(after, rounds), after) for after in boards_with(board, block)), reverse=True)
    if 1 <= rounds <= AHEAD:
        found = [(ahead(after, rounds), after) for _, after in found[:WIDTH]]
    return max(found)


def cells_of(words):
    """Return the board with the cells of "2 1 1 1 2": their number, then the row and column of each."""
    numbers = [int(word) - 1 for word in words[1:]]
    return bits(zip(numbers[::2], numbers[1::2]))


class Bot:
    """One match: both boards, and the chips and plans for the blocks on offer."""

    def __init__(self, seed=None):
        self.rounds = ROUNDS  # still to come
        self.mine = self.other = self.before = 0  # `before`: mine, when we were last asked to place
        self.my_chips = self.other_chips = 24
        self.plans = {}  # by block: what my board will be worth with it, and the board

    def bet(self, a, b):
        """Decide which block to bet on, and how much."""
        self.rounds -= 1
        self.plans = {block: place(self.mine, block, self.rounds) for block in (a, b)}
        others = {block: place(self.other, block, self.rounds)[0] for block in (a, b)}
        stake = self.plans[a][0] - self.plans[b][0] + others[a] - others[b]
        chip = CHIP if self.rounds else 0.5
        enough = self.other_chips + 1  # the other player cannot match that
        return f"BET {a if stake > 0 else b} {min(int(abs(stake) / (2 * chip)), MAX_BET, self.my_chips, enough)}"

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "PHASE1":  # PHASE1 I2 F5 9000 8500: the blocks on offer, and what is left of both players' time
            return self.bet(*arguments[:2])
        if command == "PHASE2":  # PHASE2 F5 20 24 8990 8400: the block we got, both players' chips, both players' time
            self.my_chips, self.other_chips = map(int, arguments[1:3])
            _, board = self.plans[arguments[0]]
            self.before, placed, self.mine = self.mine, board & ~self.mine, board
            cells = [(x, y) for x in range(SIDE) for y in range(SIDE) if placed >> STRIDE * x + y & 1]
            return " ".join(["PLACE", str(len(cells)), *(f"{x + 1} {y + 1}" for x, y in cells)])
        if command == "OPP":  # OPP 2 1 1 1 2: where the other player placed its block
            self.other |= cells_of(arguments)
        if command == "PLAYED" and arguments[0] == "PLACE":  # PLAYED PLACE 2 1 1 1 2
            self.mine = self.before | cells_of(arguments[1:])
        return None


def main():
    """Talk to the referee until FINISH or the end of the input."""
    bot = Bot()
    for line in sys.stdin:
        if line.startswith("FINISH"):
            break
        reply = bot.answer(line)
        if reply is not None:
            print(reply, flush=True)  # without the flush the line may arrive too late


if __name__ == "__main__":
    main()
