"""What holds in the matches of every game: names, bytes, and faults where both seats are asked at once."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.check import check_game
from deadheat.engine.core import Fault, Game, Message
from deadheat.engine.games import GAMES, variants
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.replay import Diverged, known_rules, replay, why_unknown
from deadheat.engine.scenes import document
from deadheat.engine.transcript import BadTranscript, Transcript, decode, encode
from tests.bots.loading import bot_class, in_process
from tests.engine import betris_players as betris
from tests.engine import liars_players as liars
from tests.engine import players as yacht
from tests.engine.golden import TRANSCRIPTS
from tests.engine.players import ANSWERS, FAULTY_AT, events, faulty, overheard, timed
from tests.engine.test_betris_match import example
from tests.lanes import examples

pytestmark = pytest.mark.quick

numbers = st.integers(0, 2**50)


def test_the_games_are_registered_under_their_names() -> None:
    assert {name: (game.name, game.rules_version, list(game.seats)) for name, game in GAMES.items()} == {
        "yacht-auction": ("yacht-auction", 1, [2]),
        "betris-large": ("betris-large", 1, [2]),
        "liars-dice": ("liars-dice", 1, [2, 3, 4, 5, 6]),
    }


SLOWLY: dict[str, Callable[[int], Transcript]] = {
    "yacht-auction": lambda number: yacht.play(number, yacht.Legal(number, 400_000_000)),
    "betris-large": lambda number: betris.play(number, betris.Legal(number, 416_000_000), betris.Legal(0, 1_000)),
    "liars-dice": lambda number: liars.play(2 + number % 5, number, p2=liars.Legal(number, 500_000_000, 15)),
}


@pytest.mark.parametrize("name", GAMES)
@given(numbers)
@examples(25)
def test_equal_seeds_and_replies_give_equal_bytes_that_replay(name: str, number: int) -> None:
    transcript = SLOWLY[name](number)
    data = encode(transcript)
    assert (encode(SLOWLY[name](number)), replay(GAMES[name], decode(data))) == (data, transcript)


# The golden transcripts ------------------------------------------------------------------------------------------


def golden() -> dict[str, Transcript]:
    """Play the matches whose bytes are kept; these change only with the format or the rules."""
    return {
        "yacht-auction.jsonl": yacht.play(2025, yacht.Legal(0, 400_000_000), yacht.Legal(1, 400_000_000)),
        "yacht-auction-forfeit.jsonl": yacht.play(
            2026, faulty(yacht.Legal(2), 3, "\tBID  B 00042\r"), faulty(yacht.Legal(3), 16, "PUT YACHT 666666")
        ),
        "yacht-auction-double-fault.jsonl": yacht.play(
            2027, faulty(yacht.Legal(4), 9, "PUT \udcc3("), faulty(yacht.Legal(5), 9, None)
        ),
        "betris-large.jsonl": betris.play(2025, betris.Legal(0, 416_000_000), betris.Legal(1, 416_000_000)),
        "betris-large-example.jsonl": example(),
        "betris-large-forfeit.jsonl": betris.play(
            2026, faulty(betris.Legal(2), 2, "\tPLACE  000\r"), faulty(betris.Legal(3), 16, "PLACE 1 8 8")
        ),
        "betris-large-double-fault.jsonl": betris.play(
            2027, faulty(betris.Legal(4), 9, "BET \udcc3( 1"), faulty(betris.Legal(5), 9, None)
        ),
        "betris-large-bank.jsonl": betris.play(
            2028, timed(betris.Legal(6), dict.fromkeys(range(1, betris.PROMPTS), 600_000_000))
        ),
        "liars-dice.jsonl": liars.play(2, 2025, p1=liars.Legal(0, 400_000_000)),
        "liars-dice-odd-spelling.jsonl": liars.play(
            2,
            2026,
            p1=faulty(liars.Legal(3), 1, ' {"quantity" : 50e-1, "faceValue":3.0,\t"type":"bid", "note":"\\u00e4"}\r'),
        ),
        "liars-dice-six.jsonl": liars.play(
            6,
            2027,
            p2=faulty(liars.Legal(4), 2, '{"type":"\udcc3"}'),
            p3=liars.Legal(6, resigns=6),
            p5=faulty(liars.Legal(5), 0, None),
        ),
    }


@pytest.mark.parametrize("name", golden())
def test_golden_transcripts_have_not_changed(name: str) -> None:
    """``python -m tests.engine.test_every_match`` writes them; a change needs a new version of format or rules."""
    stored = (TRANSCRIPTS / name).read_bytes()
    transcript = decode(stored)
    assert (encode(golden()[name]), replay(GAMES[transcript.game], transcript)) == (stored, golden()[name])


# Faults in the games in which both seats are asked at once -------------------------------------------------------

PROMPTS = 25

both_games = pytest.mark.parametrize("players", [yacht, betris], ids=["yacht-auction", "betris-large"])


@both_games
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("answer", "fault"), ANSWERS.values(), ids=ANSWERS)
def test_c13_c14_a_fault_at_any_prompt_ends_the_match_there(
    players: Any, answer: Answer | None, fault: Fault, seat: int
) -> None:
    for at_prompt in range(PROMPTS):
        seated: list[Player] = [players.Legal(0), players.Legal(1)]
        seated[seat] = faulty(seated[seat], at_prompt, answer)
        transcript = players.play(at_prompt, *seated)
        assert len(transcript.exchanges) == at_prompt + 2
        assert transcript.exchanges[-1].messages == (Message(1 - seat, "FINISH"),)
        assert transcript.result.faults == {seat: fault}
        assert (transcript.result.ranks, transcript.result.points) == ((2, 1) if seat == 0 else (1, 2), None)
        assert transcript.result.rated
        (told,) = events(transcript, "fault")
        prompt = transcript.last_prompt(seat)
        assert prompt is not None
        assert (told["seat"], told["fault"], told["command"]) == (seat, fault.value, prompt.message.command)


@both_games
@pytest.mark.parametrize(("first", "first_fault"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize(("second", "second_fault"), ANSWERS.values(), ids=ANSWERS)
def test_c01_two_faults_in_one_exchange_are_both_kept_and_nobody_wins(
    players: Any, first: Answer | None, first_fault: Fault, second: Answer | None, second_fault: Fault
) -> None:
    everywhere = first is None and second_fault is Fault.MALFORMED
    for at_prompt in range(PROMPTS) if everywhere else FAULTY_AT:
        seated = faulty(players.Legal(0), at_prompt, first), faulty(players.Legal(1), at_prompt, second)
        transcript = players.play(at_prompt, *seated)
        assert (len(transcript.exchanges), transcript.exchanges[-1].messages) == (at_prompt + 2, ())
        assert transcript.result.faults == {0: first_fault, 1: second_fault}
        assert (transcript.result.ranks, transcript.result.points) == ((1, 1), None)
        assert not transcript.result.rated
        assert [event["type"] for event in transcript.exchanges[-1].events] == ["fault", "fault", "final"]


# Hidden information ----------------------------------------------------------------------------------------------


def other_bid(at_prompt: int) -> str:
    """Return a bid that no legal player of Yacht Auction makes, or a fault where no bid is asked for."""
    return "BID B 77777" if at_prompt == 1 or (at_prompt % 2 == 0 and at_prompt < 24) else "PUT"


@pytest.mark.parametrize(("players", "other"), [(yacht, other_bid), (betris, lambda _: "PLACE 0")])
@given(numbers, st.sampled_from([0, 1]), st.integers(0, PROMPTS - 1), st.sampled_from(["fault", "reply", "time"]))
@examples(100)
def test_c14_no_reply_reaches_the_other_seat_before_it_has_answered(
    players: Any, other: Callable[[int], str], number: int, seat: int, at_prompt: int, kind: str
) -> None:
    """After a change of a seat's reply or time, the other is sent the same until it has answered that prompt."""
    heard: list[list[str]] = []
    for changed in (False, True):
        seated: list[Player] = [players.Legal(0), players.Legal(1)]
        if changed and kind == "time":
            seated[seat] = timed(seated[seat], {at_prompt: 123_456_789})
        elif changed:
            seated[seat] = faulty(seated[seat], at_prompt, None if kind == "fault" else other(at_prompt))
        heard.append([])
        seated[1 - seat] = overheard(seated[1 - seat], heard[-1])
        players.play(number, *seated)
    asked = ("READY", "ROLL", "SCORE", "PHASE1", "PHASE2")
    known = [n for n, line in enumerate(heard[0]) if line.split()[0] in asked][at_prompt] + 1
    assert heard[1][:known] == heard[0][:known]
    if kind == "fault":
        assert heard[1][known:] == ["FINISH"]


if __name__ == "__main__":
    for file_name, match in golden().items():
        (TRANSCRIPTS / file_name).write_bytes(encode(match))


VARIED = {"liars-dice": {"dice": 2, "turn_ms": 700}, "betris-large": {"bank_ms": 2500}}


def played(game: Game) -> Transcript:
    new_bot = in_process(bots_of(game.name) / "random")
    return run_match(game, 2, bytes(16), MemoryTransport([new_bot(seed) for seed in (1, 2)]))


@pytest.mark.parametrize(("name", "variant"), VARIED.items())
def test_a_variant_is_in_the_transcript_and_replays_by_its_own_numbers(name: str, variant: Mapping[str, int]) -> None:
    game = variants.varied(GAMES[name], variant)
    transcript = decode(encode(played(game)))
    assert transcript.variant == variant == variants.variant_of(game)
    assert known_rules(transcript)
    assert replay(variants.rules_of(transcript), transcript) == transcript
    with pytest.raises(ValueError, match="not with the usual numbers"):
        replay(GAMES[name], transcript)
    for parameter in variant:
        forged = replace(transcript, variant={**variant, parameter: variant[parameter] + 1})
        with pytest.raises(Diverged):
            replay(variants.rules_of(forged), decode(encode(forged)))
    hidden = replace(transcript, variant={})
    with pytest.raises(Diverged):
        replay(variants.rules_of(hidden), decode(encode(hidden)))


@pytest.mark.parametrize("name", VARIED)
def test_the_rules_themselves_leave_no_word_in_a_transcript(name: str) -> None:
    assert b"variant" not in encode(played(GAMES[name]))
    usual = {each.name: each.usual for each in variants.parameters(GAMES[name])}
    assert encode(played(variants.varied(GAMES[name], usual))) == encode(played(GAMES[name]))


@pytest.mark.parametrize(("name", "variant"), VARIED.items())
def test_a_variant_is_a_game_like_any_other(name: str, variant: Mapping[str, int]) -> None:
    check_game(variants.varied(GAMES[name], variant), bot_class(bots_of(name) / "random"))


def test_the_numbers_rule() -> None:
    dealt = played(variants.rules("liars-dice", ["dice=2"])).events()
    (first, *_) = (event for event in dealt if event["type"] == "round")
    assert first["counts"] == [2, 2]
    prompts = played(variants.rules("liars-dice", ["turn_ms=700"])).prompts()
    assert {prompt.limit_ns for prompt in prompts} == {3 * 10**9, 7 * 10**8}
    bank = played(variants.rules("betris-large", ["bank_ms=2500"]))
    assert bank.exchanges[1].messages[0].line.endswith(" 2500 2500")
    assert document(bank, ["a", "b"])["board"]["bank_ms"] == 2500


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["dice=6"], "dice is 6, and must be from 1 to 5"),
        (["dice=0"], "dice is 0, and must be from 1 to 5"),
        (["bank=3"], "liars-dice has no parameter bank; there are dice, turn_ms"),
        (["dice"], "'dice' must be NAME=NUMBER, each name once"),
        (["dice=-1"], "'dice=-1' must be NAME=NUMBER, each name once"),
        (["dice=2", "dice=3"], "'dice=3' must be NAME=NUMBER, each name once"),
    ],
)
def test_what_cannot_be_set_is_refused_with_a_sentence(words: list[str], why: str) -> None:
    with pytest.raises(variants.BadVariant) as refused:
        variants.rules("liars-dice", words)
    assert str(refused.value) == why


def test_a_game_without_parameters_takes_none() -> None:
    assert variants.read(None) == {}
    assert variants.rules("yacht-auction", None) is GAMES["yacht-auction"]
    with pytest.raises(variants.BadVariant, match="has no parameter rounds"):
        variants.rules("yacht-auction", ["rounds=3"])


def test_what_differs_is_said_in_words() -> None:
    assert variants.differences(GAMES["liars-dice"]) == []
    assert variants.differences(variants.rules("liars-dice", ["dice=2"])) == [
        "Dice of each player at the beginning: 2 instead of 5"
    ]


def test_of_numbers_that_are_out_of_bounds_nothing_can_be_said() -> None:
    transcript = replace(played(GAMES["liars-dice"]), variant={"dice": 9})
    assert not known_rules(transcript)
    assert "with dice 9" in why_unknown(transcript)
    assert document(transcript, ["a", "b"])["game"] == ""


def test_a_variant_has_one_spelling() -> None:
    head, _, rest = encode(played(variants.rules("liars-dice", ["turn_ms=700", "dice=2"]))).partition(b"\n")
    assert b'"variant":{"dice":2,"turn_ms":700},"about"' in head
    for other in (b'"variant":{"turn_ms":700,"dice":2}', b'"variant":{"dice":2.0,"turn_ms":700}', b'"variant":[]'):
        changed = head.replace(b'"variant":{"dice":2,"turn_ms":700}', other)
        with pytest.raises(BadTranscript):
            decode(changed + b"\n" + rest)
