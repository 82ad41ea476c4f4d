#!/usr/bin/env python3
"""A bot that plays any of its cards. The rules are in protocol.md."""

import random
import sys


class Bot:
    """One match: remembers its cards."""

    def __init__(self, seed=None):
        self.random = random.Random(seed)
        self.hand = list(range(1, 10))

    def choose(self, prize):
        """Return the card to play for a prize."""
        return self.random.choice(self.hand)

    def answer(self, line):
        """Return the line to print, or None if the line expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "PLAY":
            card = self.choose(int(arguments[0]))
            self.hand.remove(card)
            return f"CARD {card}"
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
