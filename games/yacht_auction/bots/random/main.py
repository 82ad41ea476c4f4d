#!/usr/bin/env python3
"""A Yacht Auction bot that plays any legal move. Start from here: everything a bot must do is in these lines.

One command arrives per line on standard input; ROLL and SCORE (and READY, once) expect one line back at once, on
standard output and flushed. The rules are in games/yacht_auction/protocol.md.
"""

import random
import sys

CATEGORIES = (
    "ONE TWO THREE FOUR FIVE SIX CHOICE FOUR_OF_A_KIND FULL_HOUSE SMALL_STRAIGHT LARGE_STRAIGHT YACHT"
).split()
MAX_BID = 10_000  # the rules allow 100000, which no bundle is worth


class Bot:
    """One match: remembers its dice and the categories that it has not used."""

    def __init__(self, seed=None):
        self.random = random.Random(seed)
        self.dice = []  # what we hold: five dice, ten between an auction and the scoring after it
        self.bundles = {}
        self.unused = list(CATEGORIES)

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "ROLL":  # ROLL 12345 66666: the dice of bundles A and B
            self.bundles = dict(zip("AB", arguments, strict=True))
            return f"BID {self.random.choice('AB')} {self.random.randint(0, MAX_BID)}"
        if command == "GET":  # GET A B 500: we got A; the other player wanted B and bid 500
            self.dice += self.bundles[arguments[0]]
        if command == "SCORE":
            self.random.shuffle(self.dice)
            chosen, self.dice = self.dice[:5], self.dice[5:]
            category = self.unused.pop(self.random.randrange(len(self.unused)))
            return f"PUT {category} {''.join(chosen)}"
        return None  # SET says what the other player scored, which we ignore


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
