"""What every Yacht Auction bot needs: reads the referee's lines, keeps both players' state, and asks your bot.

Write a subclass of `Bot` with `on_roll` and `on_score`, and call `run` of one. This file needs the standard library
only, belongs into your upload, and is yours to change. The rules are in protocol.md.
"""

import sys
from itertools import combinations

BASIC = ("ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX")
CATEGORIES = (*BASIC, "CHOICE", "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT")
BONUS, BONUS_FROM = 35_000, 63_000  # for so many points of the basic categories


def points(category, dice):
    """Return the points of five dice, a text such as "12345", in a category."""
    if category in BASIC:
        face = BASIC.index(category) + 1
        return 1000 * face * dice.count(str(face))
    counts, faces = sorted(map(dice.count, set(dice))), "".join(sorted(set(dice)))
    total = 1000 * sum(map(int, dice))
    return {
        "CHOICE": total,
        "FOUR_OF_A_KIND": total if counts[-1] >= 4 else 0,
        "FULL_HOUSE": total if counts in ([2, 3], [5]) else 0,
        "SMALL_STRAIGHT": 15_000 if any(run in faces for run in ("1234", "2345", "3456")) else 0,
        "LARGE_STRAIGHT": 30_000 if faces in ("12345", "23456") else 0,
        "YACHT": 50_000 if counts == [5] else 0,
    }[category]


def fives(dice):
    """Return every choice of five of the dice, each once, its faces in ascending order."""
    return sorted({"".join(five) for five in combinations(sorted(dice), 5)})


def without(dice, five):
    """Return the dice that are left when these five are gone, in ascending order."""
    return "".join(face * (dice.count(face) - five.count(face)) for face in "123456")


class Player:
    """What is public about a player."""

    def __init__(self):
        self.dice = ""  # held: five, or ten between an auction and its scoring
        self.scores = {}  # the points by category, of the categories used
        self.bids = 0  # what all auctions have brought
        self.wanted, self.bid, self.got = "", 0, ""  # in the last auction

    @property
    def free(self):
        """The categories not used yet."""
        return [category for category in CATEGORIES if category not in self.scores]

    @property
    def basic(self):
        """The points of the basic categories, which earn the bonus."""
        return sum(self.scores.get(category, 0) for category in BASIC)

    @property
    def total(self):
        """The total if the match ended now."""
        return self.bids + sum(self.scores.values()) + BONUS * (self.basic >= BONUS_FROM)

    def _settle(self, got, bundle):
        self.got = got
        self.dice += bundle
        self.bids += -self.bid if got == self.wanted else self.bid

    def _score(self, category, dice):
        self.scores[category] = points(category, dice)
        self.dice = without(self.dice, dice)


class Bot:
    """One match: `me`, `other`, and the `round` from 1 to 13."""

    def __init__(self):
        self.me, self.other, self.round = Player(), Player(), 0
        self.bundles = {"A": "", "B": ""}  # of the last auction

    def on_roll(self, a, b):
        """Return the bundle that you want, "A" or "B", and your bid; `a` and `b` are their dice."""
        raise NotImplementedError

    def on_score(self):
        """Return a free category, and five of `me.dice` for it."""
        raise NotImplementedError

    def on_ready(self):
        """Prepare; you have three seconds."""

    def on_get(self):
        """Look at an auction's result: `wanted`, `bid` and `got` of `me` and `other`."""

    def on_set(self, category, dice):
        """Look at what the other player has scored."""

    def answer(self, line):
        """Process a line. Return the one to write, or None if it expects no reply."""
        command, *words = line.split()
        if command == "READY":
            self.on_ready()
            return "OK"
        if command == "ROLL":
            self.round += 1
            self.bundles = dict(zip("AB", words))
            self.me.wanted, self.me.bid = self.on_roll(*words)
            return f"BID {self.me.wanted} {self.me.bid}"
        if command == "GET":
            got, self.other.wanted, self.other.bid = words[0], words[1], int(words[2])
            left = "B" if got == "A" else "A"
            self.me._settle(got, self.bundles[got])
            self.other._settle(left, self.bundles[left])
            self.on_get()
        if command == "SCORE":
            self.round = len(self.me.scores) + 2  # the last round has no auction
            category, dice = self.on_score()
            self.me._score(category, dice)
            return f"PUT {category} {dice}"
        if command == "SET":
            self.other._score(*words)
            self.on_set(*words)
        return None

    def run(self):
        """Talk to the referee until FINISH or the end of the input."""
        for line in sys.stdin:
            if line.startswith("FINISH"):
                break
            reply = self.answer(line)
            if reply is not None:
                print(reply, flush=True)  # without the flush the line may arrive too late
