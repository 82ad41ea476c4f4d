"""Parameters of games: what a variant may set, and that its transcript names it and verifies by no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from deadheat.engine.check import check_game
from deadheat.engine.core import Game
from deadheat.engine.games import GAMES, variants
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.replay import Diverged, known_rules, replay, why_unknown
from deadheat.engine.scenes import document
from deadheat.engine.transcript import BadTranscript, Transcript, decode, encode
from tests.bots.loading import bot_class, in_process

pytestmark = pytest.mark.quick

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
    with pytest.raises(variants.BadVariant, match="yacht-auction has no parameter rounds; it has none"):
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
