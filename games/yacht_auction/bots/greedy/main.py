#!/usr/bin/env python3
"""A Yacht Auction bot that takes the most points it can get at once and bids half of what a bundle adds to that.

It knows the scoring but does not look ahead: it will waste a good category on poor dice. The rules are in
games/yacht_auction/protocol.md.
"""

import itertools
import sys


def total(dice):
    """Points of CHOICE and of the kinds: a thousand times the sum."""
    return 1000 * sum(map(int, dice))


def straight(dice, runs):
    """Return whether one of the runs is among the faces of these dice."""
    faces = "".join(sorted(set(dice)))
    return any(run in faces for run in runs)


def counts(dice):
    """Return the counts of the faces that occur, in ascending order."""
    return sorted(dice.count(face) for face in set(dice))


SCORES = {
    "ONE": lambda dice: 1000 * dice.count("1"),
    "TWO": lambda dice: 2000 * dice.count("2"),
    "THREE": lambda dice: 3000 * dice.count("3"),
    "FOUR": lambda dice: 4000 * dice.count("4"),
    "FIVE": lambda dice: 5000 * dice.count("5"),
    "SIX": lambda dice: 6000 * dice.count("6"),
    "CHOICE": total,
    "FOUR_OF_A_KIND": lambda dice: total(dice) if counts(dice)[-1] >= 4 else 0,
    "FULL_HOUSE": lambda dice: total(dice) if counts(dice) in ([2, 3], [5]) else 0,
    "SMALL_STRAIGHT": lambda dice: 15_000 if straight(dice, ("1234", "2345", "3456")) else 0,
    "LARGE_STRAIGHT": lambda dice: 30_000 if straight(dice, ("12345", "23456")) else 0,
    "YACHT": lambda dice: 50_000 if counts(dice) == [5] else 0,
}


class Bot:
    """One match: remembers its dice and the categories that it has not used."""

    def __init__(self, seed=None):
        self.dice = ""  # what we hold: five dice, ten between an auction and the scoring after it
        self.bundles = {}
        self.unused = list(SCORES)

    def best(self, dice):
        """Return the most points that any five of `dice` give in any unused category, the category, and the five."""
        fives = {"".join(five) for five in itertools.combinations(sorted(dice), 5)}
        return max((SCORES[category](five), category, five) for five in fives for category in self.unused)

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "ROLL":  # ROLL 12345 66666: the dice of bundles A and B
            self.bundles = dict(zip("AB", arguments, strict=True))
            points = {name: self.best(self.dice + bundle)[0] for name, bundle in self.bundles.items()}
            wanted = max("AB", key=lambda name: (points[name], total(self.bundles[name])))
            return f"BID {wanted} {abs(points['A'] - points['B']) // 2}"
        if command == "GET":  # GET A B 500: we got A; the other player wanted B and bid 500
            self.dice += self.bundles[arguments[0]]
        if command == "SCORE":
            _, category, five = self.best(self.dice)
            self.unused.remove(category)
            for die in five:
                self.dice = self.dice.replace(die, "", 1)
            return f"PUT {category} {five}"
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
