"""A person's moves as forms: what a page offers for a prompt, and the line that its fields express.

An offer holds what is legal by the rules, so that no page offers anything else: the least quantity of a bid on each
face, and every place where a block fits. With scripts the same fields are filled in on the board (play.js).

This module judges only whether a form is complete, and says so in the form's own words: the rules' message about a
broken line would name a protocol that the person never sees. Complete forms are judged by the rules, as for bots.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from deadheat.engine.core import Seat
from deadheat.engine.language import _

State = Mapping[str, Any]
"""A state of the newest scene, see `engine.scenes`."""

Fields = Mapping[str, str]
"""A form's fields as they were sent, by name."""


class Unfilled(Exception):
    """A form lacks something; the text tells the person what to do."""


@dataclass(frozen=True, slots=True)
class Turn:
    """`kind`: a macro of the game's `turns.html`; `offer`: what it shows; `line`: makes a reply of its fields, or
    raises Unfilled.
    """

    kind: str
    line: Callable[[Fields], str]
    offer: Mapping[str, Any] = field(default_factory=dict)


Form = Callable[[str, State, Seat], Turn]
"""Makes the turn for a prompt, given the newest scene's state and the person's seat."""


def choice(fields: Fields, name: str, offered: Collection[str], what: str) -> str:
    """Return the chosen value; `what` names it in the reader's language, such as "a block".

    Raises:
        Unfilled: the choice was not on offer.
    """
    chosen = fields.get(name, "")
    if chosen not in offered:
        raise Unfilled(_("choose %(what)s", what=what))
    return chosen


def whole(fields: Fields, name: str, label: str, possible: range) -> int:
    """Return the number typed beside that label, which is in the reader's language.

    Raises:
        Unfilled: it is not one of the possible numbers.
    """
    word = fields.get(name, "").strip()
    if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) in possible):
        bounds = {"label": label, "least": possible.start, "most": possible.stop - 1}
        raise Unfilled(_("“%(label)s” must be a whole number from %(least)s to %(most)s", **bounds))
    return int(word)
