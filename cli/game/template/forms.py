"""A person's moves as forms."""

from __future__ import annotations

from collections.abc import Mapping

from deadheat.engine.core import Seat
from deadheat.engine.games.forms import Fields, Form, State, Turn, choice
from deadheat.engine.language import _


def _play(_prompt: str, state: State, seat: Seat) -> Turn:
    hand = [str(card) for card in state["hands"][seat]]

    def line(fields: Fields) -> str:
        return f"CARD {choice(fields, 'card', hand, _('a card'))}"

    return Turn("card", line, {"cards": hand})


FORMS: Mapping[str, Form] = {"PLAY": _play}
