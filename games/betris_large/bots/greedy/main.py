#!/usr/bin/env python3
"""A Betris bot that takes the most points it can get at once, and bets what a block brings above the other.

It fills its board tightly, but it does not look ahead and ignores the other player. The rules are in
games/betris_large/protocol.md.
"""

import sys

SIDE = 7  # the board's rows and columns
MAX_BET = 5

# One form of each block; the others are made from it by turning and flipping.
SHAPES = {
    "I1": "#", "I2": "##", "I3": "###", "L3": "#./##", "I4": "####", "L4": "#../###", "S4": ".##/##.",
    "T4": "###/.#.", "O4": "##/##", "I5": "#####", "L5": "#.../####", "F5": ".##/##./.#.", "N5": "##../.###",
    "P5": "##/##/#.", "T5": "###/.#./.#.", "U5": "#.#/###", "V5": "#../#../###", "W5": "#../##./.##",
    "X5": ".#./###/.#.", "Y5": ".#../####", "Z5": "##./.#./.##",
}  # fmt: skip


def forms(shape):
    """Return the different forms of a shape, each a tuple of (row, column) that begins at row 0 and column 0."""
    rows = enumerate(shape.split("/"))
    cells = [(x, y) for x, row in rows for y, mark in enumerate(row) if mark == "#"]
    found = set()
    for _ in range(2):
        for _ in range(4):
            cells = [(y, -x) for x, y in cells]  # a quarter turn
            top, left = min(x for x, _ in cells), min(y for _, y in cells)
            found.add(tuple(sorted((x - top, y - left) for x, y in cells)))
        cells = [(x, -y) for x, y in cells]  # a flip
    return sorted(found)


def placements(shape):
    """Return every way to place a block on an empty board: tuples of (row, column), counted from 1."""
    places = [(x, y, form) for form in forms(shape) for x in range(1, SIDE + 1) for y in range(1, SIDE + 1)]
    everywhere = [tuple((x + i, y + j) for i, j in form) for x, y, form in places]
    return [cells for cells in everywhere if max(max(cell) for cell in cells) <= SIDE]


PLACEMENTS = {name: placements(shape) for name, shape in SHAPES.items()}


def points(filled):
    """Return what a board scores: its cells, and the cells of its largest square."""
    largest = {}  # of the squares whose lowest and rightmost cell is this one, the side of the largest
    for x, y in sorted(filled):
        largest[x, y] = 1 + min(largest.get(cell, 0) for cell in ((x - 1, y), (x, y - 1), (x - 1, y - 1)))
    return len(filled) + max(largest.values(), default=0) ** 2


def touching(cells, filled):
    """Count the edges that the cells share with filled ones or with the board's edge."""
    around = [(x + i, y + j) for x, y in cells for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    return sum((x, y) in filled or not (1 <= x <= SIDE and 1 <= y <= SIDE) for x, y in around)


class Bot:
    """One match: remembers its chips and the filled cells of its board."""

    def __init__(self, seed=None):
        self.chips = 24
        self.filled = frozenset()

    def best(self, block):
        """Return the points after the best placement of a block, its touching edges, and its cells: () to pass."""
        plays = [(points(self.filled), 0, ())]
        for cells in PLACEMENTS[block]:
            if self.filled.isdisjoint(cells):
                plays.append((points(self.filled.union(cells)), touching(cells, self.filled), cells))
        return max(plays)

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "PHASE1":  # PHASE1 I2 F5 9000 8500: the blocks on offer, and what is left of both players' time
            after = {block: self.best(block) for block in arguments[:2]}
            wanted, other = sorted(after, key=after.get, reverse=True)
            bet = after[wanted][0] - after[other][0]  # a chip is half a point: we keep half of what we gain
            return f"BET {wanted} {min(bet, MAX_BET, self.chips)}"
        if command == "PHASE2":  # PHASE2 F5 20 24 8990 8400: the block we got, both players' chips, both players' time
            block, self.chips = arguments[0], int(arguments[1])
            _, _, cells = self.best(block)
            self.filled = self.filled.union(cells)
            return " ".join(["PLACE", str(len(cells)), *(f"{x} {y}" for x, y in cells)])
        return None  # OPP 2 1 1 1 2 tells where the other player placed its block, which we ignore


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
