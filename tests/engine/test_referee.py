"""The loop of a match, with a game small enough to be read here."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import pytest

from deadheat.engine.chance import Chance
from deadheat.engine.core import Fault, Message, Reply, Result, Seat, Step, TransportError
from deadheat.engine.memory import Answer, MemoryTransport
from deadheat.engine.referee import run_match
from tests.engine.players import seed

pytestmark = pytest.mark.quick

Play = Generator[Step, Mapping[Seat, Reply], Result]


class GuessTheDie:
    """Every seat guesses one die, and right guesses win. A match has two exchanges, one of them the farewell."""

    name = "guess"
    title = "Guess"
    rules_version = 3
    seats = range(1, 5)
    commands = ("GUESS",)

    def play(self, seats: int, chance: Chance) -> Play:
        die = chance.dice(1)[0]
        replies = yield Step(tuple(Message(seat, "GUESS", 10) for seat in range(seats)), ({"type": "ask"},))
        right = [replies[seat].line == str(die) for seat in range(seats)]
        faults = {seat: reply.fault for seat, reply in replies.items() if reply.fault is not None}
        yield Step(tuple(Message(seat, f"FINISH {die}") for seat in range(seats)))
        return Result(tuple(1 if it_was else 2 for it_was in right), None, faults)


def test_a_match_is_its_exchanges_and_its_result() -> None:
    transcript = run_match(GuessTheDie(), 2, seed(0), MemoryTransport([lambda _: "1", lambda _: "2"]), {"id": 7})
    ask, farewell = transcript.exchanges
    assert ask.messages == (Message(0, "GUESS", 10), Message(1, "GUESS", 10))
    assert (ask.replies, ask.events) == ({0: Reply("1", 0), 1: Reply("2", 0)}, ({"type": "ask"},))
    assert (farewell.replies, transcript.result.ranks) == ({}, (2, 1))
    assert (transcript.game, transcript.rules_version, transcript.seats) == ("guess", 3, 2)
    assert transcript.about == {"id": 7}


@pytest.mark.parametrize("seats", [0, 5, -1])
def test_a_game_is_not_played_by_a_number_of_seats_it_does_not_have(seats: int) -> None:
    with pytest.raises(ValueError, match="1 to 4 seats"):
        run_match(GuessTheDie(), seats, seed(0), MemoryTransport([]))


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        pytest.param(Answer("1", 10), Reply("1", 10), id="C-03-at-the-limit"),
        pytest.param(Answer("1", 11), Reply(None, 10, Fault.TIMEOUT), id="C-03-a-nanosecond-late"),
        pytest.param(None, Reply(None, 10, Fault.TIMEOUT), id="C-03-silence"),
        pytest.param(Answer(None, 3), Reply(None, 3, Fault.EXITED), id="C-05-exit"),
        pytest.param(Answer(None, 3, Fault.MEMORY), Reply(None, 3, Fault.MEMORY), id="memory"),
        pytest.param(Answer("x" * 4096, 3), Reply("x" * 4096, 3), id="C-09-longest-line"),
        pytest.param(Answer("x" * 4097, 3), Reply(None, 3, Fault.OVERFLOW), id="C-09-overflow"),
        pytest.param("x" * 4097, Reply(None, 0, Fault.OVERFLOW), id="C-09-overflow-in-no-time"),
        pytest.param(Answer("\udcff" * 4096, 3), Reply("\udcff" * 4096, 3), id="C-09-bytes-are-counted"),
        pytest.param(Answer("x" * 4097, 11), Reply(None, 10, Fault.TIMEOUT), id="C-02-late-before-overflow"),
        pytest.param(Answer(None, 11, Fault.EXITED), Reply(None, 10, Fault.TIMEOUT), id="C-02-late-before-exit"),
    ],
)
def test_simulated_time_is_judged_like_real_time(answer: Answer | str | None, reply: Reply) -> None:
    transcript = run_match(GuessTheDie(), 1, seed(0), MemoryTransport([lambda _: answer]))
    assert transcript.exchanges[0].replies == {0: reply}


class Broken:
    """Fails, or breaks a transport's promise: our failure, not a bot's."""

    def __init__(self, replies: Mapping[Seat, Reply] | TransportError) -> None:
        self.replies = replies

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        if isinstance(self.replies, TransportError):
            raise self.replies
        return self.replies


def test_our_own_failure_ends_the_match_without_a_transcript() -> None:
    with pytest.raises(TransportError) as failure:
        run_match(GuessTheDie(), 2, seed(0), Broken(TransportError("referee-late", "woke late", late_ns=9)))
    assert (failure.value.cause, failure.value.evidence) == ("referee-late", {"late_ns": 9})


@pytest.mark.parametrize(
    "replies",
    [
        {},
        {0: Reply("1", 0)},
        {0: Reply("1", 0), 1: Reply("1", 0), 2: Reply("1", 0)},
        {0: Reply("1", 0), 1: Reply(None, 0)},
        {0: Reply("1", 0), 1: Reply("1", 0, Fault.TIMEOUT)},
    ],
    ids=["none", "one missing", "one too many", "neither line nor fault", "line and fault"],
)
def test_a_transport_that_breaks_its_promise_is_caught(replies: Mapping[Seat, Reply]) -> None:
    with pytest.raises(AssertionError):
        run_match(GuessTheDie(), 2, seed(0), Broken(replies))


class AsksTwice(GuessTheDie):
    """Prompts a seat twice at once."""

    def play(self, seats: int, chance: Chance) -> Play:
        yield Step((Message(0, "ONE", 10), Message(0, "TWO", 10)))
        return Result((1,), None)


def test_a_game_may_prompt_a_seat_only_once_a_step() -> None:
    with pytest.raises(AssertionError, match="once a step"):
        run_match(AsksTwice(), 1, seed(0), MemoryTransport([lambda _: "1"]))


@pytest.mark.parametrize(
    ("faults", "rated"), [({}, True), ({0: Fault.TIMEOUT}, True), ({0: Fault.TIMEOUT, 1: Fault.EXITED}, False)]
)
def test_c01_a_match_that_all_seats_lost_by_fault_is_unrated(faults: Mapping[Seat, Fault], rated: bool) -> None:
    assert Result((1, 1), None, faults).rated is rated
