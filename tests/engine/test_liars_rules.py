"""The rules of Liar's Dice as tables from their source text. Names and parameters contain the ids of rulings."""

from __future__ import annotations

from itertools import pairwise

import pytest

from deadheat.engine.core import Fault
from deadheat.engine.games.parsing import Refused
from deadheat.games.liars_dice.rules import BIDS, HEIGHT, Bid, Move, check_action, count
from tests.engine.liars_players import CLAIMS, may_follow

pytestmark = pytest.mark.quick

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
