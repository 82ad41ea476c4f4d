"""Simulated players and set tables of Liar's Dice, for its tests."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Any

from deadheat.engine.chance import Chance
from deadheat.engine.core import Event, Fault, Message, Reply, Result, Seat
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.games.liars_dice.rules import LiarsDice
from tests.engine.players import seed

GAME = LiarsDice()

Claim = tuple[int, int]
"""A quantity and a face."""


def may_follow(new: Claim, old: Claim) -> bool:
    """Return whether the section "Raising Rules", rule by rule, allows the bid; ones over ones follow L-01."""
    (quantity, face), (before, face_before) = new, old
    if face != 1 and face_before != 1:
        return quantity > before or (quantity == before and face > face_before)
    if face == 1 and face_before != 1:
        return quantity >= ceil(before / 2)
    if face != 1 and face_before == 1:
        return quantity >= before * 2 + 1
    return quantity > before


CLAIMS = [(quantity, face) for quantity in range(1, 31) for face in range(1, 7)]


class Legal:
    """Plays random legal moves: most bids are low, one in eight is any; it resigns one turn in `resigns`."""

    def __init__(self, number: int, slow_ns: int = 0, resigns: int = 0) -> None:
        self.chance = Chance(b"a legal liar" + seed(number))
        self.slow_ns = slow_ns
        self.resigns = resigns

    def __call__(self, message: Message) -> Answer | None:
        if message.limit_ns is None:
            return None
        line = "OK" if message.line == "READY" else json.dumps(self.move(json.loads(message.line)))
        return Answer(line, self.slow_ns * self.chance.below(101) // 100)

    def move(self, view: dict[str, Any]) -> dict[str, Any]:
        current = view["currentBid"]
        higher = [c for c in CLAIMS if current is None or may_follow(c, (current["quantity"], current["faceValue"]))]
        if self.resigns and self.chance.below(self.resigns) == 0:
            return {"type": "resign"}
        if not higher or (current is not None and self.chance.below(4) == 0):
            return {"type": "challenge"}
        quantity, face = self.chance.pick(higher if self.chance.below(8) == 0 else higher[:10])
        return {"type": "bid", "quantity": quantity, "faceValue": face}


def play(seats: int, number: int, **others: Player) -> Transcript:
    """Play a match of legal players and those given as ``p1``, ``p2``, ..."""
    players = [others.get(f"p{seat + 1}") or Legal(10 * number + seat) for seat in range(seats)]
    return run_match(GAME, seats, seed(number), MemoryTransport(players))


class Loaded(Chance):
    """Dice that come up as given."""

    def __init__(self, dice: str) -> None:
        super().__init__(b"")
        self.told: Iterator[str] = chain(dice.replace(" ", ""))

    def dice(self, count: int) -> tuple[int, ...]:
        return tuple([int(next(self.told)) for _ in range(count)])


@dataclass(frozen=True)
class Table:
    """The lines and the outcome of a match with loaded dice."""

    heard: Sequence[list[str]]  # by seat, every line
    events: Sequence[Event]
    result: Result | None  # None if the turns ended first
    next_view: dict[str, Any] | None  # the view that waits for an answer then

    @property
    def view(self) -> dict[str, Any]:
        assert self.next_view is not None
        return self.next_view

    @property
    def ended(self) -> Result:
        assert self.result is not None
        return self.result

    def notices(self, seat: Seat) -> list[dict[str, Any]]:
        """Return the lines with an event that a seat has heard."""
        return [parsed for line in self.heard[seat] if line.startswith("{") and "event" in (parsed := json.loads(line))]

    def views(self, seat: Seat) -> list[dict[str, Any]]:
        return [view for line in self.heard[seat] if line.startswith("{") and "event" not in (view := json.loads(line))]


SHORT = {"challenge": '{"type":"challenge"}', "resign": '{"type":"resign"}'}


def play_table(dice: str, turns: Sequence[str], ready: Sequence[str | Fault] | int = 2) -> Table:
    """Play turns like ``P1 3x4``, ``P2 challenge`` with given dice, listed by round and in it by seat.

    A turn may also name a fault or contain a reply as it stands. `ready` are the replies to READY, or how many seats
    say OK.
    """
    replies_to_ready: Sequence[str | Fault] = ["OK"] * ready if isinstance(ready, int) else ready
    seats = len(replies_to_ready)
    heard: list[list[str]] = [[] for _ in range(seats)]
    events: list[Event] = []
    waiting = list(turns)
    play = GAME.play(seats, Loaded(dice))
    step = next(play)
    try:
        while True:
            for message in step.messages:
                heard[message.seat].append(message.line)
            events += step.events
            prompted = [message for message in step.messages if message.limit_ns is not None]
            if len(prompted) > 1:
                replies = {seat: _reply(answer) for seat, answer in enumerate(replies_to_ready)}
            elif prompted and not waiting:
                return Table(heard, events, None, json.loads(prompted[0].line))
            elif prompted:
                player, what = waiting.pop(0).split(" ", 1)
                assert player == f"P{prompted[0].seat + 1}", (
                    f"it is the turn of seat {prompted[0].seat}, not of {player}"
                )
                replies = {prompted[0].seat: _reply(_spell(what))}
            else:
                replies = {}
            step = play.send(replies)
    except StopIteration as stop:
        assert waiting == []
        return Table(heard, events, stop.value, None)


def _spell(what: str) -> str | Fault:
    quantity, times, face = what.partition("x")
    if times and quantity.isdigit():
        return f'{{"type":"bid","quantity":{quantity},"faceValue":{face}}}'
    return Fault(what) if what in list(Fault) else SHORT.get(what, what)


def _reply(answer: str | Fault) -> Reply:
    return Reply(None, 0, answer) if isinstance(answer, Fault) else Reply(answer, 0)
