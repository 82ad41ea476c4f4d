#!/usr/bin/env python3
"""A Liar's Dice bot that knows the odds, listens to the bids, and lies now and then.

*Odds.* A die that we do not see counts as a face with a chance of 1/3 (ones are wild), of 1/6 if the face is the ones;
so what a player holds of a face is binomially distributed.

*Listening.* Whoever has bid a face is likelier to hold it: each number of dice that the player may hold is weighed with
the chance that the bid was true in that player's eyes (Bayes), plus a little, because players lie.

*Choosing.* A challenge keeps our die if the bid is false. The less the next player believes our bid, given what it may
hold and has heard, the likelier it is to challenge; then the bid must be true. If the next player does not challenge,
we are safe for the moment. We choose the best move, now and then as if we held other dice, so that our bids do not give
ours away. The rules are in games/liars_dice/protocol.md. The bot also advises (see deadheat/engine/advice.py): ADVISE
seeds its draws, so that the same question gets the same answer. PLAYED changes nothing, because the bot remembers only
the bids of others.
"""

import functools
import json
import math
import random
import sys

# Found by playing many variants against the other bots here.
LIES = 0.05  # the weight of a bid that was made whatever the bidder held
TRUST = 0.2  # bids are that much truer than the odds say: players choose what they bid
CALL = 0.6  # the next player calls half of the bids that it believes this much, ...
SOFT = 0.6  # ... all that it believes less by half of this, none that it believes more by half of this
SAFE = 0.75  # the chance to keep our die in this round after a bid that was not called
BLUFF = 0.05  # how often we bid as if our dice were others

CHANCE = [0, 1 / 6] + 5 * [1 / 3]  # that a die counts as a face


def height(bid):
    """Order the bids: n ones lie between 2n sixes and 2n + 1 of anything else."""
    quantity, face = bid
    return (2 * quantity, 7) if face == 1 else (quantity, face)


BIDS = sorted(((quantity, face) for quantity in range(1, 31) for face in range(1, 7)), key=height)


@functools.lru_cache(maxsize=None)
def binomial(dice, face):
    """Return the chance of each number of dice that count as a face."""
    chance = CHANCE[face]
    return [math.comb(dice, n) * chance**n * (1 - chance) ** (dice - n) for n in range(dice + 1)]


@functools.lru_cache(maxsize=None)
def holding(dice, claim, face, total):
    """Return the same for the dice of a player whose highest bid of that face was `claim`, 0 if it made none."""
    weights = binomial(dice, face)
    if claim:
        others = binomial(total - dice, face)
        weights = [weight * (LIES + sum(others[max(0, claim - n) :])) for n, weight in enumerate(weights)]
    return [weight / sum(weights) for weight in weights]


@functools.lru_cache(maxsize=None)
def at_least(need, players, face, total):
    """Return the chance that these players, pairs of dice and claim, hold at least so many of a face together."""
    if need <= 0:
        return 1
    if not players:
        return 0
    (dice, claim), *rest = players
    return sum(
        chance * at_least(need - n, tuple(rest), face, total)
        for n, chance in enumerate(holding(dice, claim, face, total))
    )


class Bot:
    """One match: remembers the bids of the round."""

    def __init__(self, seed=None):
        self.random = random.Random(seed)
        self.round = 0
        self.claims = {}  # the highest quantity that another player has bid of a face

    def answer(self, line):
        """Return the line to print, or None if the line expects no reply."""
        if line.startswith("READY"):
            return "OK"
        if line.startswith("ADVISE "):
            self.random.seed(int(line.split()[1]))
        if line.startswith(("ADVISE ", "PLAYED ")):
            return None
        view = json.loads(line)
        if "event" in view:
            return None
        if view["round"] != self.round:
            self.round, self.claims = view["round"], {}
        for bid in view["recentBids"]:
            self.claims[bid["playerId"], bid["faceValue"]] = bid["quantity"]
        return json.dumps(self.move(view))

    def move(self, view):
        """Choose a move, see above."""
        you, dice, total = view["you"], view["myDice"], view["totalDiceInPlay"]
        ids = [player["id"] for player in view["opponents"]]
        counts = {player["id"]: player["diceCount"] for player in view["opponents"]}
        ids.sort(key=lambda other: (other < you, other))  # the next to move first
        current, higher = None, BIDS
        if view["currentBid"] is not None:
            current = (view["currentBid"]["quantity"], view["currentBid"]["faceValue"])
            higher = BIDS[BIDS.index(current) + 1 :]
        pretended = self.random.choices(range(1, 7), k=len(dice)) if self.random.random() < BLUFF else dice
        others = {
            face: tuple((counts[other], self.claims.get((other, face), 0)) for other in ids) for face in range(1, 7)
        }
        most = len(dice) + total // 2  # who bids more is called
        values = [(self.worth(bid, others[bid[1]], pretended, total), bid) for bid in higher if bid[0] <= most]
        value, bid = max(values, default=(-1, None))
        if current is not None:
            quantity, face = current
            need = quantity - sum(die in (1, face) for die in dice)
            if 1 - TRUST - at_least(need, others[face], face, total) > value:
                return {"type": "challenge"}
        return {"type": "bid", "quantity": bid[0], "faceValue": bid[1]}

    def worth(self, bid, players, dice, total):
        """Return the chance to keep our die with a bid; the first of the players is the next to move."""
        quantity, face = bid
        mine = sum(die in (1, face) for die in dice)
        (count, claim), *rest = players
        rest = tuple(rest)
        heard = ((len(dice), quantity), *rest)  # what the next player knows of all others, with this bid
        value = 0
        for n, chance in enumerate(holding(count, claim, face, total)):
            called = min(1, max(0, (CALL - at_least(quantity - n, heard, face, total)) / SOFT + 0.5))
            value += chance * (called * at_least(quantity - mine - n, rest, face, total) + (1 - called) * SAFE)
        return value


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
