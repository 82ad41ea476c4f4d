"""A Yacht Auction bot that has learned what dice and free categories are worth; train.py teaches it.

A play is worth its points and what network.py expects of the dice and categories that it leaves. A bundle is worth the
best play with it, and the bid is half of the difference: at that price, getting it is as good as not getting it.
"""

from functools import lru_cache

from network import forward
from yacht_auction import BASIC, BONUS, BONUS_FROM, CATEGORIES, Bot, fives, points, without

points, fives, without = (lru_cache(1 << 16)(function) for function in (points, fives, without))
MOST_OF_A_FACE = 4  # that the network distinguishes
UNIT = 10_000  # points that the network counts as one


@lru_cache(1 << 16)
def dice_numbers(dice):
    """What the network is told of the dice: for each face, whether there are one, two, ... of them."""
    return [float(dice.count(face) > least) for face in "123456" for least in range(MOST_OF_A_FACE)]


@lru_cache(1 << 16)
def sheet_numbers(free, basic):
    """What the network is told of a sheet: the free categories, and how near the bonus is."""
    return [float(category in free) for category in CATEGORIES] + [min(1.0, basic / BONUS_FROM), basic >= BONUS_FROM]


class Learner(Bot):
    def on_roll(self, a, b):
        worth_a, worth_b = (self.best(self.me.dice + bundle)[0] for bundle in (a, b))
        return "A" if worth_a >= worth_b else "B", int(abs(worth_a - worth_b) / 2)

    def on_score(self):
        return self.best(self.me.dice)[1:]

    def best(self, dice):
        """Return the best play with these dice: its worth, the category, and the five."""
        free, basic = self.me.free, self.me.basic
        if self.round == 1:  # nothing is scored yet
            return self.futures([(dice, frozenset(free), 0)])[0], "", ""
        plays, after = [], []
        for category in free:
            left = frozenset(free) - {category}
            for five in fives(dice):
                gain = points(category, five)
                then = basic + gain * (category in BASIC)
                plays.append((gain + BONUS * (basic < BONUS_FROM <= then), category, five))
                after.append((without(dice, five), left, then))
        futures = self.futures(after) if len(free) > 1 else [0] * len(plays)
        return max((play[0] + future, *play[1:]) for play, future in zip(plays, futures, strict=True))

    def futures(self, states):
        """Return the points that are expected from each of these dice, free categories and points of basic ones on."""
        return [UNIT * forward(dice_numbers(dice) + sheet_numbers(free, basic))[0] for dice, free, basic in states]


if __name__ == "__main__":
    Learner().run()
