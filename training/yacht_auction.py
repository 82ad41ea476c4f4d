"""Yacht Auction for programs that learn.

Actions, in this order: bids for bundle A, from 0 to the most that is allowed in steps of `BID_STEP`; the same for
bundle B; then for each category, in the order of the rules, every set of five dice, in ascending order. Points come in
whole thousands, so the difference of two values halves to whole steps; as lines any other bids can be made.

Observations have ``mine`` and ``theirs``; the sheets and bids of both players are public. Points and bids are in
thousands, dice are counts of the faces 1 to 6. The bundles are zero once they are assigned.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from deadheat.engine.games.parsing import Refused
from deadheat.engine.games.parsing import words as split
from deadheat.engine.games.yacht_auction import (
    BASIC,
    BONUS,
    BONUS_THRESHOLD,
    CATEGORIES,
    DICE,
    MAX_BID,
    ROUNDS,
    Bid,
    Player,
    adjustment,
    read_bid,
)
from deadheat.training.view import Layout, Mask, Numbers, View

BID_STEP = 500
BIDS = [Bid(target, amount) for target, amount in product("AB", range(0, MAX_BID + 1, BID_STEP))]
FIVES = ["".join(five) for five in combinations_with_replacement("123456", DICE)]
LINES = [
    *(f"BID {bid.target} {bid.amount}" for bid in BIDS),
    *(f"PUT {category} {five}" for category, five in product(CATEGORIES, FIVES)),
]

CATEGORY = {name: place for place, name in enumerate(CATEGORIES)}
FIVE = {five: place for place, five in enumerate(FIVES)}
THOUSAND = 1000
MOST = (len(CATEGORIES) * 50_000 + BONUS + ROUNDS * MAX_BID) // THOUSAND  # no total is higher, or as far below zero

LAYOUT = Layout(
    round=(1, 0, ROUNDS),
    auction=(1, 0, 1),  # 1: a bid is wanted
    scoring=(1, 0, 1),  # 1: five dice and a category are wanted
    a=(6, 0, DICE),
    b=(6, 0, DICE),
    dice_mine=(6, 0, 2 * DICE),
    dice_theirs=(6, 0, 2 * DICE),
    free_mine=(len(CATEGORIES), 0, 1),  # 1: the category is not used yet
    free_theirs=(len(CATEGORIES), 0, 1),
    points_mine=(len(CATEGORIES), 0, 50),
    points_theirs=(len(CATEGORIES), 0, 50),
    basic_mine=(1, 0, 105),  # of the basic categories, which earn the bonus
    basic_theirs=(1, 0, 105),
    bids_mine=(1, -MOST, MOST),  # net
    bids_theirs=(1, -MOST, MOST),
    total_mine=(1, -MOST, MOST),  # what the match would end with now
    total_theirs=(1, -MOST, MOST),
    last_mine=(3, 0, MAX_BID / THOUSAND),  # of the last auction: wanted A, the bid, got A
    last_theirs=(3, 0, MAX_BID / THOUSAND),
)
"""What an observation holds; the numbers of a seat lie next to those of the other."""


def _at(field: str) -> int:
    return LAYOUT.fields[field].start


ROUND, AUCTION, SCORING = _at("round"), _at("auction"), _at("scoring")
BUNDLES = {"A": LAYOUT.fields["a"], "B": LAYOUT.fields["b"]}
BOTH_BUNDLES = slice(_at("a"), _at("dice_mine"))
HANDS = LAYOUT.fields["dice_mine"], LAYOUT.fields["dice_theirs"]
FREE = LAYOUT.fields["free_mine"], LAYOUT.fields["free_theirs"]
FREE_AT = _at("free_mine"), _at("free_theirs")
POINTS_AT = _at("points_mine"), _at("points_theirs")
BASIC_AT = _at("basic_mine"), _at("basic_theirs")
BIDS_AT = _at("bids_mine"), _at("bids_theirs")
TOTAL_AT = _at("total_mine"), _at("total_theirs")
LAST = LAYOUT.fields["last_mine"], LAYOUT.fields["last_theirs"]
MINE, THEIRS = 0, 1


@lru_cache(maxsize=6**DICE)
def faces(dice: str) -> Numbers:
    """Count the faces of some dice."""
    return np.array([dice.count(face) for face in "123456"], np.float32)


@lru_cache(maxsize=4096)  # more hands than five or ten dice can make
def choices(hand: bytes) -> Mask:
    """Tell which of `FIVES` can be taken from a hand, given as the bytes of its numbers of faces."""
    dice = "".join(face * int(n) for face, n in zip("123456", np.frombuffer(hand, np.float32), strict=True))
    found = np.zeros(len(FIVES), np.int8)
    found[[FIVE["".join(five)] for five in set(combinations(dice, DICE))]] = 1
    return found


@lru_cache(maxsize=65_536)
def put(category: str, dice: str) -> tuple[int, Numbers, float]:
    """Return a scoring's place among the categories, its faces, and its points in thousands."""
    return CATEGORY[category], faces(dice), CATEGORIES[category](dice) / THOUSAND


parts = lru_cache(maxsize=65_536)(split)


@lru_cache(maxsize=65_536)
def read(line: str) -> Bid | None:
    """Read a bid as the rules do; None if they refuse it."""
    try:
        return read_bid(line, Player())
    except Refused:
        return None


BIDDING = np.zeros(len(LINES), np.int8)
BIDDING[: len(BIDS)] = 1


class YachtView(View):
    """What one seat of Yacht Auction knows; see the top of this file."""

    layout = LAYOUT
    actions = len(LINES)

    def __init__(self, seat: int, seats: int) -> None:
        super().__init__(seat, seats)
        for free in FREE:
            self.numbers[free] = 1
        self.bid = Bid("A", 0)  # the last one
        self.put = ""  # the last reply to SCORE

    def hear(self, line: str) -> None:
        """See `View.hear`."""
        command, *words = line.split(" ")
        numbers = self.numbers
        if command == "ROLL":
            numbers[ROUND] += 1
            numbers[AUCTION], numbers[SCORING] = 1, 0
            numbers[BUNDLES["A"]], numbers[BUNDLES["B"]] = faces(words[0]), faces(words[1])
        elif command == "GET":
            self._assign(words[0], Bid(words[1], int(words[2])))
        elif command == "SCORE":
            if not numbers[AUCTION]:
                numbers[ROUND] += 1  # the last round, which has no auction
            numbers[AUCTION], numbers[SCORING] = 0, 1
        elif command == "SET":
            self._score(MINE, *parts(self.put)[1:])
            self._score(THEIRS, *words)
        elif command == "FINISH":
            numbers[AUCTION] = numbers[SCORING] = 0

    def _assign(self, got: str, theirs: Bid) -> None:
        numbers = self.numbers
        bundles = (got, "B" if got == "A" else "A")
        for who, (bid, bundle) in enumerate(zip((self.bid, theirs), bundles, strict=True)):
            numbers[HANDS[who]] += numbers[BUNDLES[bundle]]
            change = adjustment(bid, bundle) / THOUSAND
            numbers[BIDS_AT[who]] += change
            numbers[TOTAL_AT[who]] += change
            numbers[LAST[who]] = bid.target == "A", bid.amount / THOUSAND, bundle == "A"
        numbers[BOTH_BUNDLES] = 0

    def _score(self, who: int, category: str, dice: str) -> None:
        numbers = self.numbers
        place, used, points = put(category, dice)
        numbers[HANDS[who]] -= used
        numbers[FREE_AT[who] + place] = 0
        numbers[POINTS_AT[who] + place] = points
        if category in BASIC:
            basic = float(numbers[BASIC_AT[who]])
            numbers[BASIC_AT[who]] = basic + points
            if basic < BONUS_THRESHOLD / THOUSAND <= basic + points:
                points += BONUS / THOUSAND
        numbers[TOTAL_AT[who]] += points

    def reply(self, line: str) -> None:
        """See `View.reply`."""
        if self.numbers[SCORING]:
            self.put = line
        else:
            self.bid = read(line) or self.bid

    def line(self, action: int) -> str:
        """See `View.line`."""
        return LINES[action]

    def mask(self) -> Mask:
        """See `View.mask`."""
        if self.numbers[AUCTION]:
            return BIDDING.copy()
        mask = np.zeros(len(LINES), np.int8)
        sets = mask[len(BIDS) :].reshape(len(CATEGORIES), len(FIVES))
        hand = choices(self.numbers[HANDS[MINE]].tobytes())
        np.multiply(self.numbers[FREE[MINE]].astype(np.int8)[:, None], hand, out=sets)
        return mask
