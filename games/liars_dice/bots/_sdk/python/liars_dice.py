"""What every Liar's Dice bot needs: reads the referee's lines, keeps what was seen, and asks your bot.

Write a subclass of `Bot` with `on_turn`, and call `run` of one. This file needs the standard library only, belongs into
your upload, and is yours to change. The rules are in protocol.md.
"""

import json
import sys
from collections import namedtuple

Bid = namedtuple("Bid", "quantity face")
CHALLENGE, RESIGN = "challenge", "resign"
ONES = 1  # they are wild


def height(bid):
    """Order the bids: n ones lie between 2n sixes and 2n + 1 of anything else."""
    return (2 * bid.quantity, 7) if bid.face == ONES else (bid.quantity, bid.face)


BIDS = sorted((Bid(quantity, face) for quantity in range(1, 31) for face in range(1, 7)), key=height)
"""All bids, from the lowest."""


def matching(dice, face):
    """Count the dice that a bid on this face counts: ones are wild, but for a bid on ones only ones count."""
    return sum(die in (ONES, face) for die in dice)


class Bot:
    """One match. Players are "P1" to "P6" by seat."""

    def __init__(self):
        self.me = ""  # our own player, from our first turn on
        self.round = 0
        self.dice = []  # our own
        self.counts = {}  # the dice left, by player; players who are out are missing
        self.current = None  # the bid to beat, or None if we open the round
        self.bidder = None  # the player who made it
        self.bids = []  # of this round, as far as known: (player, bid), ours too

    @property
    def in_play(self):
        """The number of all dice."""
        return sum(self.counts.values())

    @property
    def higher(self):
        """The bids that are allowed, from the lowest."""
        return BIDS if self.current is None else BIDS[BIDS.index(self.current) + 1 :]

    def likely(self, face):
        """Return how many dice a bid on this face should count: ours, and the share of the others' that is usual."""
        return matching(self.dice, face) + (self.in_play - len(self.dice)) / (6 if face == ONES else 3)

    def on_turn(self):
        """Return a `Bid` that is higher than `current`, CHALLENGE if there is one, or RESIGN."""
        raise NotImplementedError

    def on_ready(self):
        """Prepare; you have three seconds."""

    def on_challenge(self, challenger, bidder, bid, dice, count, loser):
        """Look at the end of a round: all `dice` by player, and how many counted."""

    def on_out(self, player):
        """Look at a player who has lost its last die, has resigned or has failed."""

    def answer(self, line):
        """Process a line. Return the one to write, or None if it expects no reply."""
        if line.startswith("READY"):
            self.on_ready()
            return "OK"
        seen = json.loads(line)
        if "event" not in seen:
            return self._turn(seen)
        if seen["event"] == "challenge":
            self.counts = {player: len(dice) - (player == seen["loser"]) for player, dice in seen["dice"].items()}
            bid, self.dice, self.bids, self.current, self.bidder = seen["bid"], [], [], None, None
            made = Bid(bid["quantity"], bid["faceValue"])
            self.on_challenge(seen["challenger"], bid["playerId"], made, seen["dice"], seen["count"], seen["loser"])
        else:
            self.counts.pop(seen["playerId"], None)
            self.on_out(seen["playerId"])
        return None

    def _turn(self, view):
        self.me, self.round, self.dice = view["you"], view["round"], view["myDice"]
        self.counts = {self.me: len(self.dice), **{each["id"]: each["diceCount"] for each in view["opponents"]}}
        self.bids += [(bid["playerId"], Bid(bid["quantity"], bid["faceValue"])) for bid in view["recentBids"]]
        current = view["currentBid"]
        self.current = current and Bid(current["quantity"], current["faceValue"])
        self.bidder = current and current["playerId"]
        action = self.on_turn()
        if not isinstance(action, tuple):
            return json.dumps({"type": action})
        self.current, self.bidder = Bid(*action), self.me
        self.bids.append((self.me, self.current))
        return json.dumps({"type": "bid", "quantity": action[0], "faceValue": action[1]})

    def run(self):
        """Talk to the referee until FINISH or the end of the input."""
        for line in sys.stdin:
            if line.startswith("FINISH"):
                break
            reply = self.answer(line)
            if reply is not None:
                print(reply, flush=True)  # without the flush the line may arrive too late
