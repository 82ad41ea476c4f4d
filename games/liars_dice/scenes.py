"""Liar's Dice: hands around a table, bids, challenges and their results.

State: ``counts`` (dice of each seat), ``hands`` (each seat's dice), ``bids`` of this round [{seat, quantity, face}],
``turn`` (who acts in this scene, or null), ``reveal`` after a challenge {seat, bidder, quantity, face, count, loser,
hands} or null, ``places`` (of seats that are out, else null).

`hands` are hidden during a match; a viewer that shows one seat's view omits the others' until `reveal`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from deadheat.engine.core import Event
from deadheat.engine.language import _
from deadheat.engine.scenes.core import Director, Moment, Scene, at_fault, fault_words


def scenes(moments: Iterator[Moment], names: Sequence[str]) -> Iterator[Scene]:
    """See `engine.scenes.Director`. A round's beginning and its hands are one scene."""
    table = _Table(len(names))
    waiting: Scene | None = None  # the start of a round, until the hands are dealt
    for moment in moments:
        event = moment.event
        if event["type"] == "final":
            break
        words = table.show(event, names)
        if event["type"] == "hand":
            assert waiting is not None
            waiting = Scene(waiting.words, table.state(), waiting.round, waiting.exchange)
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        scene = Scene(words, table.state(), table.round, moment.exchange, moment.answers, at_fault(event))
        if event["type"] == "round":
            waiting = scene
        else:
            yield scene
    if waiting is not None:
        yield waiting


DIRECTOR = Director(
    scenes,
    figure="dice",
    figures=lambda state: list(state["counts"]) if any(state["counts"]) else [None] * len(state["counts"]),
)


class _Table:
    """The state of a match: everybody's dice and the bids."""

    def __init__(self, seats: int) -> None:
        self.round: int | None = None
        self.counts = [0] * seats
        self.hands: list[list[int]] = [[] for _seat in range(seats)]
        self.places: list[int | None] = [None] * seats
        self.bids: list[dict[str, Any]] = []
        self.turn: int | None = None
        self.reveal: dict[str, Any] | None = None

    def show(self, event: Event, names: Sequence[str]) -> str:
        """Apply one event and describe it."""
        self.round = event.get("round", self.round)  # type: ignore[assignment]
        data: Any = event
        self.turn = data.get("seat") if data["type"] != "hand" else self.turn
        match data["type"]:
            case "round":
                return self._round(data, names)
            case "hand":
                self.hands[data["seat"]] = list(data["dice"])
                return ""
            case "bid":
                self.bids.append({"seat": data["seat"], "quantity": data["quantity"], "face": data["face"]})
                return _("%(bot)s bids %(quantity)s of face %(face)s.", bot=names[data["seat"]], **self.bids[-1])
            case "challenge":
                return self._challenge(data, names)
            case "resignation":
                self._empty(data["seat"])
                return _("%(bot)s resigns.", bot=names[data["seat"]])
            case "elimination":
                self.places[data["seat"]] = data["place"]
                self._empty(data["seat"])
                return _("%(bot)s is out: place %(place)s.", bot=names[data["seat"]], place=data["place"])
            case _:
                return fault_words(event, names)

    def _round(self, data: Any, names: Sequence[str]) -> str:
        self.counts = list(data["counts"])
        self.hands = [[] for _ in self.counts]
        self.bids, self.reveal, self.turn = [], None, None
        return _(
            "Round %(round)s: %(dice)s dice in play, %(bot)s opens.",
            round=data["round"],
            dice=sum(self.counts),
            bot=names[data["opener"]],
        )

    def _challenge(self, data: Any, names: Sequence[str]) -> str:
        keys = ("seat", "bidder", "quantity", "face", "count", "loser", "hands")
        self.reveal = {key: data[key] for key in keys}
        self.counts[data["loser"]] -= 1
        words = {key: data[key] for key in ("quantity", "face", "count")}
        words |= {"bot": names[data["seat"]], "loser": names[data["loser"]]}
        if data["count"] >= data["quantity"]:
            return _(
                "%(bot)s calls %(quantity)s of face %(face)s a lie; there are %(count)s: the bid is met, "
                "%(loser)s loses a die.",
                **words,
            )
        return _(
            "%(bot)s calls %(quantity)s of face %(face)s a lie; there are %(count)s: a lie, %(loser)s loses a die.",
            **words,
        )

    def _empty(self, seat: int) -> None:
        self.counts[seat] = 0
        self.hands[seat] = []

    def state(self) -> dict[str, Any]:
        """Return a copy of the state."""
        return {
            "counts": list(self.counts),
            "hands": [list(hand) for hand in self.hands],
            "places": list(self.places),
            "bids": list(self.bids),
            "turn": self.turn,
            "reveal": self.reveal,
        }
