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


def unfinished(game: Game, seats: int, seed: bytes, replies: Replies) -> Unfinished:
    """Play a match with these replies until they are used up.

    Raises:
        ValueError: they do not answer the questions of the rules.
    """
    play = game.play(seats, Chance(seed))
    step: Step = next(play)
    exchanges: list[Exchange] = []
    for given in replies:
        prompted = {message.seat for message in step.messages if message.limit_ns is not None}
        if prompted != given.keys():
            seats_asked, replied = sorted(prompted), sorted(given)
            raise ValueError(f"exchange {len(exchanges)} asks seats {seats_asked}, but there are replies of {replied}")
        exchanges.append(Exchange(step.messages, given, step.events))
        try:
            step = play.send(given)
        except StopIteration as stop:
            if len(exchanges) < len(replies):
                raise ValueError("there are replies after the end") from None
            return Unfinished(tuple(exchanges), stop.value)
    return Unfinished((*exchanges, Exchange(step.messages, {}, step.events)))


def objection(game: Game, seats: int, seed: bytes, replies: Replies, seat: Seat, line: str) -> str | None:
    """Say why the rules would refuse this line as the seat's next reply; None if they accept it.

    `seat` must be one that is asked. The others are assumed to fail in that exchange, because their answers are not
    known yet. That does not affect this seat: all replies are read before anything is decided (ruling C-01).
    """
    last = unfinished(game, seats, seed, replies).exchanges[-1]
    others = {message.seat for message in last.messages if message.limit_ns is not None} - {seat}
    given = {seat: Reply(line, 0)} | {other: Reply(None, 0, Fault.EXITED) for other in others}
    after = unfinished(game, seats, seed, [*replies, given])
    for exchange in after.exchanges[len(replies) + 1 :]:
        for event in exchange.events:
            if event["type"] == "fault" and event["seat"] == seat:
                return str(event["why"])
    return None


def said(replies: Replies) -> list[dict[Seat, tuple[str | None, Fault | None]]]:
    """Return the answers without their times: equal answers lead to equal prompts."""
    return [{seat: (reply.line, reply.fault) for seat, reply in given.items()} for given in replies]


def write_replies(replies: Replies) -> str:
    """Return the replies as JSON: a list for each exchange, with each reply as in transcripts (`encode_reply`)."""
    exchanges = (",".join(encode_reply(seat, reply) for seat, reply in given.items()) for given in replies)
    return f"[{','.join(f'[{exchange}]' for exchange in exchanges)}]"


def read_replies(text: str) -> list[dict[Seat, Reply]]:
    """Return the replies that `write_replies` wrote. Raises BadTranscript."""
    try:
        return [dict(map(decode_reply, given)) for given in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise BadTranscript(f"no replies: {error}") from error
