"""A running match, recreated from its replies: it equals what is played, and shows nothing hidden."""

from __future__ import annotations

import json

import pytest

from deadheat.engine.core import Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.engine.scenes import document_so_far, scenes, scenes_so_far
from deadheat.engine.transcript import BadTranscript, Transcript
from deadheat.engine.unfinished import objection, read_replies, unfinished, write_replies
from tests.engine.golden import NAMES, every_match, read

pytestmark = pytest.mark.quick


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
    assert objection(game, 2, transcript.seed, given, 1, "BID A 100") is None
    assert objection(game, 2, transcript.seed, given, 1, "BID C 100") == "bundle 'C' is neither A nor B"
    assert objection(game, 2, transcript.seed, given, 1, "BID A 100001") == "a bid of 100001, over 100000"
    dice = read("liars-dice")
    opened = [*replies(dice)[:1], {0: Reply('{"type":"bid","quantity":2,"faceValue":3}', 0)}]
    low = '{"type":"bid","quantity":2,"faceValue":2}', "2 of face 2 is not higher than 2 of face 3"
    for line, why in (('{"type":"challenge"}', None), low, ("hello", "not JSON")):
        assert objection(GAMES["liars-dice"], 2, dice.seed, opened, 1, line) == why


@every_match
def test_no_answer_that_counted_is_objected_to(name: str) -> None:
    transcript = read(name)
    game, given = GAMES[transcript.game], replies(transcript)
    tried = 12  # exchanges: each costs the whole match up to it
    for number, exchange in enumerate(transcript.exchanges[:tried]):
        for seat, reply in exchange.replies.items():
            if reply.line is not None and seat not in transcript.result.faults:
                assert objection(game, transcript.seats, transcript.seed, given[:number], seat, reply.line) is None
