"""The loop of a match: ask, wait for everyone, tell the game. Ten lines that everything else protects."""

from collections.abc import Mapping, Sequence

from deadheat.engine.chance import Chance, attempt_seed
from deadheat.engine.core import Game, Message, Reply, Result, Seat, Step, Transport, made
from deadheat.engine.figures import span
from deadheat.engine.games.variants import variant_of
from deadheat.engine.transcript import MAX_EXCHANGES, Exchange, Transcript

MATCH_ATTEMPTS = 5
"""Void attempts at one match after which it is not tried again by itself: locally it is given up, in a league an
organiser decides (`league.config.Settings.match_attempts`). Each has its own dice."""


def run_match(
    game: Game,
    seats: int,
    seed: bytes,
    transport: Transport,
    about: Mapping[str, object] | None = None,
    attempt: int = 1,
) -> Transcript:
    """Play one match to its end, with the dice of its n-th attempt (`engine.chance.attempt_seed`).

    Raises:
        TransportError: our failure; the attempt is void and there is no transcript.
        ValueError: the game is not played by that many seats.
    """
    if seats not in game.seats:
        raise ValueError(f"{game.name} needs {span(game.seats)} seats, not {seats}")
    play = game.play(seats, Chance(attempt_seed(seed, attempt)))
    exchanges: list[Exchange] = []
    result: Result | None = None
    step: Step | None = next(play)
    while step is not None:
        assert len(exchanges) < MAX_EXCHANGES, f"{game.name} does not end"
        messages, events = step
        replies = transport.exchange(messages)
        _check_replies(messages, replies)
        exchanges.append(made(Exchange, (messages, replies, events)))
        try:
            step = play.send(replies)
        except StopIteration as stop:
            result, step = stop.value, None
    assert result is not None
    assert len(result.ranks) == seats
    about, variant = about or {}, variant_of(game)
    return Transcript(game.name, game.rules_version, seats, seed, tuple(exchanges), result, about, attempt, variant)


def _check_replies(messages: Sequence[Message], replies: Mapping[Seat, Reply]) -> None:
    prompted = []
    for message in messages:
        if message.limit_ns is not None:
            prompted.append(message.seat)  # noqa: PERF401  until Python 3.12 a comprehension takes twice as long
    if prompted != [*replies]:  # replies may come in another order
        assert len(prompted) <= len(replies), "a game may prompt a seat once a step"
        assert set(prompted) == replies.keys(), "a transport owes exactly one reply a prompt"
    for reply in replies.values():
        assert (reply.line is None) == (reply.fault is not None), "a reply is a line or a fault"
