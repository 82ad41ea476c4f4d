"""What viewers read, in the reader's language: `_` looks its text up in locale/.

State: ``prize`` (on offer, or null), ``cards`` (of this round, by seat, or null), ``hands`` and ``sums`` of both seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadheat.engine.language import _
from deadheat.engine.scenes.core import Director, Figures, Moment, Row, Scene, at_fault, fault_words

from .rules import HIGHEST

NOT_YET = "-"


def scenes(moments: Iterator[Moment], names: Sequence[str]) -> Iterator[Scene]:
    """See `engine.scenes.core.Director`."""
    state: dict[str, Any] = {"prize": None, "cards": None, "sums": [0, 0]}
    hands = [list(range(1, HIGHEST + 1)) for _ in names]
    turn: int | None = None
    for moment in moments:
        event: Mapping[str, Any] = moment.event
        if event["type"] == "final":
            break
        turn = event.get("round", turn)
        if event["type"] == "prize":
            state |= {"prize": event["prize"], "cards": [NOT_YET for _ in names]}
            words = _("Prize %(prize)s is on offer.", prize=event["prize"])
        elif event["type"] == "card":
            seat, card = event["seat"], event["card"]
            hands[seat].remove(card)
            state["cards"] = [card if place == seat else shown for place, shown in enumerate(state["cards"])]
            words = _("%(bot)s plays %(card)s.", bot=names[seat], card=card)
        elif event["type"] == "taken":
            state["sums"] = event["sums"]
            words = _taken(event, names)
        else:
            words = fault_words(event, names)
        shown = state | {"hands": [list(hand) for hand in hands]}
        yield Scene(words, shown, turn, moment.exchange, moment.answers, at_fault(event))


def _taken(event: Mapping[str, Any], names: Sequence[str]) -> str:
    first, second = event["cards"]
    if first == second:
        return _("Nobody takes prize %(prize)s.", prize=event["prize"])
    return _("%(bot)s takes prize %(prize)s.", bot=names[0 if first > second else 1], prize=event["prize"])


def _sums(state: Mapping[str, Any]) -> Figures:
    return list(state["sums"])


def _sheet(events: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    sums = events[-1]["sums"]
    yield _("total"), [str(points) for points in sums], sums


DIRECTOR = Director(scenes, figure="points", figures=_sums, sheet=_sheet)
"""`figure` names what the chart of a match draws, and `figures` reads it from a state; `sheet` shows where the points
came from."""
