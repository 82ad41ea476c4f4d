"""The scenes that a match viewer shows, each a sentence and a whole state.

A scene does not depend on earlier ones, so a viewer can jump, and a page without scripts can show any of them. Its
state is JSON with exactly what a game's picture needs; the sentence says the same to those who cannot see it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from deadheat.engine.core import NS_PER_MS, Event, Fault, Seat
from deadheat.engine.language import _, gettext
from deadheat.engine.transcript import DEPARTURES, Exchange, Transcript, departure, untimed
from deadheat.engine.unfinished import Unfinished

MAX_SCENES = 20_000
"""The most scenes of one match; the longest built-in game has some 3,000."""


class Answer(NamedTuple):
    """A reply as a viewer shows it beside its limit. `stolen_ms`: the part of `elapsed_ms` that the host took."""

    seat: Seat
    command: str
    elapsed_ms: float
    stolen_ms: float
    limit_ms: float
    fault: str | None


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment. `round`: None before the first and after the last; `exchange`: the one whose events it shows."""

    words: str
    state: Mapping[str, Any]
    round: int | None = None
    exchange: int = 0
    answers: tuple[Answer, ...] = ()
    fault: Seat | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the scene as JSON for viewers."""
        return {
            "words": self.words,
            "state": self.state,
            "round": self.round,
            "exchange": self.exchange,
            "answers": [answer._asdict() for answer in self.answers],
            "fault": self.fault,
        }


Figures = Sequence[float | None]
"""The figure of each seat in one scene; None: not known yet."""

Row = tuple[str, Sequence[str], Sequence[float] | None]
"""A row of a match's sheet: a label, and for both seats the text shown and its value (None: nothing to compare)."""


@dataclass(frozen=True, slots=True)
class Director:
    """Everything that viewers know about a game, except how to draw its states.

    `scenes` turns a verified transcript's events and the names by seat into a scene for each event that a viewer should
    see. `figure` names what the chart of a match draws, in the plural ("points"); `figures` reads it from a state, for
    each seat; more is better. `board`: the constant part of the drawings, from the rules that were played. `sheet`
    shows where two seats' points came from, given all events of a match.
    """

    scenes: "Callable[[Iterator[Moment], Sequence[str]], Iterator[Scene]]"
    figure: str
    figures: Callable[[Mapping[str, Any]], Figures]
    board: Callable[[Any], dict[str, Any]] = lambda _rules: {}
    sheet: Callable[[Sequence[Event]], Iterable[Row]] = lambda _events: ()


@dataclass(slots=True)
class Moment:
    """An event on its way to a scene: where it stands, and the answers that led to it."""

    event: Event
    exchange: int
    answers: tuple[Answer, ...] = ()


def moments(match: Transcript | Unfinished) -> Iterator[Moment]:
    """Yield every event. An event follows from the answers of the exchange *before* the one that carries it; these come
    with the first event that they led to, without those whose times are not measured (`untimed`).
    """
    before: Exchange | None = None
    remote = untimed(match.about)
    for number, exchange in enumerate(match.exchanges):
        answers = () if before is None else tuple(a for a in _answers(before) if a.seat not in remote)
        for given in exchange.events:
            theirs, event = given.get("seat"), given
            left = departure(match.about, theirs) if given.get("fault") == Fault.EXITED else None
            if left is not None:
                event = {**given, "fault": left, "why": DEPARTURES[left]}
            here = tuple(a for a in answers if theirs is None or a.seat == theirs)
            answers = tuple(a for a in answers if a not in here)
            yield Moment(event, number, here)
        before = exchange


def _answers(exchange: Exchange) -> Iterator[Answer]:
    prompts = {message.seat: message for message in exchange.messages if message.limit_ns is not None}
    for seat, reply in exchange.replies.items():
        elapsed_ms, stolen_ms = round(reply.elapsed_ns / NS_PER_MS, 3), round(reply.stolen_ns / NS_PER_MS, 3)
        limit_ms = (prompts[seat].limit_ns or 0) / NS_PER_MS
        fault = reply.fault.value if reply.fault else None
        yield Answer(seat, prompts[seat].command, elapsed_ms, stolen_ms, limit_ms, fault)


def at_fault(event: Event) -> Seat | None:
    """Return the seat whose fault the event reports, or None if it reports no fault."""
    seat = event["seat"] if event["type"] == "fault" else None
    assert seat is None or isinstance(seat, int)
    return seat


def fault_words(event: Event, names: Sequence[str]) -> str:
    """Return a sentence about a fault, the same for all games."""
    seat = event["seat"]
    assert isinstance(seat, int)
    facts = {
        "bot": names[seat],
        "fault": gettext(str(event["fault"])),
        "command": event["command"],
        "why": event["why"],
    }
    return _("%(bot)s fails by %(fault)s at %(command)s: %(why)s", **facts)


def outcome(transcript: Transcript, names: Sequence[str]) -> str:
    """Return the outcome of the match as a sentence."""
    if not transcript.result.rated:
        return _("Nobody wins: all were at fault.")
    winners = [names[seat] for seat, rank in enumerate(transcript.result.ranks) if rank == 1]
    if len(winners) > 1:
        return _("A draw between %(bots)s.", bots=_(" and ").join(winners))
    return _("%(bot)s wins.", bot=winners[0])
