#!/usr/bin/env python3
"""A Mushroom bot that plays any move it finds. Start from here: everything a bot must do is in these lines.

One command arrives per line on standard input; READY and TIME expect one line back, on standard output and flushed. All
replies to TIME share ten seconds. The rules are in protocol.md.
"""

import random
import sys
from itertools import accumulate

PASS = (-1, -1, -1, -1)


class Bot:
    """One match: remembers the mushrooms that are left."""

    def __init__(self, seed=None):
        self.random = random.Random(seed)
        self.rows = []  # a byte for each mushroom, 0 if it has gone
        self.sums = []  # each row as one number: rows are added up in one go, and no column reaches 256
        self.open = []  # pairs of first and last row, in any order; the last one is tried first
        self.bare = []  # the pairs that have no move

    def moves_between(self, top, bottom):
        """Return the moves with this first and last row."""
        columns = sum(self.sums[top : bottom + 1]).to_bytes(len(self.rows[0]), "big")
        totals = [0, *accumulate(columns)]  # of the columns before each one
        known = set(totals)
        found = []
        for total in known:
            if total + 10 in known:
                left, right = totals.index(total), totals.index(total + 10)
                while not columns[left]:  # a move begins with a mushroom
                    left += 1
                if any(self.rows[top][left:right]) and any(self.rows[bottom][left:right]):
                    found.append((top, left, bottom, right - 1))
        return found

    def choose(self):
        """Return any move, or a pass if there is none."""
        while self.open:
            found = self.moves_between(*self.open[-1])
            if found:
                return self.random.choice(found)
            self.bare.append(self.open.pop())
        return PASS

    def take(self, top, left, bottom, right):
        """Take the mushrooms of a rectangle, ours or the other player's, off the board."""
        for row in range(top, bottom + 1):
            self.rows[row][left : right + 1] = bytes(right + 1 - left)
            self.sums[row] = int.from_bytes(self.rows[row], "big")
        self.open[:0] = [pair for pair in self.bare if pair[0] <= bottom and pair[1] >= top]  # look there again
        self.bare = [pair for pair in self.bare if pair[0] > bottom or pair[1] < top]

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":  # READY FIRST or READY SECOND
            return "OK"
        if command == "INIT":  # INIT 52466443835422223 13254826938785712 ...: the rows
            self.rows = [bytearray(map(int, row)) for row in arguments]
            self.sums = [int.from_bytes(row, "big") for row in self.rows]
            rows = range(len(arguments))
            self.open = [(first, last) for first in rows for last in rows[first:]]
            self.random.shuffle(self.open)
        if command == "OPP":  # OPP 0 11 0 14 57: what the other player took, and how many milliseconds it thought
            move = [int(word) for word in arguments[:4]]
            if move[0] >= 0:
                self.take(*move)
        if command == "TIME":  # TIME 9876 9943: what is left of both players' time
            move = self.choose()
            if move != PASS:
                self.take(*move)
            return " ".join(map(str, move))
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
