"""The rules of Yacht Auction as tables from their source text. Names and parameters contain the ids of rulings."""

from collections.abc import Callable

import pytest

from deadheat.engine.core import Fault
from deadheat.engine.games.parsing import Refused
from deadheat.games.yacht_auction.rules import (
    BASIC,
    CATEGORIES,
    Bid,
    Player,
    Put,
    adjustment,
    assign,
    read_bid,
    read_put,
)

pytestmark = pytest.mark.quick

SCORES = {  # dice = thousands of points
    # Basic: the sum of the dice that show the face.
    "ONE": "11111=5 11234=2 23456=0",
    "TWO": "22222=10 12326=4",
    "THREE": "33333=15 13131=6",
    "FOUR": "44444=20 44123=8",
    "FIVE": "55555=25 51555=20",
    "SIX": "66666=30 12345=0",
    # Any five dice.
    "CHOICE": "11111=5 12346=16 66666=30",
    # At least four of a face: the sum of all five.
    "FOUR_OF_A_KIND": "33331=13 61666=25 22222=10 33322=0 12345=0",
    # Three and two; five equal dice as well (Y-01).
    "FULL_HOUSE": "33322=13 16161=15 33331=0 33221=0 12345=0 11111=5 22222=10 33333=15 44444=20 55555=25 66666=30",
    # A run of four among them, in any order; the fifth die does not matter.
    "SMALL_STRAIGHT": "12346=15 23455=15 34561=15 64153=15 12345=15 65432=15 12356=0 12456=0 11223=0",
    # All five in sequence.
    "LARGE_STRAIGHT": "12345=30 62345=30 13456=0 12346=0 23455=0",
    # All five the same.
    "YACHT": "11111=50 66666=50 66665=0 56666=0",
}


@pytest.mark.parametrize("category", SCORES)
def test_y01_five_dice_score_what_the_text_says(category: str) -> None:
    for row in SCORES[category].split():
        dice, thousands = row.split("=")
        assert CATEGORIES[category](dice) == 1_000 * int(thousands), dice


@pytest.mark.parametrize("category", CATEGORIES)
def test_y05_the_order_of_the_dice_never_matters(category: str) -> None:
    for dice in ("12345", "33322", "44441", "55555", "13456", "61666"):
        turned = [dice[n:] + dice[:n] for n in range(5)]
        assert {CATEGORIES[category](one) for one in [*turned, dice[::-1]]} == {CATEGORIES[category](dice)}


def test_the_text_names_twelve_categories() -> None:
    assert ([*CATEGORIES], len(SCORES)) == ([*SCORES], 12)


def player_with(basic: str, combination: int = 0, bids: int = 0) -> Player:
    """`basic` says how many dice of each face from 1 to 6 were scored."""
    scores = {name: 1_000 * (n + 1) * int(basic[n]) for n, name in enumerate(BASIC)}
    return Player("", {**scores, "CHOICE": combination}, bids)


@pytest.mark.parametrize(
    ("player", "basic", "bonus", "total"),
    [
        (player_with("333333"), 63_000, 35_000, 98_000),
        (player_with("233333"), 62_000, 0, 62_000),
        (player_with("433333"), 64_000, 35_000, 99_000),
        (player_with("555555"), 105_000, 35_000, 140_000),
        (player_with("233333", combination=30_000), 62_000, 0, 92_000),
        (player_with("233333", bids=100_000), 62_000, 0, 162_000),
        (player_with("333333", bids=-100_000), 63_000, 35_000, -2_000),
        (player_with("000000", bids=-1_200_000), 0, 0, -1_200_000),
    ],
    ids=["63", "62", "64", "most", "Y-04-combinations", "Y-04-bids-won", "Y-04-bids-paid", "Y-08-negative"],
)
def test_y04_the_bonus_is_for_63000_in_the_basic_categories(player: Player, basic: int, bonus: int, total: int) -> None:
    assert (player.basic, player.bonus, player.total) == (basic, bonus, total)


def test_y04_one_point_below_the_threshold_earns_nothing() -> None:
    assert (Player("", {"SIX": 62_999}).bonus, Player("", {"SIX": 63_000}).bonus) == (0, 35_000)


A, B = "A", "B"


@pytest.mark.parametrize(
    ("bids", "coin", "received", "changes"),
    [
        pytest.param((Bid(A, 10), Bid(B, 70)), 0, (A, B), (-10, -70), id="Y-02 different targets: each pays its own"),
        pytest.param((Bid(B, 10), Bid(A, 70)), 1, (B, A), (-10, -70), id="Y-02 the other way round"),
        pytest.param((Bid(A, 10), Bid(A, 70)), 0, (B, A), (10, -70), id="Y-03 the loser gains its own bid"),
        pytest.param((Bid(A, 70), Bid(A, 10)), 1, (A, B), (-70, 10), id="Y-03 seat 0 wins"),
        pytest.param((Bid(B, 70), Bid(B, 10)), 1, (B, A), (-70, 10), id="Y-03 of bundle B"),
        pytest.param((Bid(B, 10), Bid(B, 11)), 0, (A, B), (10, -11), id="higher by one"),
        pytest.param((Bid(A, 50), Bid(A, 50)), 0, (A, B), (-50, 50), id="tie, coin for seat 0"),
        pytest.param((Bid(A, 50), Bid(A, 50)), 1, (B, A), (50, -50), id="tie, coin for seat 1"),
        pytest.param((Bid(B, 50), Bid(B, 50)), 0, (B, A), (-50, 50), id="tie for B"),
        pytest.param((Bid(A, 0), Bid(A, 0)), 0, (A, B), (0, 0), id="Y-12 0 against 0, coin for seat 0"),
        pytest.param((Bid(A, 0), Bid(A, 0)), 1, (B, A), (0, 0), id="Y-12 0 against 0, coin for seat 1"),
        pytest.param((Bid(A, 50), Bid(B, 50)), 1, (A, B), (-50, -50), id="equal bids on different bundles: no tie"),
        pytest.param((Bid(A, 0), Bid(A, 100_000)), 0, (B, A), (0, -100_000), id="the widest difference"),
    ],
)
def test_bundles_are_assigned_and_bids_settled(
    bids: tuple[Bid, Bid], coin: int, received: tuple[str, str], changes: tuple[int, int]
) -> None:
    assert assign(bids, coin) == received
    assert (adjustment(bids[0], received[0]), adjustment(bids[1], received[1])) == changes


@pytest.mark.parametrize(
    ("line", "bid"),
    [
        ("BID A 0", Bid("A", 0)),
        ("BID B 100000", Bid("B", 100_000)),
        (" \tBID   A\t007 \r", Bid("A", 7)),
        ("BID A 000100000", Bid("A", 100_000)),
    ],
)
def test_a_bid_is_read(line: str, bid: Bid) -> None:
    assert read_bid(line, Player()) == bid


ILLEGAL_BIDS = "BID A 100001|BID A 999999999"
MALFORMED_BIDS = (
    "BID A 1000000000|BID A -1|BID A +1|BID A 1.0|BID A 1_0|BID A 1e3|BID A x|BID A|BID A 1 1|BID C 1|BID AB 1|BID a 1|"
    "bid A 1|PUT A 1|BID,A,1|"
)


def fault_in(read: Callable[[str, Player], object], line: str, player: Player) -> Fault:
    with pytest.raises(Refused) as refused:
        read(line, player)
    return refused.value.fault


def lines_by_fault(illegal: str, malformed: str) -> list[tuple[Fault, str]]:
    return [
        (fault, line)
        for fault, lines in ((Fault.ILLEGAL, illegal), (Fault.MALFORMED, malformed))
        for line in lines.split("|")
    ]


@pytest.mark.parametrize(("fault", "line"), lines_by_fault(ILLEGAL_BIDS, MALFORMED_BIDS))
def test_a_bid_is_refused(fault: Fault, line: str) -> None:
    assert fault_in(read_bid, line, Player()) is fault


HELD = Player(dice="1123456666", scores={"ONE": 3_000})


@pytest.mark.parametrize(
    ("line", "put"),
    [
        ("PUT CHOICE 11234", Put("CHOICE", "11234")),
        ("PUT YACHT 66166", Put("YACHT", "66166")),
        ("PUT SIX 66662", Put("SIX", "66662")),
        ("  PUT\tTWO  54321 \r", Put("TWO", "54321")),
    ],
    ids=["first", "Y-09-for-no-points", "all-of-a-face", "C-06-Y-05-any-order"],
)
def test_a_scoring_is_read_in_the_players_own_order(line: str, put: Put) -> None:
    assert read_put(line, HELD) == put


ILLEGAL_SCORINGS = "PUT ONE 11234|PUT CHOICE 11123|PUT CHOICE 66666|PUT CHOICE 12344"
MALFORMED_SCORINGS = (
    "PUT CHOICE 1123|PUT CHOICE 112345|PUT CHOICE 11237|PUT CHOICE 01123|PUT CHOICE 1 1 2 3 4|PUT CHOICE 1123x|"
    "PUT CHOICE 1x234|PUT CHOICE|PUT 11234 CHOICE|PUT choice 11234|PUT SEVEN 11234|PUT FULL HOUSE 11234|"
    "SET CHOICE 11234|put CHOICE 11234"
)


@pytest.mark.parametrize(("fault", "line"), lines_by_fault(ILLEGAL_SCORINGS, MALFORMED_SCORINGS))
def test_a_scoring_is_refused(fault: Fault, line: str) -> None:
    assert fault_in(read_put, line, HELD) is fault


def test_y05_in_round_13_only_the_five_dice_held_can_be_scored() -> None:
    last = Player(dice="12345")
    assert read_put("PUT CHOICE 54321", last) == Put("CHOICE", "54321")
    assert fault_in(read_put, "PUT CHOICE 12346", last) is Fault.ILLEGAL


def test_the_dice_scored_are_consumed_and_the_others_carry_over() -> None:
    player = Player(dice="1123456666")
    assert (player.score("CHOICE", "61616"), sorted(player.dice)) == (20_000, [*"23456"])
    assert player.scores == {"CHOICE": 20_000}


def test_y09_a_category_used_for_no_points_is_used() -> None:
    player = Player(dice="1123456666")
    assert player.score("YACHT", "11234") == 0
    assert fault_in(read_put, "PUT YACHT 56666", player) is Fault.ILLEGAL
