"""A person's moves as forms."""

import json
from collections.abc import Mapping

from deadheat.engine.core import Seat
from deadheat.engine.games.forms import Fields, Form, State, Turn, whole
from deadheat.engine.language import _
from deadheat.games.liars_dice.rules import BIDS, FACES, HEIGHT, QUANTITIES, Bid


def _claim(prompt: str, _state: State, _seat: Seat) -> Turn:
    view = json.loads(prompt)

    def line(fields: Fields) -> str:
        if "challenge" in fields:
            return '{"type":"challenge"}'
        quantity = whole(fields, "quantity", _("At least this many dice"), QUANTITIES)
        bid = {"type": "bid", "quantity": quantity, "faceValue": whole(fields, "face", _("Show this face"), FACES)}
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


FORMS: Mapping[str, Form] = {"TURN": _claim}
