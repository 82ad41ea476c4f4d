"""Replies in JSON: how they may be spelled, and that every hostile line is a fault."""

import json
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.core import Fault
from deadheat.engine.games.parsing import MAX_NESTING, MAX_NUMBER_CHARACTERS, Refused, integer, json_object
from deadheat.games.liars_dice.rules import BIDS, HEIGHT, Bid, Move, check_action, count, read_action
from tests.engine.liars_players import CLAIMS, may_follow

pytestmark = pytest.mark.quick

CURRENT = Bid(3, 4)


def fault_of(line: str) -> Fault | None:
    """Return the fault of a reply to the current bid, or None. A refusal must quote little of a long line."""
    found = None
    try:
        check_action(read_action(line), CURRENT)
    except Refused as refused:
        found = refused
    assert found is None or len(found.why) < 100
    return found.fault if found else None


def a_bid(quantity: str, face: str = "5") -> str:
    return f'{{"type":"bid","quantity":{quantity},"faceValue":{face}}}'


# Integers (L-10) ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "five",
    [
        *("5", "5.0", "5e0", "5E0", "5e+0", "5e-0", "50e-1", "0.5e1", "0.05E+2", "500.00e-2", "5." + "0" * 900),
        *("5e" + "0" * 900, "5" + "0" * 900 + "e-900", "0." + "0" * 500 + "5e501"),
    ],
)
def test_l10_any_json_number_with_an_integral_value_is_an_integer(five: str) -> None:
    assert (read_action(a_bid(five)), read_action(a_bid("3", five))) == (Bid(5, 5), Bid(3, 5))


@pytest.mark.parametrize("zero", ["0", "-0", "0.0", "-0.0e7", "0e9999"])
def test_l10_zero_is_an_integer_and_no_quantity(zero: str) -> None:
    assert integer(json_object(a_bid(zero)), "quantity") == 0
    assert fault_of(a_bid(zero)) is Fault.ILLEGAL


NO_INTEGERS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "a text": '"5"',
    "an empty text": '""',
    "an array": "[5]",
    "an object": '{"5":5}',
    "a half": "5.5",
    "almost": "5.00000000000000000000000001",
    "almost, to a float": "4.9999999999999999999999999999",
    "small": "5e-1",
    "tiny": "5e-9999",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "1e999": "1e999",
    "1e9999": "1e9999",
    "1e99999": "1e99999",
    "an exponent of 900 digits": "1e" + "9" * 900,
    "a negative one": "1e-" + "9" * 900,
    "zero, far away": "0e99999",
    "ten digits": "1000000000",
    "nine hundred digits": "9" * 900,
    "four thousand digits": "9" * 4000,
    "five thousand digits": "9" * 5000,
    "five thousand digits behind the point": "5." + "0" * 5000,
    # Not JSON at all.
    "a sign": "+5",
    "a leading zero": "05",
    "no digit before the point": ".5e1",
    "no digit behind the point": "5.",
    "an underscore": "1_0",
    "hexadecimal": "0x5",
    "not ASCII": "\u0665",
    "a blank inside": "1 0",
    "nothing": "",
}


@pytest.mark.parametrize("number", NO_INTEGERS.values(), ids=NO_INTEGERS)
def test_l10_anything_else_is_malformed(number: str) -> None:
    assert fault_of(a_bid(number)) is Fault.MALFORMED
    assert fault_of(a_bid("4", number)) is Fault.MALFORMED


@pytest.mark.parametrize("quantity", ["-1", "0", "31", "999999999", "1e8", "-5.0"])
def test_an_integer_out_of_range_is_illegal(quantity: str) -> None:
    assert fault_of(a_bid(quantity)) is Fault.ILLEGAL
    assert fault_of(a_bid("4", quantity)) is Fault.ILLEGAL


def test_l10_the_verdict_does_not_hang_on_the_interpreters_limits() -> None:
    """A verifier may run with any limit on the digits of an integer."""
    lines = ["9" * 639, "9" * 641, "9" * 1000, "9" * 1001, "1e" + "9" * 900]
    faults = [(fault_of(a_bid(n)), fault_of(f'{{"type":"challenge","x":{n}}}')) for n in lines]
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        read_action.cache_clear()
        assert [(fault_of(a_bid(n)), fault_of(f'{{"type":"challenge","x":{n}}}')) for n in lines] == faults
    finally:
        sys.set_int_max_str_digits(before)


# Objects --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "action"),
    [
        pytest.param('{"type":"bid","quantity":3,"faceValue":4}', Bid(3, 4), id="the text's bid, compact"),
        pytest.param('{ "type": "bid", "quantity": 3, "faceValue": 4 }', Bid(3, 4), id="the text's bid"),
        pytest.param('{ "type": "challenge" }', Move.CHALLENGE, id="the text's challenge"),
        pytest.param('{ "type": "resign" }', Move.RESIGN, id="the text's resignation"),
        pytest.param(' \t{"faceValue":4,"type":"bid","quantity":3}\t\r', Bid(3, 4), id="C-06 blanks, any order"),
        pytest.param('{"type":"challenge","quantity":"x"}', Move.CHALLENGE, id="L-11 a field of another type"),
        pytest.param('{"type":"resign","a":[{"b":[1.5,1e999,null]}]}', Move.RESIGN, id="L-11 values of all kinds"),
        pytest.param('{"type":"challenge","sure":0.93,"why":"too \\u00e4ngstlich"}', Move.CHALLENGE, id="L-11 a note"),
        pytest.param('{"type":"bid","quantity":9,"faceValue":4,"quantity":3}', Bid(3, 4), id="L-12 the last counts"),
        pytest.param('{"quantity":[],"type":"bid","faceValue":4,"quantity":3}', Bid(3, 4), id="L-12 whatever is first"),
        pytest.param('{"type":"resign","type":"challenge"}', Move.CHALLENGE, id="L-12 of types"),
        pytest.param('{"\\u0074ype":"challeng\\u0065"}', Move.CHALLENGE, id="escapes are what they stand for"),
        pytest.param('{"type":"challenge","x":"\\ud83c\\udfb2"}', Move.CHALLENGE, id="a pair of surrogates"),
    ],
)
def test_a_reply_is_read(line: str, action: Bid | Move) -> None:
    assert read_action(line) == action


MALFORMED = {
    "C-06 nothing": "",
    "C-06 blanks": " \t\r",
    "a word": "challenge",
    "a text": '"challenge"',
    "an array": '["challenge"]',
    "a number": "5",
    "null": "null",
    "no type": "{}",
    "a type that is none": '{"type":"raise"}',
    "a type that is no text": '{"type":5}',
    "a type in an array": '{"type":["bid"]}',
    "no quantity": '{"type":"bid","faceValue":4}',
    "no face value": '{"type":"bid","quantity":4}',
    "another name": '{"type":"bid","quantity":4,"face":4}',
    "C-08 the case of a type": '{"type":"Challenge"}',
    "C-08 the case of a name": '{"Type":"challenge"}',
    "L-12 the last is bad": '{"type":"bid","quantity":4,"faceValue":4,"quantity":"4"}',
    "L-13 a byte-order mark": '\ufeff{"type":"challenge"}',
    "L-13 a byte-order mark as bytes": '\udcef\udcbb\udcbf{"type":"challenge"}',
    "C-09 a NUL": '{"type":"challenge"}\x00',
    "C-09 a NUL in a text": '{"type":"challenge","x":"\x00"}',
    "C-09 bytes": '{"type":"challenge","x":"\udcff"}',
    "C-09 not ASCII": '{"type":"challenge","x":"ä"}',
    "C-06 other space": '\u00a0{"type":"challenge"}',
    "C-06 a vertical tab": '\x0b{"type":"challenge"}',
    "a lone surrogate": '{"type":"challenge","x":"\\ud800"}',
    "a lone surrogate in a name": '{"type":"challenge","\\udfff":1}',
    "a lone surrogate, deep": '{"type":"challenge","x":[[{"y":"\\uD83C!"}]]}',
    "surrogates in the wrong order": '{"type":"challenge","x":"\\udfb2\\ud83c"}',
    "two objects": '{"type":"challenge"}{"type":"challenge"}',
    "something behind": '{"type":"challenge"},',
    "a comma too many": '{"type":"challenge",}',
    "no quotes": "{type:challenge}",
    "other quotes": "{'type':'challenge'}",
    "a comment": '{"type":"challenge"}//',
    "NaN where nobody looks": '{"type":"challenge","x":NaN}',
    "Infinity where nobody looks": '{"type":"challenge","x":[-Infinity]}',
    "a long number where nobody looks": '{"type":"challenge","x":' + "9" * (MAX_NUMBER_CHARACTERS + 1) + "}",
    "an open string": '{"type":"challenge',
    "half an escape": '{"type":"challenge","x":"\\',
    "a bad escape": '{"type":"challenge","x":"\\x41"}',
    "a short escape": '{"type":"challenge","x":"\\u12"}',
    "C-10 a farewell": "FINISH",
}


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
def test_a_reply_is_malformed(line: str) -> None:
    assert fault_of(line) is Fault.MALFORMED


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return '{"type":"challenge","x":' + (depth - 1) * opening + (depth - 1) * closing + "}"


def test_l10_nesting_has_a_limit_that_is_ours() -> None:
    assert fault_of(nested(MAX_NESTING)) is None
    assert fault_of(nested(MAX_NESTING + 1)) is Fault.MALFORMED
    assert fault_of('{"type":"challenge","x":[' + ",".join(["[[]]"] * 400) + "]}") is None, "wide is not deep"
    assert fault_of('{"type":"challenge","x":"' + 2000 * '[\\"{' + '"}') is None, "a bracket in a text is none"


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"a":' * 50_000, nested(50_000), "]" * 4000 + "[" * 4000, '"\\' * 2000, '[{"":' * 1000]
)
def test_l10_deep_nesting_is_malformed_and_no_crash(line: str) -> None:
    assert fault_of(line) is Fault.MALFORMED


# Fuzz -----------------------------------------------------------------------------------------------------------


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_no_text_gets_anything_but_a_fault_out_of_the_reader(line: str) -> None:
    assert fault_of(line) in (Fault.MALFORMED, Fault.ILLEGAL)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "quantity", "faceValue", "x"]), inner),
)


@given(JSON)
def test_no_json_gets_anything_but_a_fault_or_an_action_out_of_the_reader(value: object) -> None:
    assert fault_of(json.dumps(value)) in (Fault.MALFORMED, Fault.ILLEGAL) or isinstance(value, dict)


# Wild 1s --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hands", "face", "counted"),
    [
        pytest.param(["33116", "22456"], 3, 4, id="the text's example: two 3s and two 1s are four 3s"),
        pytest.param(["33116", "22456"], 1, 2, id="ones are not wild for themselves"),
        pytest.param(["33116", "22456"], 6, 4, id="ones count for every other face"),
        pytest.param(["33116", "22456"], 2, 4, id="of another hand as well"),
        pytest.param(["11111", "11111"], 5, 10, id="all wild"),
        pytest.param(["11111", "11111"], 1, 10, id="all ones"),
        pytest.param(["22222", "33333"], 1, 0, id="no ones"),
        pytest.param(["22222", "33333"], 4, 0, id="none at all"),
        pytest.param(["2", "1", "33", "12345", "66666", "55"], 2, 4, id="six hands of unequal size"),
        pytest.param([], 2, 0, id="no hands"),
    ],
)
def test_ones_count_as_any_face_but_not_the_other_way_round(hands: list[str], face: int, counted: int) -> None:
    assert count([tuple(map(int, hand)) for hand in hands], face) == counted


# Raising Rules ---------------------------------------------------------------------------------------------------

RAISES = {  # by current bid: the raises that are legal, and bids that are not
    # Non-1 to non-1: a higher quantity of any face, or the same quantity of a higher face.
    "3x4": ("4x2 4x4 9x6 3x5", "3x4 3x3 2x6"),
    # Non-1 to 1: at least half the quantity, rounded up. The text's example: 6 threes, then 3 ones.
    "6x3": ("3x1 4x1", "2x1"),
    "5x3": ("3x1", "2x1"),
    "7x6": ("4x1", "3x1"),
    "1x2": ("1x1", ""),
    "2x6": ("1x1", ""),
    "3x2": ("", "1x1"),
    "30x2": ("", "14x1"),
    # 1 to non-1: at least twice the quantity and one more. The text's example: 3 ones, then 7.
    # L-01: ones over ones, strictly more of them.
    "3x1": ("7x2 7x6 4x1", "6x6 3x1 2x1"),
    "1x1": ("3x2", "2x6"),
    "14x1": ("29x2", "28x6"),
    "29x1": ("30x1", ""),
    # L-04: above 14 ones no bid on another face is high enough.
    "15x1": ("16x1", "30x6"),
    "3x6": ("", "3x2"),
    "30x6": ("15x1", "30x5"),
    "30x1": ("", "30x6 30x1"),
}


def bid(text: str) -> Bid:
    """Read a bid like ``3x4``."""
    quantity, _, face = text.partition("x")
    return Bid(int(quantity), int(face))


def fault_in(action: Bid | Move, current: Bid | None) -> Fault | None:
    try:
        check_action(action, current)
    except Refused as refused:
        return refused.fault
    return None


@pytest.mark.parametrize("current", RAISES)
def test_l01_a_bid_must_raise_the_current_one(current: str) -> None:
    legal, illegal = RAISES[current]
    for text in legal.split():
        assert fault_in(bid(text), bid(current)) is None, text
    for text in illegal.split():
        assert fault_in(bid(text), bid(current)) is Fault.ILLEGAL, text


def test_l01_the_one_order_of_bids_is_what_the_texts_three_rules_say() -> None:
    assert len(CLAIMS) == len(HEIGHT) == 180
    for old in CLAIMS:
        for new in CLAIMS:
            assert (HEIGHT[Bid(*new)] > HEIGHT[Bid(*old)]) == may_follow(new, old), (old, new)


def test_l01_bids_form_a_total_order_so_that_a_round_has_180_at_most() -> None:
    for lower, higher in pairwise(BIDS):
        assert may_follow(higher, lower) and not may_follow(lower, higher)
    assert len(set(BIDS)) == len(BIDS) == 180


@pytest.mark.parametrize("opening", CLAIMS)
def test_l02_any_bid_opens(opening: tuple[int, int]) -> None:
    check_action(Bid(*opening), None)


@pytest.mark.parametrize(
    ("current", "left"),
    [
        ("30x5", ["30x6", *(f"{n}x1" for n in range(15, 31))]),
        ("30x6", [f"{n}x1" for n in range(15, 31)]),
        (
            "14x1",
            [*(f"29x{f}" for f in range(2, 7)), *(f"30x{f}" for f in range(2, 7)), *(f"{n}x1" for n in range(15, 31))],
        ),
        ("15x1", [f"{n}x1" for n in range(16, 31)]),
        ("29x1", ["30x1"]),
        ("30x1", []),
    ],
)
def test_l04_near_the_top_only_the_raises_that_exist_are_left(current: str, left: list[str]) -> None:
    legal = [claim for claim in CLAIMS if fault_in(Bid(*claim), bid(current)) is None]
    assert sorted(legal) == sorted(bid(text) for text in left)
    check_action(Move.CHALLENGE, bid(current))
    check_action(Move.RESIGN, bid(current))


# The other actions -----------------------------------------------------------------------------------------------


def test_l14_a_challenge_without_a_bid_is_illegal() -> None:
    assert fault_in(Move.CHALLENGE, None) is Fault.ILLEGAL


def test_resigning_is_always_legal() -> None:
    check_action(Move.RESIGN, None)
    check_action(Move.RESIGN, Bid(3, 4))


@pytest.mark.parametrize("claim", [(0, 3), (31, 3), (-1, 3), (3, 0), (3, 7), (3, -1), (0, 0), (999_999_999,) * 2])
@pytest.mark.parametrize("current", [None, Bid(3, 4)])
def test_there_is_no_bid_beyond_thirty_dice_and_six_faces(claim: tuple[int, int], current: Bid | None) -> None:
    assert fault_in(Bid(*claim), current) is Fault.ILLEGAL
