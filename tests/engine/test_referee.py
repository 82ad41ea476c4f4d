"""The referee, and matches that are not over."""

import json
from collections.abc import Generator, Mapping, Sequence

import pytest

from deadheat.engine.chance import Chance
from deadheat.engine.core import Fault, Message, Reply, Result, Seat, Step, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.memory import Answer, MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.scenes import document_so_far, scenes, scenes_so_far
from deadheat.engine.transcript import BadTranscript, Transcript
from deadheat.engine.unfinished import Playing, read_replies, unfinished, write_replies
from tests.engine.golden import NAMES, every_match, read
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


def replies(transcript: Transcript) -> list[dict[int, Reply]]:
    return [dict(exchange.replies) for exchange in transcript.exchanges]


@every_match
def test_replies_make_the_match_again_up_to_any_moment(name: str) -> None:
    transcript = read(name)
    game, given = GAMES[transcript.game], replies(transcript)
    for length in {0, 1, len(given) // 2, len(given) - 1}:
        found = unfinished(game, transcript.seats, transcript.seed, given[:length])
        assert found.exchanges[:-1] == transcript.exchanges[:length]
        assert found.exchanges[-1].messages == transcript.exchanges[length].messages
        assert found.exchanges[-1].events == transcript.exchanges[length].events
        assert not found.exchanges[-1].replies
        assert found.result is None
    whole = unfinished(game, transcript.seats, transcript.seed, given)
    assert (whole.exchanges, whole.result) == (transcript.exchanges, transcript.result)


@every_match
def test_a_replay_knows_each_earlier_moment_too(name: str) -> None:
    transcript = read(name)
    game, given = GAMES[transcript.game], replies(transcript)
    playing, text = Playing(game, transcript.seats, transcript.seed, given), write_replies(given)
    for length in {0, 1, len(given) // 2, len(given) - 1, len(given)}:
        assert playing.so_far(length) == unfinished(game, transcript.seats, transcript.seed, given[:length])
        assert write_replies(given[length:], write_replies(given[:length])) == text


@every_match
def test_its_scenes_are_those_of_the_finished_match(name: str) -> None:
    transcript = read(name)
    names = NAMES[: transcript.seats]
    whole = unfinished(GAMES[transcript.game], transcript.seats, transcript.seed, replies(transcript))
    assert scenes_so_far(GAMES[transcript.game], whole, names) == scenes(transcript, names)[:-1]


@pytest.mark.parametrize("name", ["liars-dice", "liars-dice-six", "liars-dice-odd-spelling"])
def test_whoever_watches_sees_no_hand_before_it_is_revealed(name: str) -> None:
    transcript = read(name)
    game, given = GAMES["liars-dice"], replies(transcript)
    for length in range(len(given)):
        found = unfinished(game, transcript.seats, transcript.seed, given[:length])
        for sight in (None, *range(transcript.seats)):
            shown = document_so_far(game, found.seen_by(sight), NAMES[: transcript.seats])
            for scene in shown["scenes"]:
                hands = scene["state"]["hands"]
                assert all(not hand for seat, hand in enumerate(hands) if seat != sight), "only one's own"
    nothing = unfinished(game, transcript.seats, transcript.seed, [])
    assert not list(nothing.events()), "before READY is answered nothing is dealt"


def test_one_sees_ones_own_hand() -> None:
    transcript = read("liars-dice")
    found = unfinished(GAMES["liars-dice"], 2, transcript.seed, replies(transcript)[:1]).seen_by(1)
    (scene,) = scenes_so_far(GAMES["liars-dice"], found, NAMES[:2])
    hands = scene.state["hands"]
    assert (len(hands[0]), len(hands[1])) == (0, 5)


@pytest.mark.parametrize("name", ["yacht-auction", "betris-large"])
def test_nothing_that_follows_from_the_seed_is_shown_before_its_time(name: str) -> None:
    """The shown part only grows, and contains no later round."""
    transcript = read(name)
    whole = scenes(transcript, NAMES[:2])
    before = 0
    for length in range(len(transcript.exchanges)):
        found = unfinished(GAMES[name], 2, transcript.seed, replies(transcript)[:length])
        shown = json.dumps(document_so_far(GAMES[name], found.seen_by(None), NAMES[:2]))
        assert transcript.seed.hex() not in shown
        so_far = scenes_so_far(GAMES[name], found.seen_by(None), NAMES[:2])
        assert before <= len(so_far) and so_far == whole[: len(so_far)]
        assert all(scene.exchange <= length for scene in so_far), "no later round"
        before = len(so_far)


@every_match
def test_replies_survive_being_written_down(name: str) -> None:
    given = replies(read(name))
    assert read_replies(write_replies(given)) == given


def test_odd_replies_survive_it_too_and_others_are_refused() -> None:
    odd = [{0: Reply("\udcff \0 \u202e", 3, None, None, 7), 1: Reply(None, 9, Fault.TIMEOUT, 4)}]
    assert read_replies(write_replies(odd)) == odd
    for bad in ("", "{", "[[1]]", '[[[0,"x",1,"no such fault",null,0]]]'):
        with pytest.raises(BadTranscript):
            read_replies(bad)


def test_replies_that_nobody_asked_for_are_refused() -> None:
    game = GAMES["yacht-auction"]
    with pytest.raises(ValueError, match="asks seats"):
        unfinished(game, 2, bytes(16), [{0: Reply("OK", 0)}])
    late = [*replies(read("yacht-auction")), {}]
    with pytest.raises(ValueError, match="after the end"):
        unfinished(game, 2, read("yacht-auction").seed, late)


def test_a_line_is_tried_before_it_counts() -> None:
    game, transcript = GAMES["yacht-auction"], read("yacht-auction")
    given = replies(transcript)[:1]
    assert Playing(game, 2, transcript.seed, given).objection(1, "BID A 100") is None
    assert Playing(game, 2, transcript.seed, given).objection(1, "BID C 100") == "bundle 'C' is neither A nor B"
    assert Playing(game, 2, transcript.seed, given).objection(1, "BID A 100001") == "a bid of 100001, over 100000"
    dice = read("liars-dice")
    opened = [*replies(dice)[:1], {0: Reply('{"type":"bid","quantity":2,"faceValue":3}', 0)}]
    low = '{"type":"bid","quantity":2,"faceValue":2}', "2 of face 2 is not higher than 2 of face 3"
    for line, why in (('{"type":"challenge"}', None), low, ("hello", "not JSON")):
        assert Playing(GAMES["liars-dice"], 2, dice.seed, opened).objection(1, line) == why


@every_match
def test_no_answer_that_counted_is_objected_to(name: str) -> None:
    transcript = read(name)
    game, given = GAMES[transcript.game], replies(transcript)
    tried = 12  # exchanges: each costs the whole match up to it
    for number, exchange in enumerate(transcript.exchanges[:tried]):
        for seat, reply in exchange.replies.items():
            if reply.line is not None and seat not in transcript.result.faults:
                playing = Playing(game, transcript.seats, transcript.seed, given[:number])
                assert playing.objection(seat, reply.line) is None
