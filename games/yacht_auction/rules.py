"""Yacht Auction: two players, thirteen rounds of bidding for dice and scoring them.

The sources are the rules text "Game Rules (Concise, Model-Ready)" and our rulings on it, cited as C-* and Y-*;
games/yacht_auction/protocol.md explains both to bot authors. Comments name the text's headings where they are
implemented.

A step is a barrier, and notices wait for the next prompt: the GETs of an auction are sent before the next SCORE or
ROLL, the SETs of a scoring before the next ROLL, SCORE or FINISH. So a match is 26 exchanges, 25 of them prompts to
both seats at once: READY, twelve times ROLL, twelve times SCORE.

Dice are strings of the characters 1 to 6, as in the protocol; converting them to numbers would gain nothing.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, Event, Message, Points, Reply, Result, Seat, Step, made
from deadheat.engine.games.duel import SEATS, Duel
from deadheat.engine.games.parsing import expect, illegal, malformed, number

ROUNDS = 13  # "Overview"
FIRST_SCORING = 2  # round 1 has no Scoring phase
LAST_BIDDING = 12  # round 13 has no Bidding phase
DICE = 5  # in a bundle, and in a scoring
MAX_BID = 100_000

TURN_LIMIT_NS = 500 * NS_PER_MS  # ROLL and SCORE

T = TypeVar("T")


# Scoring Phase --------------------------------------------------------------------------------------------------


def _sum(dice: str) -> int:
    return 1000 * sum(map(int, dice))


def _basic(face: str) -> Callable[[str], int]:
    return lambda dice: 1000 * int(face) * dice.count(face)


def _four_of_a_kind(dice: str) -> int:
    return _sum(dice) if any(dice.count(face) >= 4 for face in "123456") else 0


def _full_house(dice: str) -> int:
    """Score three of one face and two of another; five of one face are both (Y-01)."""
    return _sum(dice) if {dice.count(face) for face in dice} in ({2, 3}, {5}) else 0


def _small_straight(dice: str) -> int:
    faces = "".join(sorted(set(dice)))
    return 15_000 if any(run in faces for run in ("1234", "2345", "3456")) else 0


def _large_straight(dice: str) -> int:
    return 30_000 if "".join(sorted(dice)) in ("12345", "23456") else 0


def _yacht(dice: str) -> int:
    return 50_000 if dice == DICE * dice[0] else 0


BASIC: Mapping[str, Callable[[str], int]] = {
    "ONE": _basic("1"),
    "TWO": _basic("2"),
    "THREE": _basic("3"),
    "FOUR": _basic("4"),
    "FIVE": _basic("5"),
    "SIX": _basic("6"),
}
COMBINATION: Mapping[str, Callable[[str], int]] = {
    "CHOICE": _sum,
    "FOUR_OF_A_KIND": _four_of_a_kind,
    "FULL_HOUSE": _full_house,
    "SMALL_STRAIGHT": _small_straight,
    "LARGE_STRAIGHT": _large_straight,
    "YACHT": _yacht,
}
CATEGORIES: Mapping[str, Callable[[str], int]] = {**BASIC, **COMBINATION}
"""The value of five dice in each category."""

BONUS_THRESHOLD = 63_000
BONUS = 35_000


@dataclass(slots=True)
class Player:
    """A seat's dice, sheet and total during a match."""

    dice: str = ""
    scores: dict[str, int] = field(default_factory=dict)  # by category, each used at most once
    bids: int = 0  # net bidding adjustments

    def score(self, category: str, dice: str) -> int:
        """Use `category` for five of the held dice; the others carry over. Zero points are allowed (Y-09)."""
        left = self.dice
        for die in dice:
            left = left.replace(die, "", 1)
        self.dice = left
        points = self.scores[category] = CATEGORIES[category](dice)
        return points

    @property
    def basic(self) -> int:
        """The sum of the basic categories, without the bonus."""
        return sum(points for category, points in self.scores.items() if category in BASIC)

    @property
    def bonus(self) -> int:
        """The bonus, earned by the basic categories alone (Y-04)."""
        return BONUS if self.basic >= BONUS_THRESHOLD else 0

    @property
    def combination(self) -> int:
        """The sum of the combination categories."""
        return sum(points for category, points in self.scores.items() if category in COMBINATION)

    @property
    def total(self) -> int:
        """The total by section "Final Score & Winner"; it may be negative (Y-08)."""
        return self.basic + self.bonus + self.combination + self.bids


# Bidding Phase --------------------------------------------------------------------------------------------------


class Bid(NamedTuple):
    """A reply to ROLL: the target bundle, A or B, and the bid."""

    target: str
    amount: int


def assign(bids: tuple[Bid, Bid], coin: Seat) -> tuple[str, str]:
    """Return the bundle that each seat receives (section "Assignment rules").

    `coin` is the seat that a tie of both target and bid favours, even at 0 against 0 (Y-12).
    """
    first, second = bids
    if first.target != second.target:
        return first.target, second.target
    won, left = first.target, "B" if first.target == "A" else "A"
    first_wins = coin == 0 if first.amount == second.amount else first.amount > second.amount
    return (won, left) if first_wins else (left, won)


def adjustment(bid: Bid, received: str) -> int:
    """Return a bid's effect on its player's total (section "Bidding score effect").

    A player who gets the target pays their own bid, contested or not (Y-02). A player who does not gains their own bid,
    not the other's (Y-03). The present score need not cover a bid (Y-10).
    """
    return -bid.amount if received == bid.target else bid.amount


# Replies (I/O Protocol) -----------------------------------------------------------------------------------------


class Put(NamedTuple):
    """A reply to SCORE, with the dice in the player's own order, which SET repeats (Y-05)."""

    category: str
    dice: str


def read_bid(line: str, _player: Player) -> Bid:
    """Read the bundle and the bid of a line ``BID g x``."""
    target, amount = expect(line, "BID", 2)
    if target not in ("A", "B"):
        raise malformed(f"bundle {target[:20]!r} is neither A nor B")
    bid = made(Bid, (target, number(amount)))
    if bid.amount > MAX_BID:
        raise illegal(f"a bid of {bid.amount}, over {MAX_BID}")
    return bid


def read_put(line: str, player: Player) -> Put:
    """Read ``PUT c d1d2d3d4d5``: any five of the held dice, in any order (Y-05)."""
    category, dice = expect(line, "PUT", 2)
    if category not in CATEGORIES:
        raise malformed(f"no category is called {category[:20]!r}")
    if len(dice) != DICE or dice.strip("123456"):
        raise malformed(f"{dice[:20]!r} is not {DICE} dice")
    if category in player.scores:
        raise illegal(f"category {category} was used before")
    hand = player.dice
    for face in set(dice):
        if dice.count(face) > hand.count(face):
            raise illegal(f"dice {dice} are not among those held, {hand}")
    return made(Put, (category, dice))


# The match ------------------------------------------------------------------------------------------------------


class YachtAuction:
    """The rules, as `engine.core.Game`."""

    name = "yacht-auction"
    title = "Yacht Auction"
    rules_version = 1
    seats = range(2, 3)
    commands = ("READY", "ROLL", "SCORE")

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        assert seats in self.seats
        return _Match(chance).play()


class _Match(Duel):
    """One match: chance, the players, and the pending messages of `Duel`."""

    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self.chance = chance
        self.players = (Player(), Player())

    def rounds(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Play the rounds of section "Overview"."""
        for round_number in range(1, ROUNDS + 1):
            if round_number <= LAST_BIDDING:
                yield from self.bidding(round_number)
            if round_number >= FIRST_SCORING:
                yield from self.scoring(round_number)

    def bidding(self, round_number: int) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Run section "Bidding Phase". The coin is always drawn, so that no bid changes the dice of a seed (Y-14)."""
        bundles = {name: "".join(map(str, self.chance.dice(DICE))) for name in "AB"}
        coin: Seat = self.chance.below(2)
        self.events.append({"type": "roll", "round": round_number, "a": bundles["A"], "b": bundles["B"]})
        bids = yield from self.ask(f"ROLL {bundles['A']} {bundles['B']}", read_bid)
        received = assign(bids, coin)
        changes = [adjustment(bids[seat], received[seat]) for seat in SEATS]
        for seat, player in enumerate(self.players):
            other = bids[1 - seat]
            player.dice += bundles[received[seat]]
            player.bids += changes[seat]
            self.notices.append(made(Message, (seat, f"GET {received[seat]} {other.target} {other.amount}", None)))
        self.events.append(
            {
                "type": "auction",
                "round": round_number,
                "targets": [bid.target for bid in bids],
                "bids": [bid.amount for bid in bids],
                "received": list(received),
                "coin": bids[0] == bids[1],
                "changes": changes,
            }
        )

    def scoring(self, round_number: int) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Run section "Scoring Phase": the scored dice are used up, and the others carry over."""
        puts = yield from self.ask("SCORE", read_put)
        for seat, put in enumerate(puts):
            points = self.players[seat].score(put.category, put.dice)
            self.notices.append(made(Message, (1 - seat, f"SET {put.category} {put.dice}", None)))
            self.events.append(
                {
                    "type": "score",
                    "round": round_number,
                    "seat": seat,
                    "category": put.category,
                    "dice": put.dice,
                    "points": points,
                }
            )

    def ask(self, line: str, read: Callable[[str, Player], T]) -> Generator[Step, Mapping[Seat, Reply], tuple[T, T]]:
        """Ask both seats the same question."""
        replies = yield self.tell([made(Message, (seat, line, TURN_LIMIT_NS)) for seat in SEATS])
        command = line.partition(" ")[0]
        first, second = self.answers(command, replies, lambda seat, reply: read(reply, self.players[seat]))
        return first, second

    def points(self) -> tuple[Points, Points]:
        """Return the points by section "Final Score & Winner"."""
        first, second = self.players
        return first.total, second.total

    def final(self) -> Event:
        """Return the score sheets of both players."""
        sheet = ("basic", "bonus", "combination", "bids", "total")
        return {"type": "final", **{name: [getattr(player, name) for player in self.players] for name in sheet}}
