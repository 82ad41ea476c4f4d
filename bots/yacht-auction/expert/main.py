#!/usr/bin/env python3
"""A Yacht Auction bot that weighs every play by what it leaves for the rest of the match.

*Scoring.* A play (five dice, a category) is worth its points, less the category's par (what the category brings on
average if it is kept), plus the change in the chance of the basic bonus, plus the future of the five dice that it
leaves: the average, over all 252 rolls that may join them, of the best next scoring over par.

*Bidding.* The value of a bundle is the value of the best play with it. Let D and E be what my target is worth to me
and to the other player above the other bundle. Winning at bid x against y changes my lead by D - x - y, losing by
x + y - E: both are equal at x + y = (D + E) / 2, so each bids a quarter of D + E. The other player's dice
and categories are public (GET and SET), so E is computed just like D.

A hand is a number with eight bits a face (how often each face occurs), so that hands add and subtract as numbers.
The rules are in docs/protocols/yacht-auction.md.
"""

import itertools
import math
import sys
from operator import itemgetter, mul

CATEGORIES = (
    "ONE TWO THREE FOUR FIVE SIX CHOICE FOUR_OF_A_KIND FULL_HOUSE SMALL_STRAIGHT LARGE_STRAIGHT YACHT"
).split()
BASIC = 6  # the first six categories; category i counts the dice of face i + 1

# Measured over the bot's own matches: points that an open category still brings.
PAR = [7300, 9800, 11700, 13400, 14600, 14800, 23500, 16000, 21500, 16800, 28700, 42300]
BASIC_MEAN = 3.3  # dice of its face that a basic category ends with, and their spread
BASIC_SPREAD = 0.9
BONUS, BONUS_THRESHOLD = 35_000, 63_000


def hand(dice):
    """Pack dice ("11236") into a number."""
    return sum(1 << 8 * (int(die) - 1) for die in dice)


def unpack(packed):
    """Count the faces 1 to 6 of a hand."""
    return [packed >> shift & 15 for shift in range(0, 48, 8)]


def best_points(counts):
    """Return, for each category, the most points of any five of the dice."""
    faces = range(1, 7)
    dice = [face for face in reversed(faces) for _ in range(counts[face - 1])]  # the best first
    points = [1000 * face * min(counts[face - 1], 5) for face in faces] + [1000 * sum(dice[:5])]
    four = [4 * f + next((d for d in dice if d != f), f) if counts[f - 1] == 4 else 4 * f + max([f] + [d for d in dice if d != f]) for f in faces if counts[f - 1] >= 4]
    full = [5 * f for f in faces if counts[f - 1] >= 5]
    full += [3 * f + 2 * g for f in faces for g in faces if f != g and counts[f - 1] >= 3 and counts[g - 1] >= 2]
    run = longest = 0
    for count in counts:
        run = run + 1 if count else 0
        longest = max(longest, run)
    points += [1000 * max(four, default=0), 1000 * max(full, default=0)]
    points += [15_000 * (longest >= 4), 30_000 * (longest >= 5), 50_000 * (max(counts) >= 5)]
    return points


FIVES = [hand(dice) for dice in itertools.combinations_with_replacement("123456", 5)]
POINTS = {five: best_points(unpack(five)) for five in FIVES}
TENS = [hand(dice) for dice in itertools.combinations_with_replacement("123456", 10)]
TEN_INDEX = {ten: index for index, ten in enumerate(TENS)}
TEN_POINTS = list(zip(*(best_points(unpack(ten)) for ten in TENS), strict=True))  # by category, then by ten dice
ROLL_ODDS = [math.factorial(5) / math.prod(map(math.factorial, unpack(five))) / 6**5 for five in FIVES]
JOINED = {five: itemgetter(*(TEN_INDEX[five + roll] for roll in FIVES)) for five in FIVES}
GUARD = sum(1 << shift for shift in range(7, 48, 8))  # a borrow from any face clears its guard bit


class Player:
    """What one of the two players holds and has scored, and what a play is worth to it."""

    def __init__(self):
        self.dice = 0
        self.unused = frozenset(range(len(CATEGORIES)))
        self.basic = 0
        self.futures = {}

    def put(self, category, five):
        """Score."""
        self.basic += POINTS[five][category] if category < BASIC else 0
        self.unused -= {category}
        self.dice -= five
        self.futures = {}

    def bonus(self, basic, unused):
        """Value of the basic bonus: its points times the chance that it is reached (normal approximation)."""
        faces = [category + 1 for category in unused if category < BASIC]
        need = BONUS_THRESHOLD / 1000 - basic / 1000
        if not faces:
            return BONUS if need <= 0 else 0
        spread = BASIC_SPREAD * math.sqrt(sum(face * face for face in faces))
        return BONUS * (1 - math.erf((need - 0.5 - BASIC_MEAN * sum(faces)) / spread / math.sqrt(2))) / 2

    def over_par(self, category, points):
        """Worth of using `category` for these points."""
        if category >= BASIC:
            return points - PAR[category]
        before = self.bonus(self.basic, self.unused)
        return points - PAR[category] + self.bonus(self.basic + points, self.unused - {category}) - before

    def prepare(self):
        """Tabulate over_par by category and points, once a scoring."""
        return {
            c: {points: self.over_par(c, points) for points in set(TEN_POINTS[c])} for c in self.unused
        }

    def future(self, category, left):
        """Value of the five dice left after using `category`: of the next scoring, over par, on average."""
        unused = self.unused - {category}
        if not unused:
            return 0
        if len(unused) == 1:  # round 13: no more dice come
            (last,) = unused
            return self.worth[last][POINTS[left][last]]
        if category not in self.futures:
            columns = [map(self.worth[c].__getitem__, TEN_POINTS[c]) for c in unused]
            self.futures[category] = list(map(max, *columns))
        return sum(map(mul, ROLL_ODDS, JOINED[left](self.futures[category])))

    def best(self, held):
        """Return the value of the best play with these dice, its category and its five dice."""
        if not self.futures:
            self.worth = self.prepare()
        guarded = held | GUARD
        plays = [
            (self.worth[category][POINTS[five][category]], category, five)
            for five in FIVES
            if (guarded - five) & GUARD == GUARD
            for category in self.unused
        ]
        plays.sort(reverse=True)
        return max((value + self.future(category, held - five), category, five) for value, category, five in plays[:WIDTH])

    def value(self, bundle):
        """Value of adding this bundle to the dice held."""
        if self.dice:
            return self.best(self.dice + bundle)[0]
        self.worth = self.prepare()
        columns = [map(self.worth[c].__getitem__, TEN_POINTS[c]) for c in self.unused]
        return sum(map(mul, ROLL_ODDS, JOINED[bundle](list(map(max, *columns)))))

WIDTH = 40

class Bot:
    """One match."""

    def __init__(self, seed=None):
        self.me, self.other = Player(), Player()
        self.bundles = {}

    def answer(self, line):
        """Return the line to print, or None if the command wants no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "ROLL":
            self.bundles = {name: hand(dice) for name, dice in zip("AB", arguments, strict=True)}
            return self.bid()
        if command == "GET":
            mine = arguments[0]
            self.me.dice += self.bundles[mine]
            self.other.dice += self.bundles["B" if mine == "A" else "A"]
        if command == "SCORE":
            _, category, five = self.me.best(self.me.dice)
            self.me.put(category, five)
            dice = "".join(str(face + 1) * count for face, count in enumerate(unpack(five)))
            return f"PUT {CATEGORIES[category]} {dice}"
        if command == "SET":
            self.other.put(CATEGORIES.index(arguments[0]), hand(arguments[1]))
        return None

    def bid(self):
        """Target the better bundle at a quarter of what it is worth to both of us."""
        mine, other = (p.value(self.bundles["A"]) - p.value(self.bundles["B"]) for p in (self.me, self.other))
        target = "A" if mine >= 0 else "B"
        if mine < 0:
            mine, other = -mine, -other
        return f"BID {target} {min(100_000, max(0, int(mine + other) // 4))}"


def main():
    """Talk to the referee until FINISH or the end of the input."""
    bot = Bot()
    for line in sys.stdin:
        if line.startswith("FINISH"):
            break
        reply = bot.answer(line)
        if reply is not None:
            print(reply, flush=True)


if __name__ == "__main__":
    main()
