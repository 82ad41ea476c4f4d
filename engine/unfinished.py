"""A match in progress.

The rules, the seed and the replies so far determine every line and every event up to now, so a worker reports nothing
else: a viewer of a running match recomputes the rest from them, as `engine.replay` does with a finished one.

What a viewer may see of it follows from the barrier: the events of a step are yielded after every seat that was asked
before it has answered, so an unanswered bid is in no event. Only their own seat may see events marked ``private`` until
the game itself reveals them; `seen_by` omits those of other seats. The seed, which determines all future dice, stays
with the holder of the replies.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deadheat.engine.chance import Chance
from deadheat.engine.core import Event, Fault, Game, Message, Reply, Result, Seat, Step
from deadheat.engine.transcript import BadTranscript, Exchange, decode_reply, encode_reply

Replies = Sequence[Mapping[Seat, Reply]]
"""The replies of each exchange, beginning with the first."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A match so far. Its last exchange has no replies yet, unless the match is over and has a `result`. `about` has
    labels, as in a `Transcript`.
    """

    exchanges: tuple[Exchange, ...]
    result: Result | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    def events(self) -> Iterator[Event]:
        """Yield the events so far, in order."""
        for exchange in self.exchanges:
            yield from exchange.events

    def asked(self) -> dict[Seat, Message]:
        """Return what must be answered now, by seat."""
        messages = self.exchanges[-1].messages if self.result is None else ()
        return {message.seat: message for message in messages if message.limit_ns is not None}

    def prompt(self, seat: Seat) -> str | None:
        """Return the line that this seat has to answer now, or None if it is not asked."""
        message = self.asked().get(seat)
        return None if message is None else message.line

    def seen_by(self, seat: Seat | None) -> "Unfinished":
        """Return the match as `seat` may see it, or as a spectator may if `seat` is None."""
        shown = [exchange._replace(events=tuple(_shown(exchange.events, seat))) for exchange in self.exchanges]
        return replace(self, exchanges=tuple(shown))


def _shown(events: Sequence[Event], seat: Seat | None) -> Iterator[Event]:
    for event in events:
        if not event.get("private") or (seat is not None and event.get("seat") == seat):
            yield event


class Playing:
    """A match that is played again: `go_on` gives it the replies to one exchange after another, which are then `given`.

    Raises:
        ValueError: replies that do not answer the questions of the rules.
    """

    def __init__(self, game: Game, seats: int, seed: bytes, replies: Replies = ()) -> None:
        self.game = game
        self.given: list[Mapping[Seat, Reply]] = []
        self._play = game.play(seats, Chance(seed))
        self._step: Step | None = next(self._play)
        self._exchanges: list[Exchange] = []
        self._result: Result | None = None
        for given in replies:
            self.go_on(given)

    def go_on(self, given: Mapping[Seat, Reply]) -> None:
        """Go on with these replies. Raises ValueError."""
        if self._step is None:
            raise ValueError("there are replies after the end")
        messages, events = self._step
        prompted = {message.seat for message in messages if message.limit_ns is not None}
        if prompted != given.keys():
            seats_asked, replied, number = sorted(prompted), sorted(given), len(self.given)
            raise ValueError(f"exchange {number} asks seats {seats_asked}, but there are replies of {replied}")
        self._exchanges.append(Exchange(messages, given, events))
        self.given.append(given)
        try:
            self._step = self._play.send(given)
        except StopIteration as stop:
            self._step, self._result = None, stop.value

    def so_far(self, number: int | None = None) -> Unfinished:
        """Return the match so far, or as it was after that `number` of replies."""
        before = self._exchanges[:number]
        step = self._exchanges[len(before)] if len(before) < len(self.given) else self._step
        if step is None:
            return Unfinished(tuple(before), self._result)
        return Unfinished((*before, Exchange(step.messages, {}, step.events)))

    def objection(self, seat: Seat, line: str, others: Mapping[Seat, Reply] = MappingProxyType({})) -> str | None:
        """Say why the rules would refuse this line as the seat's next reply, None if they accept it, and go on with it.

        `seat` must be one that is asked. Of the others, those whose answers are not known are assumed to fail. That
        does not affect this seat: all replies are read before anything is decided (ruling C-01).
        """
        asked, number = self.so_far().asked(), len(self.given)
        failed = Reply(None, 0, Fault.EXITED)
        self.go_on({each: Reply(line, 0) if each == seat else others.get(each, failed) for each in asked})
        for exchange in self.so_far().exchanges[number + 1 :]:
            for event in exchange.events:
                if event["type"] == "fault" and event["seat"] == seat:
                    return str(event["why"])
        return None


def unfinished(game: Game, seats: int, seed: bytes, replies: Replies) -> Unfinished:
    """Play a match with these replies until they are used up. Raises ValueError, as `Playing`."""
    return Playing(game, seats, seed, replies).so_far()


def said(replies: Replies) -> list[dict[Seat, tuple[str | None, Fault | None]]]:
    """Return the answers without their times: equal answers lead to equal prompts."""
    return [{seat: (reply.line, reply.fault) for seat, reply in given.items()} for given in replies]


def write_replies(replies: Replies, before: str = "[]") -> str:
    """Return the replies as JSON: a list for each exchange, with each reply as in transcripts (`encode_reply`).
    `before`: those that come first, written already.
    """
    exchanges = (",".join(encode_reply(seat, reply) for seat, reply in given.items()) for given in replies)
    return f"[{','.join(filter(None, (before[1:-1], *(f'[{exchange}]' for exchange in exchanges))))}]"


def read_replies(text: str) -> list[dict[Seat, Reply]]:
    """Return the replies that `write_replies` wrote. Raises BadTranscript."""
    try:
        return [dict(map(decode_reply, given)) for given in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise BadTranscript(f"no replies: {error}") from error
