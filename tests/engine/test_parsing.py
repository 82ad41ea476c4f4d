"""The strict reader of replies: every line outside the grammar is a fault, and none raises any other exception."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.core import FOUND_BY_RULES, Fault, Reply
from deadheat.engine.games.parsing import Refused, expect, line_of, number, words
from deadheat.games.yacht_auction.rules import Player, read_bid, read_put

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("line", "expected"),
    [("OK", ["OK"]), (" \t\rOK\r\t ", ["OK"]), ("BID A 5\r", ["BID", "A", "5"]), ("BID \t A\t\t5", ["BID", "A", "5"])],
)
def test_c06_blanks_are_trimmed_and_part_words_in_runs(line: str, expected: list[str]) -> None:
    assert words(line) == expected


def fault_in(read: Callable[..., object], *arguments: object) -> Fault:
    with pytest.raises(Refused) as refused:
        read(*arguments)
    return refused.value.fault


@pytest.mark.parametrize("line", ["", " ", "\t\r ", "\r"])
def test_c06_an_empty_line_is_malformed(line: str) -> None:
    assert fault_in(words, line) is Fault.MALFORMED


@pytest.mark.parametrize("space", [*"\u00a0\u2003\u3000\ufeff\x0b\x0c\x1c\x85\u2028"], ids=ascii)
@pytest.mark.parametrize("place", ["{}OK", "OK{}", "BID{}A 5"])
def test_c06_other_space_is_malformed(space: str, place: str) -> None:
    assert fault_in(words, place.format(space)) is Fault.MALFORMED


@pytest.mark.parametrize("character", ["\x00", "\x7f", "\x1b", "\udcff", "é", "\uff21", "\r"], ids=ascii)
def test_c09_what_is_not_printable_ascii_is_malformed(character: str) -> None:
    assert fault_in(words, f"O{character}K") is Fault.MALFORMED


@pytest.mark.parametrize(
    ("word", "value"),
    [("0", 0), ("7", 7), ("007", 7), ("000000000", 0), ("999999999", 999_999_999), ("100000", 100_000)],
)
def test_c07_one_to_nine_digits_are_a_number(word: str, value: int) -> None:
    assert number(word) == value


@pytest.mark.parametrize(
    "word",
    [
        *("", "-1", "+1", "1_000", "1.0", "1e3", "0x10", "1234567890", "0000000001", "NaN"),
        *("\u0663", "\uff11", "\u00b2", "1\n", "9" * 5000),
    ],
)
def test_c07_anything_else_is_no_number(word: str) -> None:
    assert fault_in(number, word) is Fault.MALFORMED


@pytest.mark.parametrize("line", ["ok", "Ok", "OKAY", "OK OK", "PUT", "O K"])
def test_c11_ready_takes_exactly_ok(line: str) -> None:
    assert fault_in(expect, line, "OK", 0) is Fault.MALFORMED


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault not in FOUND_BY_RULES])
def test_every_fault_that_comes_without_a_line_has_its_reason(fault: Fault) -> None:
    with pytest.raises(Refused) as found:
        line_of(Reply(None, 0, fault))
    assert found.value.fault is fault
    assert str(found.value)


def test_arguments_come_back_without_the_command() -> None:
    assert expect(" BID A 5", "BID", 2) == ["A", "5"]


def test_a_refusal_quotes_little_of_a_long_line() -> None:
    with pytest.raises(Refused) as refused:
        expect("X" * 4000, "BID", 2)
    assert len(refused.value.why) < 100


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_no_text_gets_anything_but_a_fault_out_of_the_readers(line: str) -> None:
    for read in (read_bid, read_put):
        assert fault_in(read, line, Player(dice="1123456666")) in (Fault.MALFORMED, Fault.ILLEGAL)
