"""A person's moves as forms, which games provide (`engine.games.forms`).

People answer a prompt without a form with a line of the protocol, so a game can be played as soon as it is installed.
The rules judge the input like a bot's (`league.service.jobs.exhibitions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from deadheat.engine.core import Seat
from deadheat.engine.games.folder import Parts, folders
from deadheat.engine.games.forms import Fields, Form, State, Turn, Unfilled
from deadheat.engine.language import gettext
from deadheat.league.errors import IllegalMove

FORMS: Mapping[str, Mapping[str, Form]] = Parts("forms", "FORMS")
"""Forms by game and command."""


def seats_differ(game: str) -> str | None:
    """See `GameFolder`; in the reader's language. If the game is not installed here, people may choose a seat."""
    known = folders().get(game)
    return known.seats_differ and gettext(known.seats_differ) if known else ""


def turn_of(game: str, prompt: str, state: State, seat: Seat) -> Turn:
    """Return the form for the prompt. Its `line` raises IllegalMove."""
    command = "TURN" if prompt.startswith("{") else prompt.split(" ", 1)[0]
    form = FORMS.get(game, {}).get(command)
    if form is None or not (folders()[game].path / "turns.html").is_file():
        return Turn("line", lambda fields: fields.get("line", ""))
    turn = form(prompt, state, seat)

    def line(fields: Fields) -> str:
        try:
            return turn.line(fields)
        except Unfilled as unfilled:
            raise IllegalMove(str(unfilled)) from None

    return replace(turn, line=line)
