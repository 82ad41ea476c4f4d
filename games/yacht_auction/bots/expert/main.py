#!/usr/bin/env python3
"""A Yacht Auction bot that weighs every play by what it leaves for the rest of the match.

*Scoring.* A play (five dice, a category) is worth its points, less the category's par (what the category brings later
if it is kept), plus the change in the chance of the basic bonus, plus the future of the five dice that it leaves: the
average, over all 252 rolls that may join them, of the best scoring over par that follows.

*Bidding.* A bundle is worth the best play with it. Let D be what my target is worth to me above the other bundle, and
E the same for the other player. Winning at bid x against y changes my lead by D - x - y, losing by x + y - E: the
two are equal at x + y = (D + E) / 2, so a quarter of D + E is the bid that we cannot regret. The other player's dice
and categories are public (GET and SET), so E is computed just like D.

A hand is a number with eight bits per face (how often the face occurs), so that hands add and subtract as numbers.
Tables are made while the program starts, in about a tenth of a second. The rules are in
games/yacht_auction/protocol.md. The bot also advises (see deadheat/engine/advice.py): PLAYED tells it what its seat
really did instead of what it answered.
"""

import copy
import itertools
import math
import sys
from operator import itemgetter, mul

CATEGORIES = (
    "ONE TWO THREE FOUR FIVE SIX CHOICE FOUR_OF_A_KIND FULL_HOUSE SMALL_STRAIGHT LARGE_STRAIGHT YACHT"
).split()
BASIC = 6  # the first six categories: category i counts the dice of face i + 1

# What an open category still brings: fitted by least squares to the points that this bot made in its own matches.
PAR = [7400, 9300, 11300, 13300, 14000, 16600, 25900, 18000, 23000, 16400, 25400, 39400]

BONUS, BONUS_THRESHOLD = 35_000, 63_000
BASIC_MEAN, BASIC_SPREAD = 3.3, 1.1  # dice of its face in a basic category: about 3.4 and 1.1 in those matches

MAX_BID = 100_000
WIDTH = 40  # plays whose future is looked at: the best by what they are worth at once


def best_points(counts):
    """Return, for each category, the most points of any five of the dice (`counts`: of the faces 1 to 6)."""
    dice = [face for face in range(6, 0, -1) for _ in range(counts[face - 1])]  # the highest first
    four = full = run = longest = 0
    for face, count in enumerate(counts, 1):
        run = run + 1 if count else 0
        longest = max(longest, run)
        if count >= 4:
            rest = dice.copy()
            for _ in range(4):
                rest.remove(face)
            four = max(four, 4 * face + rest[0])
        if count >= 3:
            pairs = [pair for pair in range(1, 7) if counts[pair - 1] >= (5 if pair == face else 2)]
            full = max(full, max(3 * face + 2 * pair for pair in pairs) if pairs else 0)
    return [
        *(1000 * face * min(count, 5) for face, count in enumerate(counts, 1)),
        1000 * sum(dice[:5]),
        1000 * four,
        1000 * full,
        15_000 if longest >= 4 else 0,
        30_000 if longest >= 5 else 0,
        50_000 if max(counts) >= 5 else 0,
    ]


def pack(dice):
    """Make a hand of dice like "11236"."""
    return sum(1 << 8 * (int(die) - 1) for die in dice)


def unpack(hand):
    """Count the faces 1 to 6 of a hand."""
    return [hand >> shift & 15 for shift in range(0, 48, 8)]


GUARD = sum(1 << shift for shift in range(7, 48, 8))  # taking away a die that is not there clears its face's guard
FIVES = [pack(dice) for dice in itertools.combinations_with_replacement("123456", 5)]
POINTS = {five: best_points(unpack(five)) for five in FIVES}
TENS = [pack(dice) for dice in itertools.combinations_with_replacement("123456", 10)]
TEN_POINTS = list(zip(*(best_points(unpack(ten)) for ten in TENS), strict=True))  # by category, then by ten dice
DISTINCT = [set(points) for points in TEN_POINTS]
ROLL_ODDS = [math.factorial(5) / math.prod(map(math.factorial, unpack(five))) / 6**5 for five in FIVES]

# JOINED[five](values by ten dice) picks the values of `five` joined by each of the 252 rolls.
_index = {ten: index for index, ten in enumerate(TENS)}
JOINED = {five: itemgetter(*(_index[five + roll] for roll in FIVES)) for five in FIVES}


class Player:
    """What one of the two players holds and has scored, and what plays are worth to it."""

    def __init__(self):
        self.dice = 0
        self.basic = 0  # points in basic categories
        self.unused = frozenset(range(len(CATEGORIES)))
        self.appraise()

    def put(self, category, five):
        """Use a category."""
        if category < BASIC:
            self.basic += POINTS[five][category]
        self.unused -= {category}
        self.dice -= five
        self.appraise()

    def appraise(self):
        """Tabulate what each number of points in each unused category is worth, over par and with the bonus."""
        self.next_best = {}
        self.worth = {}
        now = self.bonus(self.basic, self.unused)
        for category in self.unused:
            self.worth[category] = worth = {points: points - PAR[category] for points in DISTINCT[category]}
            if category < BASIC:
                for points in worth:
                    worth[points] += self.bonus(self.basic + points, self.unused - {category}) - now

    def bonus(self, basic, unused):
        """Return the bonus times the chance to get it, as if the dice to come were normally distributed."""
        faces = [category + 1 for category in unused if category < BASIC]
        missing = (BONUS_THRESHOLD - basic) / 1000 - 0.5 - BASIC_MEAN * sum(faces)
        spread = BASIC_SPREAD * math.hypot(*faces) or 1e-9
        return BONUS * math.erfc(missing / spread / math.sqrt(2)) / 2

    def future(self, category, left):
        """Return the value of five dice that are left when `category` is used next (None: when nothing is)."""
        unused = self.unused - {category}
        if not unused:
            return 0
        if len(unused) == 1:  # the last round: no dice will join them
            (last,) = unused
            return self.worth[last][POINTS[left][last]]
        if category not in self.next_best:
            columns = (map(self.worth[other].__getitem__, TEN_POINTS[other]) for other in unused)
            self.next_best[category] = list(map(max, *columns))
        return sum(map(mul, ROLL_ODDS, JOINED[left](self.next_best[category])))

    def best(self, dice):
        """Return the value of the best play with these dice, its category and its five dice."""
        guarded = dice | GUARD
        fives = [five for five in FIVES if (guarded - five) & GUARD == GUARD]
        plays = [
            (worth[POINTS[five][category]], category, five) for category, worth in self.worth.items() for five in fives
        ]
        plays.sort(reverse=True)
        return max(
            (value + self.future(category, dice - five), category, five) for value, category, five in plays[:WIDTH]
        )

    def value(self, bundle):
        """Return the value of getting this bundle; in round 1 nothing is scored with it at once."""
        return self.best(self.dice + bundle)[0] if self.dice else self.future(None, bundle)


class Bot:
    """One match."""

    def __init__(self, seed=None):
        self.me, self.other = Player(), Player()
        self.before = self.me  # as it was when we were last asked for a scoring
        self.bundles = {}

    def bid(self):
        """Choose a target and a bid, see above; where the other player would pay to leave us the target, bid less."""
        mine, theirs = (
            player.value(self.bundles["A"]) - player.value(self.bundles["B"]) for player in (self.me, self.other)
        )
        target = "A" if mine >= 0 else "B"
        contested = mine + theirs if mine >= 0 else -mine - theirs
        return f"BID {target} {min(MAX_BID, max(0, int(contested / 4)))}"

    def answer(self, line):
        """Return the line to print, or None if the command expects no reply."""
        command, *arguments = line.split()
        if command == "READY":
            return "OK"
        if command == "ROLL":  # ROLL 12345 66666: the dice of bundles A and B
            self.bundles = {name: pack(dice) for name, dice in zip("AB", arguments, strict=True)}
            return self.bid()
        if command == "GET":  # GET A B 500: we got A; the other player wanted B and bid 500
            self.me.dice += self.bundles[arguments[0]]
            self.other.dice += self.bundles["B" if arguments[0] == "A" else "A"]
        if command == "SCORE":
            _, category, five = self.me.best(self.me.dice)
            self.before = copy.copy(self.me)
            self.me.put(category, five)
            dice = "".join(face * count for face, count in zip("123456", unpack(five), strict=True))
            return f"PUT {CATEGORIES[category]} {dice}"
        if command == "SET":  # SET YACHT 66666: the other player's scoring
            self.other.put(CATEGORIES.index(arguments[0]), pack(arguments[1]))
        if command == "PLAYED" and arguments[0] == "PUT":  # PLAYED PUT YACHT 66666
            self.me = self.before
            self.me.put(CATEGORIES.index(arguments[1]), pack(arguments[2]))
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
