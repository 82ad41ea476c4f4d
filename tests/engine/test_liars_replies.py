"""Replies in JSON: how they may be spelled, and that every hostile line is a fault."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.core import Fault
from deadheat.engine.games.parsing import MAX_NESTING, MAX_NUMBER_CHARACTERS, Refused, integer, json_object
from deadheat.games.liars_dice.rules import Bid, Move, check_action, read_action

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
    """Return a bid whose numbers are spelled as given."""
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
