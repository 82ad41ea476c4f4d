"""A person's moves as forms: what a page offers for a prompt, and the line that its fields stand for.

An offer holds what is legal by the rules, so that no page offers anything else: the least quantity of a bid on each
face, and every place where a block fits. With scripts the same fields are filled in on the board (play.js).

Only whether a form is filled in is judged here, in the form's own words: a rule's sentence about a line that is not
one would name a protocol that the person never sees. What is filled in the rules judge, as for bots
(`league.service.jobs.exhibitions`). A prompt that no form is known for is answered with a line as the protocol has it,
so a game can be played from the moment it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from deadheat.engine.core import Seat
from deadheat.engine.figures import counted
from deadheat.engine.games.betris import CHIPS, MAX_BET
from deadheat.engine.games.liars_dice import BIDS, FACES, HEIGHT, QUANTITIES, Bid
from deadheat.engine.games.polyominoes import PLACEMENTS, SHAPES, SIDE, SIZES, bit, cells_in
from deadheat.engine.games.yacht_auction import CATEGORIES, DICE, MAX_BID
from deadheat.league.errors import IllegalMove

State = Mapping[str, Any]
"""Of the newest scene, see `engine.scenes`."""

Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """`kind`: which form of `turns.html`; `offer`: what it shows; `line`: from its fields to a reply; IllegalMove."""

    kind: str
    line: Callable[[Fields], str]
    offer: Mapping[str, Any] = field(default_factory=dict)


SEATS: Mapping[str, str | None] = {
    "yacht-auction": None,
    "betris-large": None,
    "liars-dice": "Seat 1 opens the bidding; the others follow in order.",
}
"""By game, how its seats differ, for whoever chooses one; None: all are asked at once, there is nothing to choose."""


def seats_differ(game: str) -> str | None:
    """See `SEATS`. Of a game that is not there nobody knows, so a person may choose."""
    return SEATS.get(game, "")


def turn_of(game: str, prompt: str, state: State, seat: Seat) -> Turn:
    """The form for what is asked."""
    command = "TURN" if prompt.startswith("{") else prompt.split(" ", 1)[0]
    known = FORMS.get((game, command))
    return known(prompt, state, seat) if known else Turn("line", lambda fields: fields.get("line", ""))


def _bid(prompt: str, state: State, seat: Seat) -> Turn:
    _, a, b = prompt.split(" ")
    offer = {"bundles": {"A": a, "B": b}, "hand": state["hands"][seat], "most": MAX_BID}

    def line(fields: Fields) -> str:
        bundle = _choice(fields, "bundle", ("A", "B"), "a bundle")
        return f"BID {bundle} {_whole(fields, 'bid', 'Your bid', range(MAX_BID + 1))}"

    return Turn("auction", line, offer)


def _put(_prompt: str, state: State, seat: Seat) -> Turn:
    free = [name for name in CATEGORIES if name not in state["sheets"][seat]]
    hand = state["hands"][seat]

    def line(fields: Fields) -> str:
        ticked = [die for place, die in enumerate(hand) if f"die{place}" in fields]
        if len(ticked) != DICE:
            raise IllegalMove(f"tick {DICE} dice, not {len(ticked)}")
        return f"PUT {_choice(fields, 'category', free, 'a category')} {''.join(ticked)}"

    return Turn("score", line, {"hand": hand, "free": free, "dice": DICE})


def _bet(prompt: str, state: State, seat: Seat) -> Turn:
    _, a, b, *_ = prompt.split(" ")
    chips = CHIPS if state["chips"][seat] is None else state["chips"][seat]
    most = min(MAX_BET, chips)
    offer = {"blocks": {a: SHAPES[a].split("/"), b: SHAPES[b].split("/")}, "chips": chips, "most": most}

    def line(fields: Fields) -> str:
        block = _choice(fields, "block", (a, b), "a block")
        return f"BET {block} {_whole(fields, 'chips', 'Your bet', range(most + 1))}"

    return Turn("bet", line, offer)


def _place(prompt: str, state: State, seat: Seat) -> Turn:
    block = prompt.split(" ")[1]
    size = SIZES[block]
    filled = {(row, column) for row, column in state["boards"][seat]}
    taken = sum(map(bit, filled))
    fitting = [cells_in(mask) for mask in sorted(PLACEMENTS[block]) if not mask & taken]
    rows = [[(row, column, (row, column) in filled) for column in range(1, SIDE + 1)] for row in range(1, SIDE + 1)]

    def line(fields: Fields) -> str:
        if "pass" in fields:
            return "PLACE 0"
        cells = [(row, column) for line in rows for row, column, _ in line if f"cell{row}{column}" in fields]
        if len(cells) != size:
            raise IllegalMove(f"tick {counted(size, 'cell')}, not {len(cells)}, or pass")
        return " ".join(["PLACE", str(len(cells)), *(f"{row} {column}" for row, column in cells)])

    offer = {"block": block, "shape": SHAPES[block].split("/"), "size": size, "rows": rows, "fitting": fitting}
    return Turn("place", line, offer)


def _claim(prompt: str, _state: State, _seat: Seat) -> Turn:
    view = json.loads(prompt)

    def line(fields: Fields) -> str:
        if "challenge" in fields:
            return '{"type":"challenge"}'
        quantity = _whole(fields, "quantity", "At least this many dice", QUANTITIES)
        bid = {"type": "bid", "quantity": quantity, "faceValue": _whole(fields, "face", "Show this face", FACES)}
        return json.dumps(bid, separators=(",", ":"))

    current = view["currentBid"]
    lowest = 0 if current is None else HEIGHT[Bid(current["quantity"], current["faceValue"])] + 1
    least: dict[int, int] = {}
    for bid in BIDS[lowest:]:
        least.setdefault(bid.face, bid.quantity)
    offer = {
        "dice": "".join(map(str, view["myDice"])),
        "current": current and {"quantity": current["quantity"], "face": current["faceValue"]},
        "total": view["totalDiceInPlay"],
        "least": dict(sorted(least.items())),
        "lowest": BIDS[lowest]._asdict() if least else None,
        "most": QUANTITIES.stop - 1,
    }
    return Turn("claim", line, offer)


FORMS: Mapping[tuple[str, str], Callable[[str, State, Seat], Turn]] = {
    ("yacht-auction", "ROLL"): _bid,
    ("yacht-auction", "SCORE"): _put,
    ("betris-large", "PHASE1"): _bet,
    ("betris-large", "PHASE2"): _place,
    ("liars-dice", "TURN"): _claim,
}
"""By game and command."""


def _choice(fields: Fields, name: str, offered: Collection[str], what: str) -> str:
    """What was chosen. Raises IllegalMove."""
    chosen = fields.get(name, "")
    if chosen not in offered:
        raise IllegalMove(f"choose {what}")
    return chosen


def _whole(fields: Fields, name: str, label: str, possible: range) -> int:
    """What was typed beside that label. Raises IllegalMove."""
    word = fields.get(name, "").strip()
    if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) in possible):
        raise IllegalMove(f"“{label}” must be a whole number from {possible.start} to {possible.stop - 1}")
    return int(word)
