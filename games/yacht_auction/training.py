"""Yacht Auction for programs that learn.

Actions, in this order: bids for bundle A, from 0 to the highest allowed in steps of `BID_STEP`; the same for bundle B;
then for each category, in the order of the rules, every set of five dice, in ascending order. Points are whole
thousands, so half the difference of two values is a whole number of steps; any other bid can be made as a line.

Observations have ``mine`` and ``theirs``: sheets and bids are public. Points and bids are in thousands; dice are counts
by face. The bundles are zero once they are assigned.
"""

from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product
from struct import Struct

import numpy as np

from deadheat.engine.games.parsing import Refused, words
from deadheat.games.yacht_auction.rules import (
    BASIC,
    BONUS,
    BONUS_THRESHOLD,
    CATEGORIES,
    DICE,
    LAST_BIDDING,
    MAX_BID,
    ROUNDS,
    Bid,
    Player,
    adjustment,
    read_bid,
)
from deadheat.training.view import Layout, Mask, Numbers, View

BID_STEP = 500
BUNDLES = int(6**DICE)  # the possible rolls of a bundle
FIVES = ["".join(five) for five in combinations_with_replacement("123456", DICE)]
FIVE = {five: place for place, five in enumerate(FIVES)}
CATEGORY = {name: place for place, name in enumerate(CATEGORIES)}
BID_LINES = [f"BID {target} {amount}" for target, amount in product("AB", range(0, MAX_BID + 1, BID_STEP))]
LINES = [*BID_LINES, *(f"PUT {category} {five}" for category, five in product(CATEGORIES, FIVES))]
ALL_BIDS = (np.arange(len(LINES)) < len(BID_LINES)).astype(np.int8)
NO_BID_LINE = bytes(len(BID_LINES))  # parts of a mask
NO_FIVE = bytes(len(FIVES))

THOUSAND = 1000
MOST = {category: max(map(points, FIVES)) // THOUSAND for category, points in CATEGORIES.items()}
MOST_BASIC = sum(MOST[category] for category in BASIC)
MOST_BIDS = LAST_BIDDING * MAX_BID // THOUSAND
MOST_TOTAL = sum(MOST.values()) + BONUS // THOUSAND + MOST_BIDS

LAYOUT = Layout(
    round=(1, 0, ROUNDS, "from 1 to 13"),
    auction=(1, 0, 1, "1: a bid is expected"),
    scoring=(1, 0, 1, "1: five dice and a category are expected"),
    total_mine=(1, -MOST_BIDS, MOST_TOTAL, "the result if the match ended now"),
    total_theirs=(1, -MOST_BIDS, MOST_TOTAL),
    bids_mine=(1, -MOST_BIDS, MOST_BIDS, "what bids have brought, net"),
    bids_theirs=(1, -MOST_BIDS, MOST_BIDS),
    basic_mine=(1, 0, MOST_BASIC, "points of the basic categories, which earn the bonus"),
    basic_theirs=(1, 0, MOST_BASIC),
    last_mine=(3, 0, MAX_BID // THOUSAND, "the last auction: 1 if the target was A, the bid, 1 if the seat got A"),
    last_theirs=(3, 0, MAX_BID // THOUSAND),
    a=(6, 0, DICE, "a bundle in an auction: how many ones, twos, ..., sixes"),
    b=(6, 0, DICE),
    dice_mine=(6, 0, 2 * DICE, "the dice held, by face"),
    dice_theirs=(6, 0, 2 * DICE),
    free_mine=(len(CATEGORIES), 0, 1, "1 for each category not used yet"),
    free_theirs=(len(CATEGORIES), 0, 1),
    points_mine=(len(CATEGORIES), 0, max(MOST.values()), "points of each category"),
    points_theirs=(len(CATEGORIES), 0, max(MOST.values())),
)
"""The fields of an observation."""

MINE, THEIRS = 0, 1
NO_BID = Bid("A", 0)
NO_AUCTION = (0.0,) * 6
BIDDING, SCORING, OVER = (1, 0), (0, 1), (0, 0)

# Assigning single numbers to an array would take most of a step's time. So neighbours are packed as bytes, and what a
# seat gets or scores is one cached vector that is added. The same few lines recur, so each is read once.
_FIELDS = LAYOUT.fields
_BYTES = LAYOUT.low.itemsize
_BUNDLES = slice(_BYTES * _FIELDS["a"].start, _BYTES * _FIELDS["b"].stop)
_HAND = slice(_BYTES * _FIELDS["dice_mine"].start, _BYTES * _FIELDS["dice_mine"].stop)
_NO_BUNDLES = bytes(_BUNDLES.stop - _BUNDLES.start)
_HEAD = Struct("15f")  # everything before the bundles


def _of(field: str, who: int) -> slice:
    return _FIELDS[f"{field}_{('mine', 'theirs')[who]}"]


START = LAYOUT.zeros()
START[_of("free", MINE)] = START[_of("free", THEIRS)] = 1


@lru_cache(maxsize=BUNDLES)
def _faces(dice: str) -> bytes:
    """Count the faces of some dice, in the form of an observation."""
    return np.array([dice.count(face) for face in "123456"], np.float32).tobytes()


@lru_cache(maxsize=2 * BUNDLES)
def _gained(who: int, dice: str) -> Numbers:
    """Return the change of an observation when a seat gets a bundle."""
    change = LAYOUT.zeros()
    change[_of("dice", who)] = np.frombuffer(_faces(dice), np.float32)
    return change


@lru_cache(maxsize=65_536)
def _scored(who: int, line: str) -> tuple[int, Numbers, float, float]:
    """Return the place of the category in ``PUT c d`` or ``SET c d``, and the changes: of an observation after its
    head, of the total, and of the basic categories.
    """
    _, category, dice = words(line)
    place, points = CATEGORY[category], CATEGORIES[category](dice) / THOUSAND
    change = -_gained(who, dice)
    change[_of("free", who).start + place] = -1
    change[_of("points", who).start + place] = points
    return place, change, points, points if category in BASIC else 0


@lru_cache(maxsize=65_536)
def _assigned(line: str) -> tuple[str, str, Bid]:
    """Read ``GET g g0 x0``: the bundle got, the one left to the other seat, and that seat's bid."""
    _, got, target, amount = line.split(" ")
    return got, "B" if got == "A" else "A", Bid(target, int(amount))


@lru_cache(maxsize=4096)  # more than the number of hands of five and of ten dice
def _choices(hand: bytes) -> bytes:
    """Return a byte for each of `FIVES` that says whether it can be taken from a hand."""
    dice = "".join(face * int(n) for face, n in zip("123456", np.frombuffer(hand, np.float32), strict=True))
    mask = bytearray(len(FIVES))
    for five in set(combinations(dice, DICE)):
        mask[FIVE["".join(five)]] = 1
    return bytes(mask)


@lru_cache(maxsize=65_536)
def _bid_of(line: str) -> Bid | None:
    """Parse a bid by the rules; None if they refuse it."""
    try:
        return read_bid(line, Player())
    except Refused:
        return None


class _YachtView(View):
    """The knowledge of one seat of Yacht Auction; see the top of this file."""

    layout = LAYOUT
    start = START
    actions = len(LINES)

    def __init__(self, seat: int, seats: int) -> None:
        super().__init__(seat, seats)
        self.bytes = self.numbers.data.cast("B")
        self.round = 0
        self.phase = OVER
        self.bundles = {"A": "", "B": ""}
        self.bid = NO_BID  # the last reply to ROLL
        self.put = ""  # the last reply to SCORE
        self.free = [True] * len(CATEGORIES)  # of the own sheet
        self.totals = [0.0, 0.0]
        self.bids = [0.0, 0.0]
        self.basic = [0.0, 0.0]
        self.last: tuple[float, ...] = NO_AUCTION

    def hear(self, line: str) -> None:
        match line[:2]:
            case "GE":
                self._assign(*_assigned(line))
            case "SE":
                self._score(MINE, self.put)
                self._score(THEIRS, line)
            case "RO":
                _, a, b = line.split(" ")
                self.bundles = {"A": a, "B": b}
                self.bytes[_BUNDLES] = _faces(a) + _faces(b)
                self._enter(BIDDING, self.round + 1)
            case "SC":
                self._enter(SCORING, self.round if self.phase == BIDDING else ROUNDS)  # the last round has no auction
            case "FI":
                self._enter(OVER, self.round)

    def _enter(self, phase: tuple[int, int], round_number: int) -> None:
        self.phase, self.round = phase, round_number
        _HEAD.pack_into(self.bytes, 0, round_number, *phase, *self.totals, *self.bids, *self.basic, *self.last)

    def _assign(self, got: str, left: str, theirs: Bid) -> None:
        mine, bundles = self.bid, self.bundles
        self.bytes[_BUNDLES] = _NO_BUNDLES
        numbers = self.numbers
        numbers += _gained(MINE, bundles[got])
        numbers += _gained(THEIRS, bundles[left])
        first, second = adjustment(mine, got) / THOUSAND, adjustment(theirs, left) / THOUSAND
        bids, totals = self.bids, self.totals
        self.bids = [bids[MINE] + first, bids[THEIRS] + second]
        self.totals = [totals[MINE] + first, totals[THEIRS] + second]
        wanted, also = mine.target == "A", theirs.target == "A"
        self.last = wanted, mine.amount / THOUSAND, got == "A", also, theirs.amount / THOUSAND, left == "A"

    def _score(self, who: int, line: str) -> None:
        place, change, points, basic = _scored(who, line)
        self.numbers += change
        self.totals[who] += points
        if basic:
            before = self.basic[who]
            self.basic[who] = before + basic
            if before < BONUS_THRESHOLD / THOUSAND <= before + basic:
                self.totals[who] += BONUS / THOUSAND
        if who == MINE:
            self.free[place] = False

    def reply(self, line: str) -> None:
        if self.phase == SCORING:
            self.put = line
        else:
            self.bid = _bid_of(line) or self.bid

    def line(self, action: int) -> str:
        return LINES[action]

    def mask(self) -> Mask:
        if self.phase == BIDDING:
            return ALL_BIDS.copy()
        fives = _choices(bytes(self.bytes[_HAND]))
        parts = [NO_BID_LINE, *[fives if free else NO_FIVE for free in self.free]]
        return np.frombuffer(bytearray().join(parts), np.int8)


VIEW = _YachtView
