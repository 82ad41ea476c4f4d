"""Matches of a game in memory, with a bot that plays it and every step checked; the checks of games build on them."""

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
    Fault,
    Game,
    Message,
    Reply,
    Result,
    Seat,
    Step,
)
from deadheat.engine.figures import duration
from deadheat.engine.games.variants import variant_of
from deadheat.engine.replay import Diverged, replay
from deadheat.engine.transcript import BadTranscript, Exchange, Transcript, decode, encode

MOST_EXCHANGES = 30_000
"""By then, random play has ended in every built-in game."""

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
        """Return the reply to a line that ends with its newline; None for a notice. FINISH is never passed to it."""


class NotConforming(Exception):
    """The game breaks a rule that binds every game; the text says which one, and where."""


@dataclass(slots=True)
class Match:
    """One match: its inputs and its outcome."""

    seats: int
    seed: bytes
    steps: list[Step] = field(default_factory=list)
    replies: list[Replies] = field(default_factory=list)
    result: Result | None = None
    draws: int = 0
    others: Mapping[Place, str | None] = field(default_factory=dict)  # what another bot would have replied


class Enough(Exception):
    """Ends a match early."""


class _Exactly(dict[Seat, Reply]):
    """Requires replies of exactly the prompted seats."""

    def __missing__(self, seat: Seat) -> Reply:
        raise NotConforming(f"it looks for a reply of seat {seat}, which it did not prompt")


class _Traced(Chance):
    """Counts the draws and changes one of them."""

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


def play_match(game: Game, seats: int, seed: bytes, answer: Answer, changed_draw: int | None = None) -> Match:
    """Play a match to its end, or until `answer` raises `Enough`; `changed_draw`: which draw of chance is changed."""
    match = Match(seats, seed)
    chance = _Traced(seed, changed_draw)
    play = game.play(seats, chance)
    step = advance(play, None, "before READY")
    try:
        while isinstance(step, Step):
            number = len(match.steps)
            if number == MOST_EXCHANGES:
                raise NotConforming(f"it has not ended after {number} exchanges")
            match.steps.append(step)
            _check_step(step, game.commands, seats, number)
            replies = answer(number, step)
            match.replies.append(replies)
            # Last seat first: the order of the replies must not matter.
            step = advance(play, _Exactly(reversed(list(replies.items()))), f"after exchange {number}")
    except Enough:
        return match
    match.result, match.draws = step, chance.draws
    return match


def advance(play: Play, replies: Replies | None, when: str) -> Step | Result:
    """Give the game its replies; return its next step or its result. Raises NotConforming: it raises anything."""
    try:
        return next(play) if replies is None else play.send(replies)
    except StopIteration as stop:
        if isinstance(stop.value, Result):
            return stop.value
        raise NotConforming(f"{when} it returns {stop.value!r} and not a Result") from None
    except NotConforming:
        raise
    except Exception as error:  # catch everything: any exception of the game is a finding
        raise NotConforming(f"{when} it raises {type(error).__name__}: {error}") from error


class Bots:
    """Answers with one bot for each seat, and notes what another bot in its place would have replied."""

    def __init__(self, new_bot: Callable[[int], Bot], seats: int, number: int, doubles: bool = False) -> None:
        self.bots = [new_bot(100 * number + seat) for seat in range(seats)]
        self.doubles = {seat: new_bot(100 * number + 50 + seat) for seat in range(seats) if doubles}
        self.others: dict[Place, str | None] = {}

    def __call__(self, number: int, step: Step) -> Replies:
        """Deliver every line to its bot; each reply takes up to a hundredth of its limit."""
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
        """Ask the other bot, which has not made its seat's earlier moves. Return None if it cannot answer."""
        double = self.doubles.get(message.seat)
        if double is None:
            return None
        try:
            return double.answer(message.line + "\n")
        except Exception:  # noqa: BLE001  it is somebody else's program in a position that it does not know
            del self.doubles[message.seat]
            return None


class Recorded:
    """Gives the replies of a match again, with changes, for as long as the same seats are asked."""

    def __init__(self, match: Match, changes: Mapping[Place, Reply]) -> None:
        self.match = match
        self.changes = changes

    def __call__(self, number: int, step: Step) -> Replies:
        prompted = {message.seat for message in step.messages if message.limit_ns is not None}
        if number >= len(self.match.replies) or prompted != self.match.replies[number].keys():
            raise Enough
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
                raise NotConforming(f"{where} the limit {message.limit_ns!r} is not a time in whole nanoseconds")
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", message.command):
                raise NotConforming(f"{where} the prompt {message.line!r} does not begin with a word in capitals")
    prompts = [(message.seat, message.command, message.limit_ns) for message in step.messages]
    if number == 0 and prompts != [(seat, "READY", READY_LIMIT_NS) for seat in range(seats)]:
        limit = duration(READY_LIMIT_NS)
        raise NotConforming(f"{where} it does not ask all seats READY with a limit of {limit}, and nothing else")
    for message in step.messages:
        if message.limit_ns is not None and message.command not in commands:
            known = ", ".join(commands)
            raise NotConforming(f"{where} the prompt {message.command!r} is none of its commands: {known}")
    for event in step.events:
        try:
            again = json.loads(json.dumps(event))
        except (TypeError, ValueError):
            again = None
        if again != event or not isinstance(event.get("type"), str):
            cure = "use lists instead of tuples, and only texts as keys"
            raise NotConforming(f"{where} the event {event!r} is not JSON with a type: {cure}")
        owned = type(event.get("seat")) is int and event["seat"] in range(seats)
        if event.get("private", False) not in (True, False) or (event.get("private") and not owned):
            raise NotConforming(f"{where} the event {event!r} is private and does not say whose: it needs a seat")


def check_result(match: Match, faults: Mapping[Seat, Fault | None]) -> None:
    """Raise NotConforming unless the result fits. `faults` were injected; None: a malformed or illegal line."""
    result = match.result
    assert result is not None
    if result.faults.keys() != faults.keys():
        events = [dict(event) for step in match.steps for event in step.events if event["type"] == "fault"]
        raise NotConforming(
            f"faults of seats {sorted(faults)} end as {dict(result.faults)}; its events report {events}"
        )
    for seat, fault in faults.items():
        if result.faults[seat] not in ((fault,) if fault else FOUND_BY_RULES):
            raise NotConforming(f"seat {seat}'s fault {fault or 'of a bad line'} is recorded as {result.faults[seat]}")
    ranks = list(result.ranks)
    if len(ranks) != match.seats or any(rank != 1 + sum(other < rank for other in ranks) for rank in ranks):
        raise NotConforming(f"the ranks {result.ranks} do not say for each seat how many are before it, and 1")
    if len(faults) == match.seats and (set(ranks) != {1} or result.points is not None):
        raise NotConforming(f"all have failed: all must rank 1 and score None, not {result.ranks} and {result.points}")
    if len(faults) < match.seats and any(ranks[seat] == 1 for seat in faults):
        raise NotConforming(f"seat {min(faults)} has failed, and yet the ranks are {result.ranks}")
    points = result.points
    if points is not None and (len(points) != match.seats or any(type(p) not in (int, Fraction) for p in points)):
        raise NotConforming(f"the points {points} are not an int or a Fraction for each seat")
    messages, left = list(match.steps[-1].messages), [seat for seat in range(match.seats) if seat not in faults]
    farewell = [Message(seat, "FINISH") for seat in left]
    notices = messages[: len(messages) - len(farewell)]
    if messages[len(notices) :] != farewell or any(m.limit_ns is not None or m.line == "FINISH" for m in notices):
        raise NotConforming(f"its last step does not end with FINISH to seats {left}, but is {messages}")


def check_replay(game: Game, match: Match) -> None:
    """Raise NotConforming unless the match follows from its own transcript, written and read again."""
    assert match.result is not None
    exchanges = [Exchange(s.messages, r, s.events) for s, r in zip(match.steps, match.replies, strict=True)]
    rules, variant = (game.name, game.rules_version), variant_of(game)
    played = Transcript(*rules, match.seats, match.seed, tuple(exchanges), match.result, variant=variant)
    try:
        again = replay(game, decode(encode(played)))
    except (Diverged, BadTranscript) as error:
        raise NotConforming(f"played again from its transcript it is another match: {error}") from error
    if again != played:
        raise NotConforming("its transcript does not survive being written and read")


def seed_of(number: int) -> bytes:
    """Return the seed of the n-th match of a check."""
    return number.to_bytes(SEED_BYTES, "big")
