#!/usr/bin/env python3
"""A Betris bot that plays any legal move. Start from here: everything a bot must do is in these lines.

One command arrives per line on standard input; PHASE1 and PHASE2 (and READY, once) expect one line back, on standard
output and flushed. All replies but the first share ten seconds. The rules are in games/betris_large/protocol.md.
"""

import functools
import random
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


@functools.cache
def placements(block):
    """Return every way to place a block on an empty board: lists of (row, column), counted from 1."""
    found = []
    for form in forms(block):
        height, width = (max(sizes) + 1 for sizes in zip(*form))
        for x in range(1, SIDE + 2 - height):
            for y in range(1, SIDE + 2 - width):
                found.append([(x + i, y + j) for i, j in form])
    return found


class Bot:
    """One match: remembers its chips and the filled cells of its board."""

    def __init__(self, seed=None):
        self.random = random.Random(seed)
        self.chips = 24
        self.filled = set()

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "PHASE1":  # PHASE1 I2 F5 9000 8500: the blocks on offer, and what is left of both players' time
            a, b, _my_time, _opp_time = arguments
            return f"BET {self.random.choice([a, b])} {self.random.randint(0, min(MAX_BET, self.chips))}"
        if command == "PHASE2":  # PHASE2 F5 20 24 8990 8400: the block we got, both players' chips, both players' time
            block, my_chips, _opp_chips, _my_time, _opp_time = arguments
            self.chips = int(my_chips)
            fitting = [cells for cells in placements(block) if self.filled.isdisjoint(cells)]
            cells = self.random.choice(fitting or [[]])
            self.filled.update(cells)
            return " ".join(["PLACE", str(len(cells)), *(f"{x} {y}" for x, y in cells)])  # PLACE 0 passes
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
