#!/usr/bin/env python3
"""A Mushroom bot that takes the rectangle with the most to gain at once: the cells that nobody has, and twice those of
the other player, which count for us and no longer against us. It looks no turn ahead. The rules are in protocol.md.
"""

import sys

PASS = (-1, -1, -1, -1)
NOBODY, MINE, THEIRS = 0, 1, 2
GAINS = {NOBODY: 1, MINE: 0, THEIRS: 2}


class Bot:
    """One match: remembers the mushrooms that are left, and whose the cells are."""

    def __init__(self, seed=None):
        self.board = []
        self.owners = []

    def moves(self):
        """Yield every rectangle that may be taken."""
        for top in range(len(self.board)):
            sums = [0] * len(self.board[0])
            for bottom in range(top, len(self.board)):
                sums = [total + digit for total, digit in zip(sums, self.board[bottom])]
                before = 0  # the sum of all columns before this one
                starts = {}  # the column where a move may begin, by the sum before it
                for right, digits in enumerate(sums):
                    if digits:
                        starts[before] = right
                        before += digits
                        left = starts.get(before - 10)
                        if left is not None and self.touched(top, left, right) and self.touched(bottom, left, right):
                            yield top, left, bottom, right

    def touched(self, row, left, right):
        """Is there a mushroom in this part of the row?"""
        return any(self.board[row][left : right + 1])

    def gain(self, top, left, bottom, right):
        """Return by how much a rectangle changes the difference of the scores."""
        return sum(GAINS[owner] for row in self.owners[top : bottom + 1] for owner in row[left : right + 1])

    def take(self, owner, top, left, bottom, right):
        """Take the mushrooms of a rectangle off the board, and give its cells to its owner."""
        for row in range(top, bottom + 1):
            self.board[row][left : right + 1] = [0] * (right + 1 - left)
            self.owners[row][left : right + 1] = [owner] * (right + 1 - left)

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "INIT":
            self.board = [[int(digit) for digit in row] for row in arguments]
            self.owners = [[NOBODY] * len(row) for row in arguments]
        if command == "OPP" and arguments[0] != "-1":
            self.take(THEIRS, *map(int, arguments[:4]))
        if command == "TIME":
            move = max(self.moves(), key=lambda move: self.gain(*move), default=PASS)
            if move == PASS or self.gain(*move) == 0:
                return "-1 -1 -1 -1"
            self.take(MINE, *move)
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
