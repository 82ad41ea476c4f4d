"""Advice after a match, in words."""

from deadheat.engine.advice import Adviser, Move
from deadheat.engine.core import Seat
from deadheat.engine.games.forms import State
from deadheat.engine.language import _
from deadheat.games.liars_dice.rules import Bid, read_action
from deadheat.games.liars_dice.rules import Move as Action


def _move(_prompt: str, line: str, _state: State, _seat: Seat) -> Move:
    action = read_action(line)
    if isinstance(action, Bid):
        return Move(_("bid %(quantity)s of face %(face)s", quantity=action.quantity, face=action.face), action)
    return Move(_("call it a lie") if action is Action.CHALLENGE else _("resign"), action)


ADVICE = Adviser("expert", _move)
