"""What every Betris bot needs: reads the referee's lines, keeps both players' state, and asks your bot.

Write a subclass of `Bot` with `on_phase1` and `on_phase2`, and call `run` of one. This file needs the standard library
only, belongs into your upload, and is yours to change. The rules are in protocol.md.
"""

import sys

SIDE = 7  # the board's rows and columns
CHIPS, MAX_BET, ROUNDS = 24, 5, 12

# One form of each block; the others are made from it by turning and flipping.
SHAPES = {
    "I1": "#", "I2": "##", "I3": "###", "L3": "#./##", "I4": "####", "L4": "#../###", "S4": ".##/##.",
    "T4": "###/.#.", "O4": "##/##", "I5": "#####", "L5": "#.../####", "F5": ".##/##./.#.", "N5": "##../.###",
    "P5": "##/##/#.", "T5": "###/.#./.#.", "U5": "#.#/###", "V5": "#../#../###", "W5": "#../##./.##",
    "X5": ".#./###/.#.", "Y5": ".#../####", "Z5": "##./.#./.##",
}  # fmt: skip


def forms(block):
    """Return the different forms of a block, each a sorted list of (row, column) that begins at row 0 and column 0."""
    rows = enumerate(SHAPES[block].split("/"))
    cells = [(x, y) for x, row in rows for y, mark in enumerate(row) if mark == "#"]
    found = []
    for _ in range(2):
        for _ in range(4):
            cells = [(y, -x) for x, y in cells]  # a quarter turn
            top, left = min(x for x, _ in cells), min(y for _, y in cells)
            form = sorted((x - top, y - left) for x, y in cells)
            if form not in found:
                found.append(form)
        cells = [(x, -y) for x, y in cells]  # a flip
    return found


def _placements(block):
    places = [(x, y, form) for form in forms(block) for x in range(1, SIDE + 1) for y in range(1, SIDE + 1)]
    everywhere = [[(x + i, y + j) for i, j in form] for x, y, form in places]
    return [cells for cells in everywhere if max(map(max, cells)) <= SIDE]


PLACEMENTS = {block: _placements(block) for block in SHAPES}
"""Every way to place a block on an empty board: lists of (row, column), counted from 1."""


def touching(cells, filled):
    """Count the edges that the cells share with filled ones or with the board's edge."""
    around = [(x + i, y + j) for x, y in cells for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    return sum((x, y) in filled or not (1 <= x <= SIDE and 1 <= y <= SIDE) for x, y in around)


class Player:
    """What is public about a player."""

    def __init__(self):
        self.filled = set()  # cells of the board, (row, column) from 1
        self.chips = CHIPS
        self.time_ms = 10_000  # left in the bank

    def fitting(self, block):
        """Return every way to place a block on this board."""
        return [cells for cells in PLACEMENTS[block] if self.filled.isdisjoint(cells)]

    @property
    def points(self):
        """The points if the match ended now."""
        largest = {}  # of the squares whose lowest and rightmost cell is this one, the side of the largest
        for x, y in sorted(self.filled):
            largest[x, y] = 1 + min(largest.get(cell, 0) for cell in ((x - 1, y), (x, y - 1), (x - 1, y - 1)))
        return len(self.filled) + max(largest.values(), default=0) ** 2 + self.chips / 2


class Bot:
    """One match: `me`, `other`, and the `round` from 1 to 12."""

    def __init__(self):
        self.me, self.other, self.round = Player(), Player(), 0
        self.offered = ()  # the two blocks of this round
        self.block = ""  # the one that we got

    def on_phase1(self, a, b):
        """Return one of the blocks on offer, and your bet."""
        raise NotImplementedError

    def on_phase2(self, block):
        """Return the cells for the block that you got, or () to pass; `me.fitting(block)` has all that fit."""
        raise NotImplementedError

    def on_ready(self):
        """Prepare; you have three seconds."""

    def on_opp(self, cells):
        """Look at where the other player has placed its block; () if it passed."""

    def answer(self, line):
        """Process a line. Return the one to write, or None if it expects no reply."""
        command, *words = line.split()
        if command == "READY":
            self.on_ready()
            return "OK"
        if command == "PHASE1":
            self.round += 1
            self.offered = tuple(words[:2])
            self.me.time_ms, self.other.time_ms = map(int, words[2:])
            block, chips = self.on_phase1(*self.offered)
            return f"BET {block} {chips}"
        if command == "PHASE2":
            self.block = words[0]
            self.me.chips, self.other.chips, self.me.time_ms, self.other.time_ms = map(int, words[1:])
            cells = list(self.on_phase2(self.block))
            self.me.filled.update(cells)
            return " ".join(["PLACE", str(len(cells)), *(f"{x} {y}" for x, y in cells)])
        if command == "OPP":
            cells = tuple(zip(map(int, words[1::2]), map(int, words[2::2])))
            self.other.filled.update(cells)
            self.on_opp(cells)
        return None

    def run(self):
        """Talk to the referee until FINISH or the end of the input."""
        for line in sys.stdin:
            if line.startswith("FINISH"):
                break
            reply = self.answer(line)
            if reply is not None:
                print(reply, flush=True)  # without the flush the line may arrive too late
