"""The conformance test for games: every registered game passes it, and anyone who adds one runs it first.

    check_game(HighCard(), Bot)    # returns, or raises `NotConforming` with a sentence

Theory of operation
-------------------
It needs the game and something that plays it legally: a class like the ``Bot`` in every game's random bot, created with
a number (equal numbers play alike) and called as ``answer(line)``, which returns a line, or None if none is wanted.

*Honest matches* come first, for each number of seats. Every step is checked (READY first, FINISH last, one prompt per
seat and nothing after it, events that survive JSON), and so is the result. Each match must replay to equality from its
bytes, even while another match of the same game object is in progress.

*Faults* are injected at every prompt or, if there are many, at some spread evenly over the match: the match must end,
keep the fault, send nothing more to that seat, and not let it win.

*Secrets.* What a seat reads must follow from what it may know: the public events so far, its own private events
(``"private": True, "seat": n``), and its own replies. So a match is replayed with the same replies and one thing
changed, a draw of chance or one reply. As long as the events that another seat may see are the same, the lines sent to
it must be the same. That makes the marks on events the only declaration that a game needs: a secret
without an event is found as well, because the line that tells it to its owner then has no source.

This cannot check whether the rules match the game's text, nor what random play hardly ever reaches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, TypeVar

from deadheat.engine.chance import SEED_BYTES, Chance
from deadheat.engine.core import (
    FOUND_BY_RULES,
    MAX_LINE_BYTES,
    READY_LIMIT_NS,
    Event,
    Fault,
    Game,
    Message,
    Reply,
    Result,
    Seat,
    Step,
)
from deadheat.engine.figures import duration
from deadheat.engine.replay import Diverged, replay
from deadheat.engine.transcript import BadTranscript, Exchange, Transcript, decode, encode

MOST_EXCHANGES = 30_000
"""Random play has come to its end by then, in any game of the house."""

MATCHES = 3  # honest ones for each number of seats
SAMPLE = 40  # at most so many faults, changed draws and changed replies for each number of seats

FAULTS = tuple(fault for fault in Fault if fault not in FOUND_BY_RULES)  # those that are injected as such
BAD_LINES = ("", "?", "\x00", "\udcff", "9" * 4000, "[" * 4000)  # no game has a use for any of these

T = TypeVar("T")
Place = tuple[int, Seat]
"""A prompt: the number of its exchange, and its seat."""

Replies = Mapping[Seat, Reply]
Answer = Callable[[int, Step], Replies]
"""Gives the replies to the exchange of that number."""

Play = Generator[Step, Replies, Result]


class Bot(Protocol):
    """Plays one seat of one match legally."""

    def answer(self, line: str, /) -> str | None:
        """The reply to a line that ends with its newline; None for a notice. FINISH is not put to it."""


class NotConforming(Exception):
    """The game does not do what every game must; the text says what, and where."""


def check_game(game: Game, new_bot: Callable[[int], Bot]) -> None:
    """Check all that can be checked without knowing the rules; takes a second or two.

    Raises:
        NotConforming: on the first thing that is wrong.
    """
    _check_description(game)
    for seats in game.seats:
        try:
            _check_with(game, new_bot, seats)
        except NotConforming as wrong:
            raise NotConforming(f"{game.name} with {seats} seats: {wrong}") from wrong


def _check_description(game: Game) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", game.name):
        raise NotConforming(f"the name {game.name!r} is not of small letters, digits and single hyphens")
    if not game.title.strip():
        raise NotConforming(f"{game.name} has no title")
    if game.rules_version < 1:
        raise NotConforming(f"{game.name}: the rules' version {game.rules_version!r} is not a whole number from 1")
    if len(game.seats) == 0 or game.seats[0] < 1 or game.seats.step != 1:
        raise NotConforming(f"{game.name}: seats {game.seats!r} are not a range of numbers of seats")


def _check_with(game: Game, new_bot: Callable[[int], Bot], seats: int) -> None:
    matches = []
    for number in range(MATCHES):
        bots = _Bots(new_bot, seats, number, doubles=True)
        match = _play(game, seats, _seed(number), bots)
        _check_result(match, {})
        _check_replay(game, match)
        match.others = bots.others
        matches.append(match)
    _check_side_by_side(game, *matches[:2])
    _check_faults(game, matches[0], new_bot)
    _check_secrets(game, matches[0])


def _seed(number: int) -> bytes:
    return number.to_bytes(SEED_BYTES, "big")


# Playing ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Match:
    """One match: its inputs and its outcome."""

    seats: int
    seed: bytes
    steps: list[Step] = field(default_factory=list)
    replies: list[Replies] = field(default_factory=list)
    result: Result | None = None
    draws: int = 0
    others: Mapping[Place, str | None] = field(default_factory=dict)  # what another bot would have replied


class _Enough(Exception):
    """Ends a match early."""


class _Exactly(dict[Seat, Reply]):
    """The replies of the prompted seats, and of no others."""

    def __missing__(self, seat: Seat) -> Reply:
        raise NotConforming(f"it looks for a reply of seat {seat}, which it did not prompt")


class _Traced(Chance):
    """Counts the draws, and changes one of them."""

    __slots__ = ("changed", "draws")

    def __init__(self, seed: bytes, changed: int | None) -> None:
        super().__init__(seed)
        self.draws = 0
        self.changed = changed

    def below(self, bound: int) -> int:
        value = super().below(bound)
        self.draws += 1
        return (value + 1) % bound if self.draws - 1 == self.changed else value

    def dice(self, count: int) -> tuple[int, ...]:
        return tuple(self.below(6) + 1 for _ in range(count))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]


def _play(game: Game, seats: int, seed: bytes, answer: Answer, changed_draw: int | None = None) -> _Match:
    match = _Match(seats, seed)
    chance = _Traced(seed, changed_draw)
    play = game.play(seats, chance)
    step = _advance(play, None, "before READY")
    try:
        while isinstance(step, Step):
            number = len(match.steps)
            if number == MOST_EXCHANGES:
                raise NotConforming(f"it has not ended after {number} exchanges")
            match.steps.append(step)
            _check_step(step, game.commands, seats, number)
            replies = answer(number, step)
            match.replies.append(replies)
            # Last seat first: which of several replies came first must not matter.
            step = _advance(play, _Exactly(reversed(list(replies.items()))), f"after exchange {number}")
    except _Enough:
        return match
    match.result, match.draws = step, chance.draws
    return match


def _advance(play: Play, replies: Replies | None, when: str) -> Step | Result:
    try:
        return next(play) if replies is None else play.send(replies)
    except StopIteration as stop:
        if isinstance(stop.value, Result):
            return stop.value
        raise NotConforming(f"{when} it returns {stop.value!r} and not a Result") from None
    except NotConforming:
        raise
    except Exception as error:  # what a game raises, whatever it is, is what we are looking for
        raise NotConforming(f"{when} it raises {type(error).__name__}: {error}") from error


class _Bots:
    """Answers with one bot a seat, and notes what another bot in its place would have said."""

    def __init__(self, new_bot: Callable[[int], Bot], seats: int, number: int, doubles: bool = False) -> None:
        self.bots = [new_bot(100 * number + seat) for seat in range(seats)]
        self.doubles = {seat: new_bot(100 * number + 50 + seat) for seat in range(seats) if doubles}
        self.others: dict[Place, str | None] = {}

    def __call__(self, number: int, step: Step) -> Replies:
        """Everybody hears every line; replies take up to a hundredth of their limit."""
        replies: dict[Seat, Reply] = {}
        for message in step.messages:
            if message.line == "FINISH":
                continue
            other = self.ask_double(message)
            line = self.bots[message.seat].answer(message.line + "\n")
            if (line is None) != (message.limit_ns is None):
                raise NotConforming(f"the bot answers {line!r} to {message.line!r}, limit {message.limit_ns}")
            if message.limit_ns is not None:
                self.others[number, message.seat] = other
                replies[message.seat] = Reply(line, message.limit_ns * ((number + message.seat) % 11) // 1000)
        return replies

    def ask_double(self, message: Message) -> str | None:
        """The other bot has not played what it hears of, so it may be at a loss; then there is none."""
        double = self.doubles.get(message.seat)
        if double is None:
            return None
        try:
            return double.answer(message.line + "\n")
        except Exception:  # noqa: BLE001  it is somebody else's program in a position that it does not know
            del self.doubles[message.seat]
            return None


class _Recorded:
    """Gives the replies of a match again, with changes, for as long as the same seats are asked."""

    def __init__(self, match: _Match, changes: Mapping[Place, Reply]) -> None:
        self.match = match
        self.changes = changes

    def __call__(self, number: int, step: Step) -> Replies:
        prompted = {message.seat for message in step.messages if message.limit_ns is not None}
        if number >= len(self.match.replies) or prompted != self.match.replies[number].keys():
            raise _Enough
        return {seat: self.changes.get((number, seat), reply) for seat, reply in self.match.replies[number].items()}


# Steps and results -----------------------------------------------------------------------------------------------


def _check_step(step: Step, commands: Sequence[str], seats: int, number: int) -> None:
    where = f"at exchange {number}"
    prompted: set[Seat] = set()
    for message in step.messages:
        if message.seat not in range(seats):
            raise NotConforming(f"{where} it writes to seat {message.seat}")
        if message.seat in prompted:
            raise NotConforming(f"{where} it writes {message.line!r} to seat {message.seat} behind its prompt")
        if not message.line.isascii() or not message.line.isprintable() or len(message.line) > MAX_LINE_BYTES:
            raise NotConforming(f"{where} {message.line!r} is not one line of printable ASCII of bounded length")
        if message.limit_ns is not None:
            prompted.add(message.seat)
            if type(message.limit_ns) is not int or message.limit_ns < 0:
                raise NotConforming(f"{where} the limit {message.limit_ns!r} is no time in whole nanoseconds")
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", message.command):
                raise NotConforming(f"{where} the prompt {message.line!r} does not begin with a word in capitals")
    asked = [(message.seat, message.command, message.limit_ns) for message in step.messages]
    if number == 0 and asked != [(seat, "READY", READY_LIMIT_NS) for seat in range(seats)]:
        limit = duration(READY_LIMIT_NS)
        raise NotConforming(f"{where} it does not ask all seats READY with a limit of {limit}, and nothing else")
    for message in step.messages:
        if message.limit_ns is not None and message.command not in commands:
            known = ", ".join(commands)
            raise NotConforming(f"{where} the prompt {message.command!r} is none of its commands: {known}")
    for event in step.events:
        _check_event(event, seats, where)


def _check_event(event: Event, seats: int, where: str) -> None:
    try:
        again = json.loads(json.dumps(event))
    except (TypeError, ValueError):
        again = None
    if again != event or not isinstance(event.get("type"), str):
        raise NotConforming(f"{where} the event {event!r} is not JSON with a type: lists, texts as keys, no tuples")
    if event.get("private", False) not in (True, False) or (event.get("private") and not _owner(event, seats)):
        raise NotConforming(f"{where} the event {event!r} is private and does not say whose: it needs a seat")


def _owner(event: Event, seats: int) -> bool:
    return type(event.get("seat")) is int and event["seat"] in range(seats)


def _check_result(match: _Match, faults: Mapping[Seat, Fault | None]) -> None:
    """`faults` are those that were injected; None where the rules choose between malformed and illegal."""
    result, seats = match.result, range(match.seats)
    assert result is not None
    if result.faults.keys() != faults.keys():
        told = [dict(event) for step in match.steps for event in step.events if event["type"] == "fault"]
        raise NotConforming(f"faults of seats {sorted(faults)} end as {dict(result.faults)}; it told of {told}")
    for seat, fault in faults.items():
        if result.faults[seat] not in ((fault,) if fault else FOUND_BY_RULES):
            raise NotConforming(f"seat {seat}'s fault {fault or 'of a bad line'} is kept as {result.faults[seat]}")
    ranks = list(result.ranks)
    if len(ranks) != match.seats or any(rank != 1 + sum(other < rank for other in ranks) for rank in ranks):
        raise NotConforming(f"the ranks {result.ranks} do not say for each seat how many are before it, and 1")
    if len(faults) == match.seats and (set(ranks) != {1} or result.points is not None):
        raise NotConforming(f"all have failed at once, and yet it ranks {result.ranks} and scores {result.points}")
    if len(faults) < match.seats and any(ranks[seat] == 1 for seat in faults):
        raise NotConforming(f"seat {min(faults)} has failed, and yet the ranks are {result.ranks}")
    points = result.points
    if points is not None and (len(points) != match.seats or any(type(p) not in (int, Fraction) for p in points)):
        raise NotConforming(f"the points {points} are not an int or a Fraction for each seat")
    _check_farewell(match.steps[-1].messages, [seat for seat in seats if seat not in faults])


def _check_farewell(messages: Sequence[Message], seats: Sequence[Seat]) -> None:
    farewell = [Message(seat, "FINISH") for seat in seats]
    notices = messages[: len(messages) - len(farewell)]
    if list(messages[len(notices) :]) != farewell or any(m.limit_ns is not None or m.line == "FINISH" for m in notices):
        raise NotConforming(f"its last step does not end with FINISH to seats {list(seats)}, but is {list(messages)}")


# What is checked -------------------------------------------------------------------------------------------------


def _check_replay(game: Game, match: _Match) -> None:
    assert match.result is not None
    exchanges = [Exchange(s.messages, r, s.events) for s, r in zip(match.steps, match.replies, strict=True)]
    played = Transcript(game.name, game.rules_version, match.seats, match.seed, tuple(exchanges), match.result)
    try:
        again = replay(game, decode(encode(played)))
    except (Diverged, BadTranscript) as error:
        raise NotConforming(f"played again from its transcript it is another match: {error}") from error
    if again != played:
        raise NotConforming("its transcript does not survive being written and read")


def _check_side_by_side(game: Game, *matches: _Match) -> None:
    """State that is kept on the game object, or in its module, is shared by all matches that a worker plays."""
    plays = [game.play(match.seats, Chance(match.seed)) for match in matches]
    come: list[Step | Result] = [next(play) for play in plays]
    for number in range(max(len(match.steps) for match in matches)):
        for place, (match, play) in enumerate(zip(matches, plays, strict=True)):
            if number < len(match.steps) and come[place] == match.steps[number]:
                come[place] = _advance(play, match.replies[number], f"beside another match, after exchange {number}")
    if come != [match.result for match in matches]:
        raise NotConforming("two matches at the same time disturb each other: is anything kept on the game object?")


def _check_faults(game: Game, match: _Match, new_bot: Callable[[int], Bot]) -> None:
    """One seat at a time at every place, then everybody who is asked at once; the kinds of faults take turns."""
    places = [(number, seat) for number, replies in enumerate(match.replies) for seat in replies]
    kinds: list[Fault | str] = [*FAULTS, *BAD_LINES]
    injected = [(number, [seat]) for number, seat in _spread(places)]
    injected += [(number, list(match.replies[number])) for number in _spread(range(len(match.replies)))]
    for turn, (number, seats) in enumerate(injected):
        bad = {seat: kinds[(turn + seat) % len(kinds)] for seat in seats}
        if bad:
            faulty = _play(game, match.seats, match.seed, _Faulty(_Bots(new_bot, match.seats, 0), number, bad))
            _check_result(faulty, {seat: kind if isinstance(kind, Fault) else None for seat, kind in bad.items()})


class _Faulty:
    """Lets bots play, but some seats fail at one exchange; whoever has failed must be left alone."""

    def __init__(self, bots: _Bots, at: int, bad: Mapping[Seat, Fault | str]) -> None:
        self.bots = bots
        self.at = at
        self.bad = bad

    def __call__(self, number: int, step: Step) -> Replies:
        for message in step.messages:
            if number > self.at and message.seat in self.bad:
                raise NotConforming(
                    f"seat {message.seat} failed at exchange {self.at}, "
                    f"and is sent {message.line!r} at exchange {number}: its program may be dead"
                )
        replies = dict(self.bots(number, step))
        if number == self.at:
            for seat, kind in self.bad.items():
                limit_ns = next(m.limit_ns for m in step.messages if m.seat == seat and m.limit_ns is not None)
                replies[seat] = Reply(None, limit_ns, kind) if isinstance(kind, Fault) else Reply(kind, 0)
        return replies


def _check_secrets(game: Game, match: _Match) -> None:
    for draw in _spread(range(match.draws)):
        varied = _play(game, match.seats, match.seed, _Recorded(match, {}), draw)
        _compare(match, varied, None, f"draw {draw} of chance been another")
    for (number, seat), other in _spread(list(match.others.items())):
        reply = match.replies[number][seat]
        if other in (None, reply.line):
            change = Reply(None, reply.elapsed_ns, Fault.EXITED)
        else:
            change = Reply(other, reply.elapsed_ns)
        varied = _play(game, match.seats, match.seed, _Recorded(match, {(number, seat): change}))
        what = f"seat {seat} replied {change.line!r} and not {reply.line!r} at exchange {number}"
        _compare(match, varied, seat, what)


def _compare(match: _Match, varied: _Match, changed: Seat | None, what: str) -> None:
    for seat in range(match.seats):
        if seat == changed:
            continue
        for number, (step, other) in enumerate(zip(match.steps, varied.steps, strict=False)):
            if _seen(step, seat) != _seen(other, seat):
                break
            told, instead = _told(step, seat), _told(other, seat)
            if told != instead:
                raise NotConforming(
                    f"at exchange {number} seat {seat} is told {told}, and would be told {instead} had {what}, "
                    "but the events that it may see are the same: a leak, or an event is missing"
                )


def _seen(step: Step, seat: Seat) -> list[Event]:
    return [event for event in step.events if not event.get("private") or event["seat"] == seat]


def _told(step: Step, seat: Seat) -> list[tuple[str, int | None]]:
    return [(message.line, message.limit_ns) for message in step.messages if message.seat == seat]


def _spread(things: Sequence[T]) -> list[T]:
    """All of them, or SAMPLE of them from the first to the last."""
    if len(things) <= SAMPLE:
        return list(things)
    return [things[n * (len(things) - 1) // (SAMPLE - 1)] for n in range(SAMPLE)]
