"""A person's moves as forms."""

from collections.abc import Mapping
from itertools import combinations

from deadheat.engine.core import Seat
from deadheat.engine.games.forms import Fields, Form, State, Turn, Unfilled, choice, whole
from deadheat.engine.language import _
from deadheat.games.yacht_auction.rules import CATEGORIES, DICE, MAX_BID
from deadheat.games.yacht_auction.scenes import NAMES


def _bid(prompt: str, state: State, seat: Seat) -> Turn:
    a, b = prompt.split(" ")[1:]
    offer = {"bundles": {"A": a, "B": b}, "hand": state["hands"][seat], "most": MAX_BID}

    def line(fields: Fields) -> str:
        bundle = choice(fields, "bundle", ("A", "B"), _("a bundle"))
        return f"BID {bundle} {whole(fields, 'bid', _('Your bid'), range(MAX_BID + 1))}"

    return Turn("auction", line, offer)


def _put(_prompt: str, state: State, seat: Seat) -> Turn:
    free = [name for name in CATEGORIES if name not in state["sheets"][seat]]
    hand = state["hands"][seat]

    def line(fields: Fields) -> str:
        ticked = [die for place, die in enumerate(hand) if f"die{place}" in fields]
        if len(ticked) != DICE:
            raise Unfilled(_("tick %(dice)s dice, not %(count)s", dice=DICE, count=len(ticked)))
        return f"PUT {choice(fields, 'category', free, _('a category'))} {''.join(ticked)}"

    fives = {"".join(five) for five in combinations(sorted(hand), DICE)}
    points = {five: {name: CATEGORIES[name](five) for name in free} for five in sorted(fives)}
    names = {name: _(NAMES[name]) for name in free}
    return Turn("score", line, {"hand": hand, "free": names, "dice": DICE, "points": points})


FORMS: Mapping[str, Form] = {"ROLL": _bid, "SCORE": _put}
