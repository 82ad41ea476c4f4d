"""Liar's Dice for programs that learn.

Actions, in this order: the bids from the lowest to the highest (`games.liars_dice.rules.BIDS`), the challenge, and
resigning, which the rules allow at any turn.

Observations have six places for players, whatever their number: the seat's own is the first, and the others follow in
the order of play. A bid is given by its quantity and its face, 0 if there is none. The last challenge stays in the
observation until the next one.
"""

import json
from functools import lru_cache
from typing import Any

import numpy as np

from deadheat.engine.core import Game
from deadheat.engine.games.parsing import Refused
from deadheat.games.liars_dice.rules import (
    BIDS,
    DICE,
    FACES,
    IDS,
    QUANTITIES,
    Bid,
    LiarsDice,
    Move,
    check_action,
    read_action,
)
from deadheat.training.view import Layout, Mask, View

ACTIONS: tuple[Bid | Move, ...] = (*BIDS, Move.CHALLENGE, Move.RESIGN)
LINES = [
    f'{{"type":"bid","quantity":{action.quantity},"faceValue":{action.face}}}'
    if isinstance(action, Bid)
    else f'{{"type":"{action.value}"}}'
    for action in ACTIONS
]

PLAYERS = len(IDS)
MOST, HIGHEST = QUANTITIES[-1], FACES[-1]

LAYOUT = Layout(
    round=(1, 0, PLAYERS * DICE, "of the last line"),
    turn=(1, 0, 1, "1: this seat is asked"),
    dice=(HIGHEST, 0, DICE, "this seat's hand, by face, from a round's first turn to its challenge"),
    counts=(PLAYERS, 0, DICE, "dice left"),
    quantity=(1, 0, MOST, "of the bid to beat"),
    face=(1, 0, HIGHEST, "of the bid to beat"),
    bidder=(PLAYERS, 0, 1, "1 for the player who made it"),
    quantities=(PLAYERS, 0, MOST, "each player's last bid of this round"),
    faces=(PLAYERS, 0, HIGHEST, "each player's last bid of this round"),
    shown_quantity=(1, 0, MOST, "of the bid that was challenged last"),
    shown_face=(1, 0, HIGHEST, "of the bid that was challenged last"),
    shown_bidder=(PLAYERS, 0, 1, "1 for the player who made it"),
    challenger=(PLAYERS, 0, 1, "1 for the player who challenged it"),
    loser=(PLAYERS, 0, 1, "1 for the player who lost a die"),
    shown=(PLAYERS * HIGHEST, 0, DICE, "the hands shown then, by player and face"),
)
"""The fields of an observation."""

FIELDS = LAYOUT.fields


@lru_cache(maxsize=len(BIDS) + 1)
def _legal(current: Bid | None) -> Mask:
    """Return which actions the rules accept, with `current` as the bid to beat."""
    mask = np.ones(len(ACTIONS), np.int8)
    for place, action in enumerate(ACTIONS):
        try:
            check_action(action, current)
        except Refused:
            mask[place] = 0
    return mask


class LiarsView(View):
    """The knowledge of one seat of Liar's Dice; see the top of this file."""

    layout = LAYOUT
    start = LAYOUT.zeros()
    actions = len(ACTIONS)

    def __init__(self, seat: int, seats: int) -> None:
        super().__init__(seat, seats)
        self.current: Bid | None = None
        self.numbers[FIELDS["counts"]][:seats] = DICE

    def begin(self, rules: Game) -> None:
        if isinstance(rules, LiarsDice):
            self.numbers[FIELDS["counts"]][: self.seats] = rules.dice

    def hear(self, line: str) -> None:
        if not line.startswith("{"):
            return
        event = json.loads(line)
        self._set("round", 0, event["round"])
        if "event" not in event:
            self._turn(event)
        elif event["event"] == "challenge":
            self._challenge(event)
        else:
            self._set("counts", self._place(event["playerId"]), 0)

    def _turn(self, view: dict[str, Any]) -> None:
        self._set("turn", 0, 1)
        self.numbers[FIELDS["dice"]] = _faces(view["myDice"])
        self._set("counts", 0, len(view["myDice"]))
        for other in view["opponents"]:
            self._set("counts", self._place(other["id"]), other["diceCount"])
        for bid in view["recentBids"]:
            self._bid(self._place(bid["playerId"]), Bid(bid["quantity"], bid["faceValue"]))
        current = view["currentBid"]
        self.current = current and Bid(current["quantity"], current["faceValue"])

    def _challenge(self, event: dict[str, Any]) -> None:
        self._new_round()
        bid = event["bid"]
        self._set("shown_quantity", 0, bid["quantity"])
        self._set("shown_face", 0, bid["faceValue"])
        who_was = {"shown_bidder": bid["playerId"], "challenger": event["challenger"], "loser": event["loser"]}
        for field, who in who_was.items():
            self.numbers[FIELDS[field]] = 0
            self._set(field, self._place(who), 1)
        shown = self.numbers[FIELDS["shown"]].reshape(PLAYERS, HIGHEST)
        shown[:] = 0
        counts = self.numbers[FIELDS["counts"]]
        counts[:] = 0  # players who are out have no dice
        for who, dice in event["dice"].items():
            shown[self._place(who)] = _faces(dice)
            counts[self._place(who)] = len(dice) - (who == event["loser"])

    def _new_round(self) -> None:
        self.current = None
        for field in ("dice", "quantity", "face", "bidder", "quantities", "faces"):
            self.numbers[FIELDS[field]] = 0

    def _bid(self, place: int, bid: Bid) -> None:
        self._set("quantities", place, bid.quantity)
        self._set("faces", place, bid.face)
        self._set("quantity", 0, bid.quantity)
        self._set("face", 0, bid.face)
        self.numbers[FIELDS["bidder"]] = 0
        self._set("bidder", place, 1)

    def reply(self, line: str) -> None:
        self._set("turn", 0, 0)
        try:
            action = read_action(line)
            check_action(action, self.current)
        except Refused:
            return
        if isinstance(action, Bid):
            self._bid(0, action)

    def line(self, action: int) -> str:
        return LINES[action]

    def mask(self) -> Mask:
        return _legal(self.current).copy()

    def _place(self, name: str) -> int:
        return (IDS.index(name) - self.seat) % self.seats

    def _set(self, field: str, place: int, value: float) -> None:
        self.numbers[FIELDS[field].start + place] = value


def _faces(dice: list[int]) -> list[int]:
    return [dice.count(face) for face in FACES]


VIEW = LiarsView
