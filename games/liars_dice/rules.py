"""Liar's Dice: two to six players bid on the dice under all cups until one challenges the bid.

The sources are the rules text "Liar's Dice" (id ``liars-dice``) and our rulings on it, cited as C-* and L-*;
games/liars_dice/protocol.md explains both to authors. Comments name the text's headings where they are implemented.

The text has actions and a view, but no lines: those are ours. All seats get READY at once, then one seat at a time gets
its view. Public events (a challenge, an elimination, a resignation) are sent to all before the next view. A fault is
sent as a resignation (C-14, L-15). Players who are out keep receiving lines until FINISH, except after a fault, because
that program may be dead.

Lines are written here and not by a JSON encoder, because they are most of a match's work: an encoder would take 4.6 us
per turn, while the rules now take 5 in all. The tests compare the lines with an encoder's.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Annotated, NamedTuple

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, READY_LIMIT_NS, Fault, Message, Reply, Result, Seat, Step, made
from deadheat.engine.games.duel import Pending
from deadheat.engine.games.parsing import Refused, expect, illegal, integer, json_object, line_of, malformed
from deadheat.engine.games.variants import Parameter

DICE = 5  # "Setup"
FACES = range(1, 7)
WILD = 1  # "Wild 1s"
QUANTITIES = range(1, 31)  # "Action Format"; a quantity above the dice in play is legal (L-03)

TURN_MS = 500

IDS = ("P1", "P2", "P3", "P4", "P5", "P6")
"""The text's agent IDs, by seat."""


# Bids -----------------------------------------------------------------------------------------------------------


class Bid(NamedTuple):
    """The claim that at least `quantity` of all dice count as `face`."""

    quantity: int
    face: int


def _height(bid: Bid) -> tuple[int, int]:
    """Return the position of a bid in one order of all bids (section "Raising Rules", L-01).

    n ones rank above 2n sixes and below 2n + 1 of any other face. This means both that ones need half the quantity,
    rounded up, and that another face needs twice the number of ones plus one.
    """
    return (2 * bid.quantity, 7) if bid.face == WILD else bid


BIDS = sorted((Bid(quantity, face) for quantity in QUANTITIES for face in FACES), key=_height)
"""All bids, each higher than the ones before it."""

HEIGHT: Mapping[Bid, int] = {bid: height for height, bid in enumerate(BIDS)}


def count(hands: Iterable[Sequence[int]], face: int) -> int:
    """Count the dice that count as `face` (section "Wild 1s"). For a bid on ones, only ones count."""
    total = 0
    for hand in hands:
        total += hand.count(WILD)
        if face != WILD:
            total += hand.count(face)
    return total


# Replies ("Action Format") --------------------------------------------------------------------------------------


class Move(Enum):
    """A turn that is not a bid."""

    CHALLENGE = "challenge"
    RESIGN = "resign"


@lru_cache(maxsize=1024)  # few lines occur: 180 bids and two moves, as a bot spells them
def read_action(line: str) -> Bid | Move:
    """Read the action of a reply by its format alone. Unknown fields are ignored (L-11).

    Raises:
        Refused: malformed.
    """
    fields = json_object(line)
    match fields.get("type"):
        case "bid":
            return Bid(integer(fields, "quantity"), integer(fields, "faceValue"))
        case "challenge":
            return Move.CHALLENGE
        case "resign":
            return Move.RESIGN
    raise malformed("the type is none of bid, challenge, resign")


def check_action(action: Bid | Move, current: Bid | None) -> None:
    """Check that the action is legal (section "How to Play"). `current` is the bid to beat; without one, any bid opens
    (L-02).

    Raises:
        Refused: illegal.
    """
    if type(action) is Bid:
        height = HEIGHT.get(action)
        if height is None:
            raise illegal(f"there is no bid of {action.quantity} dice of face {action.face}")
        if current is not None and height <= HEIGHT[current]:
            raise illegal(f"{_words(action)} is not higher than {_words(current)}")
    elif current is None and action is Move.CHALLENGE:
        raise illegal("a challenge, and there is no bid")  # a challenge without a bid before it


def _words(bid: Bid) -> str:
    return f"{bid.quantity} of face {bid.face}"


# Parts of lines, in JSON

_BIDS: Sequence[Mapping[Bid, str]] = [
    {bid: f'{{"playerId":"{player}","quantity":{bid.quantity},"faceValue":{bid.face}}}' for bid in BIDS}
    for player in IDS
]
"""Each seat's bids, as views and challenges show them."""

_OPPONENTS = [[f'{{"id":"{player}","diceCount":{count}}}' for count in range(DICE + 1)] for player in IDS]
"""An opponent by seat and remaining dice, as views show it."""


@lru_cache(maxsize=16 * 1024)
def _dice(hand: tuple[int, ...]) -> str:
    """Return a hand in JSON; there are fewer than ten thousand."""
    return f"[{','.join(map(str, hand))}]"


# The match ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LiarsDice:
    """The rules, as `engine.core.Game`."""

    name = "liars-dice"
    title = "Liar's Dice"
    rules_version = 1
    seats = range(2, len(IDS) + 1)
    commands = ("READY", "TURN")

    dice: Annotated[int, Parameter(1, DICE, "Dice of each player at the beginning")] = DICE
    turn_ms: Annotated[int, Parameter(50, 5000, "Milliseconds for an answer")] = TURN_MS

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        assert seats in self.seats
        return _Match(seats, chance, self).play()


class _Match(Pending):
    """One match: the active seats, the current round, and decisions that are not yet sent."""

    def __init__(self, seats: int, chance: Chance, rules: LiarsDice) -> None:
        super().__init__()
        self.chance = chance
        self.limit_ns = rules.turn_ms * NS_PER_MS
        self.seats = range(seats)
        self.active = list(self.seats)  # in order of seats
        self.out: list[Seat] = []  # in the order of elimination
        self.counts = [rules.dice] * seats  # dice left
        self.faults: dict[Seat, Fault] = {}
        self.round_number = 0
        self.told = list(self.seats)  # the seats without a fault
        self.hands: list[list[int]] = [[] for _ in self.seats]  # by seat; empty once it is out
        self.shown = ["[]"] * seats  # the hands in JSON
        self.bidder: Seat = 0
        self.current: Bid | None = None
        self.bids: list[str] = []  # this round's bids, in JSON
        self.known = [0] * seats  # by seat: how many bids there were after its own last one
        self.frames: list[tuple[str, str] | None] = [None] * seats  # by seat: its view before and after the bids

    def play(self) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """Play rounds until one player is left (section "How to Play")."""
        yield from self.ready()
        if len(self.faults) == len(self.seats):
            return (yield from self.finish((1,) * len(self.seats)))  # no seat was ready: nobody wins (C-01)
        for seat in self.faults:
            self.leave(seat)
        opener: Seat = 0  # L-07
        while len(self.active) > 1:
            opener = yield from self.round(self.at_or_after(opener))
        places = [*self.active, *reversed(self.out)]
        return (yield from self.finish(tuple(places.index(seat) + 1 for seat in self.seats)))  # L-08

    def ready(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Ask all players for READY, and decide only after reading all replies (C-01)."""
        replies = yield Step(tuple(Message(seat, "READY", READY_LIMIT_NS) for seat in self.seats))
        for seat in self.seats:
            try:
                expect(line_of(replies[seat]), "OK", 0)
            except Refused as refused:
                self.fail(seat, "READY", refused)

    def finish(self, ranks: tuple[int, ...]) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """Finish the match. Points are the remaining dice, all the winner's; after a fault they would mean little."""
        self.events.append({"type": "final", "ranks": list(ranks), "counts": list(self.counts)})
        yield self.tell([Message(seat, "FINISH") for seat in self.told])
        return Result(ranks, None if self.faults else tuple(self.counts), self.faults)

    def round(self, opener: Seat) -> Generator[Step, Mapping[Seat, Reply], Seat]:
        """Play a round (section "Rounds"). Return the seat that opens the next one if it is still active (L-07)."""
        self.deal(opener)
        turn = opener
        while len(self.active) > 1:
            replies = yield self.tell((made(Message, (turn, self.view(turn), self.limit_ns)),))
            action = self.decide(turn, replies[turn])
            if type(action) is Bid:
                self.bid(turn, action)
            elif action is Move.RESIGN:
                self.leave(turn)
            else:
                return self.challenge(turn)
            turn = self.at_or_after(turn + 1)
        return turn

    def deal(self, opener: Seat) -> None:
        """Roll all dice (section "Setup"). They are drawn seat by seat."""
        self.round_number += 1
        number = self.round_number
        self.current = None
        self.bids.clear()
        self.known = [0] * len(self.seats)
        self.frames = [None] * len(self.seats)
        self.events.append({"type": "round", "round": number, "opener": opener, "counts": list(self.counts)})
        for seat in self.active:
            dice = self.chance.dice(self.counts[seat])
            hand = self.hands[seat] = list(dice)
            self.shown[seat] = _dice(dice)
            self.events.append({"type": "hand", "private": True, "round": number, "seat": seat, "dice": hand})

    def decide(self, seat: Seat, reply: Reply) -> Bid | Move:
        """Interpret a reply. A refused one counts as a resignation and keeps its fault (L-15)."""
        try:
            action = read_action(reply.line if reply.line is not None else line_of(reply))
            check_action(action, self.current)
        except Refused as refused:
            self.fail(seat, "TURN", refused)
            return Move.RESIGN
        return action

    def bid(self, seat: Seat, bid: Bid) -> None:
        """Make this bid the current one."""
        quantity, face = bid
        self.bidder, self.current = seat, bid
        self.bids.append(_BIDS[seat][bid])
        self.known[seat] = len(self.bids)
        self.events.append(
            {"type": "bid", "round": self.round_number, "seat": seat, "quantity": quantity, "face": face}
        )

    def challenge(self, challenger: Seat) -> Seat:
        """Show and count all dice; an exactly equal count meets the bid (L-17). Return the loser."""
        assert self.current is not None
        quantity, face = self.current
        total = count(self.hands, face)
        loser = challenger if total >= quantity else self.bidder
        self.counts[loser] -= 1  # each challenge costs the loser one die, and nobody else (L-18)
        hands = self.shown
        shown = ",".join([f'"{IDS[seat]}":{hands[seat]}' for seat in self.active])
        self.tell_all(
            f'{{"event":"challenge","round":{self.round_number},"challenger":"{IDS[challenger]}",'
            f'"bid":{self.bids[-1]},"dice":{{{shown}}},"count":{total},"loser":"{IDS[loser]}"}}'
        )
        self.events.append(
            {
                "type": "challenge",
                "round": self.round_number,
                "seat": challenger,
                "bidder": self.bidder,
                "quantity": quantity,
                "face": face,
                "hands": list(self.hands),
                "count": total,
                "loser": loser,
            }
        )
        if self.counts[loser] == 0:
            self.tell_all(f'{{"event":"elimination","round":{self.round_number},"playerId":"{IDS[loser]}"}}')
            self.eliminate(loser)
        return loser

    def leave(self, seat: Seat) -> None:
        """Remove a seat after a resignation or fault: its hand leaves the count; bid and round continue (L-05)."""
        self.tell_all(f'{{"event":"resignation","round":{self.round_number},"playerId":"{IDS[seat]}"}}')
        if seat not in self.faults:
            self.events.append({"type": "resignation", "round": self.round_number, "seat": seat})
        self.counts[seat] = 0
        self.frames = [None] * len(self.seats)
        self.eliminate(seat)

    def eliminate(self, seat: Seat) -> None:
        """Place the seat behind all seats that are still active (L-08)."""
        self.events.append({"type": "elimination", "seat": seat, "place": len(self.active)})
        self.active.remove(seat)
        self.hands[seat] = []
        self.out.append(seat)

    def fail(self, seat: Seat, command: str, refused: Refused) -> None:
        """Record a fault. Nothing is sent to this seat any more."""
        self.faults[seat] = refused.fault
        self.told.remove(seat)
        self.events.append(
            {"type": "fault", "seat": seat, "fault": refused.fault.value, "command": command, "why": refused.why}
        )

    def at_or_after(self, seat: Seat) -> Seat:
        """Return the first active seat from this one on. The lowest follows the highest."""
        for other in self.active:
            if other >= seat:
                return other
        return self.active[0]

    def view(self, seat: Seat) -> str:
        """Return the fields of section "Agent View", and no others. `recentBids` are other players' bids since the
        seat's own (L-06).
        """
        frame = self.frames[seat]
        if frame is None:
            frame = self.frames[seat] = self.frame(seat)
        before, after = frame
        bids = self.bids
        if not bids:
            return f'{before}"currentBid":null,"recentBids":[],{after}'
        return f'{before}"currentBid":{bids[-1]},"recentBids":[{",".join(bids[self.known[seat] :])}],{after}'

    def frame(self, seat: Seat) -> tuple[str, str]:
        """Return the part of the views that is constant while nobody leaves; opponents are the active seats (L-19)."""
        counts = self.counts
        opponents = [_OPPONENTS[other][counts[other]] for other in self.active if other != seat]
        you, dice, total = IDS[seat], self.shown[seat], sum(counts)
        return (
            f'{{"you":"{you}","myDice":{dice},"opponents":[{",".join(opponents)}],',
            f'"totalDiceInPlay":{total},"round":{self.round_number},"isYourTurn":true,"currentPlayer":"{you}"}}',
        )

    def tell_all(self, line: str) -> None:
        """Add a notice to every seat without a fault."""
        self.notices += [made(Message, (seat, line, None)) for seat in self.told]
