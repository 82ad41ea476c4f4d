#!/usr/bin/env python3
"""A Mushroom bot that plays any move it finds. Start from here: everything a bot must do is in these lines.

One command arrives per line on standard input; READY and TIME want one line back, on standard output and flushed. All
replies to TIME share ten seconds. The rules are in protocol.md.
"""

import random
import sys

PASS = (-1, -1, -1, -1)


def moves_between(rows):
    """Return the moves with this first and last row, as pairs of columns. A mushroom that has gone counts 0."""
    found = []
    before = 0  # the sum of all columns before this one
    starts = {}  # the column where a move may begin, by the sum before it
    for column, digits in enumerate(map(sum, zip(*rows))):
        if digits:
            starts[before] = column
            before += digits
            if before - 10 in starts:
                left, right = starts[before - 10], column + 1
                if any(rows[0][left:right]) and any(rows[-1][left:right]):
                    found.append((left, column))
    return found


class Bot:
    """One match: remembers the mushrooms that are left."""

    def __init__(self, seed=None):
        self.random = random.Random(seed)
        self.board = []
        self.pairs = []  # of rows: where a move may begin and end
        self.bare = set()  # the pairs of first and last row that have no move

    def choose(self):
        """Return any move, or a pass if there is none."""
        untried = [pair for pair in self.pairs if pair not in self.bare]
        while untried:
            place = int(self.random.random() * len(untried))
            top, bottom = untried[place]
            found = moves_between(self.board[top : bottom + 1])
            if found:
                left, right = self.random.choice(found)
                return top, left, bottom, right
            self.bare.add(untried[place])
            untried[place] = untried[-1]
            untried.pop()
        return PASS

    def take(self, top, left, bottom, right):
        """Take the mushrooms of a rectangle, ours or the other player's, off the board."""
        for row in self.board[top : bottom + 1]:
            row[left : right + 1] = [0] * (right + 1 - left)
        self.bare = {(first, last) for first, last in self.bare if last < top or first > bottom}

    def answer(self, line):
        """Return the line to print, or None if the command wants no reply."""
        command, *arguments = line.split()
        if command == "READY":  # READY FIRST or READY SECOND
            return "OK"
        if command == "INIT":  # INIT 52466443835422223 13254826938785712 ...: the rows
            self.board = [[int(digit) for digit in row] for row in arguments]
            rows = range(len(arguments))
            self.pairs = [(first, last) for first in rows for last in rows[first:]]
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
