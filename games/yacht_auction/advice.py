"""Advice after a match, in words."""

from deadheat.engine.advice import Adviser, Move
from deadheat.engine.core import Seat
from deadheat.engine.games.forms import State
from deadheat.engine.language import _
from deadheat.games.yacht_auction.rules import CATEGORIES
from deadheat.games.yacht_auction.scenes import NAMES


def _move(_prompt: str, line: str, _state: State, _seat: Seat) -> Move:
    command, what, value = line.split()
    if command == "BID":
        return Move(_("%(points)s points on %(bundle)s", points=f"{int(value):,}", bundle=what), what, int(value))
    dice = "".join(sorted(value))
    words = _("%(dice)s as %(category)s", dice=dice, category=_(NAMES[what]))
    return Move(words, (what, CATEGORIES[what](dice)))


ADVICE = Adviser("expert", _move, slack=1000)
"""The house bot's advice. Bids within 1000 points of each other agree: that is the worth of a die's pip, and no bid can
be advised more exactly.
"""
