"""Whole matches of Yacht Auction: the order of lines, and totals computed a second time."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.chance import Chance
from deadheat.engine.core import Message
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from tests.engine.players import GAME, Legal, commands, events, faulty, play, scripted, seed
from tests.lanes import examples

pytestmark = pytest.mark.quick

numbers = st.integers(0, 2**63)


# The order of lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_lines_come_in_the_order_of_the_text(seat: int) -> None:
    """Round 1 has no SCORE, round 13 no ROLL; in between ROLL, GET, SCORE, SET."""
    first, last = ["ROLL!", "GET"], ["SCORE!", "SET"]
    assert commands(play(1), seat) == ["READY!", *first, *(11 * [*first, *last]), *last, "FINISH"]


def test_a_match_is_25_prompts_and_a_farewell() -> None:
    transcript = play(1)
    prompts = Counter((prompt.message.command, prompt.limit_ns) for prompt in transcript.prompts())
    assert prompts == {("READY", 3_000_000_000): 2, ("ROLL", 500_000_000): 24, ("SCORE", 500_000_000): 24}
    assert len(transcript.exchanges) == 26
    assert all(len(exchange.replies) == 2 for exchange in transcript.exchanges[:25])


def test_a_round_reads_like_the_text() -> None:
    """The coin falls for seat 0 in round 1 (Y-12), and for seat 1 in round 2, where nobody needs it (Y-02)."""
    first, first_said_all = scripted(
        """
        << READY
        >> OK
        << ROLL 35425 46641
        >> BID A 100
        << GET A A 100
        << ROLL 35464 64366
        >> BID B 7
        << GET B A 9
        << SCORE
        >> PUT LARGE_STRAIGHT 65432
        << SET FOUR_OF_A_KIND 44446
        << ROLL 32144 46234
        >> BID
        """
    )
    second, second_said_all = scripted(
        """
        << READY
        >> OK
        << ROLL 35425 46641
        >> BID A 100
        << GET B A 100
        << ROLL 35464 64366
        >> BID A 9
        << GET A B 7
        << SCORE
        >> PUT FOUR_OF_A_KIND 44446
        << SET LARGE_STRAIGHT 65432
        << ROLL 32144 46234
        >> BID A 1
        << FINISH
        """
    )
    transcript = run_match(GAME, 2, seed(8), MemoryTransport([first, second]))
    first_said_all()
    second_said_all()
    assert [event["points"] for event in events(transcript, "score")] == [30_000, 22_000]
    assert list(transcript.events())[-2:] == [
        {"type": "fault", "seat": 0, "fault": "malformed", "command": "ROLL", "why": "BID takes 2 words, got 0"},
        {
            "type": "final",
            "basic": [0, 0],
            "bonus": [0, 0],
            "combination": [30_000, 22_000],
            "bids": [-107, 91],
            "total": [29_893, 22_091],
        },
    ]
    assert transcript.result.ranks == (2, 1)


def test_viewers_are_told_of_every_roll_auction_and_scoring() -> None:
    told = Counter(event["type"] for event in play(3).events())
    assert told == {"roll": 12, "auction": 12, "score": 24, "final": 1}


@given(numbers)
@examples(25)
def test_events_agree_with_the_lines(number: int) -> None:
    for exchange in (transcript := play(number)).exchanges:
        for event in exchange.events:
            if event["type"] == "auction":
                gets = [message.line.split() for message in exchange.messages if message.command == "GET"]
                assert event["received"] == [get[1] for get in gets]
                assert event["targets"] == [gets[1][2], gets[0][2]]
                assert event["bids"] == [int(gets[1][3]), int(gets[0][3])]
    changes = [event["changes"] for event in events(transcript, "auction")]
    (final,) = events(transcript, "final")
    assert [sum(change[seat] for change in changes) for seat in (0, 1)] == final["bids"]


# Totals, a second time -------------------------------------------------------------------------------------------


def points_of(category: str, dice: str) -> int:
    faces = [int(die) for die in dice]
    most = Counter(faces).most_common()
    runs = [{n, n + 1, n + 2, n + 3} for n in (1, 2, 3)]
    match category:
        case "CHOICE":
            return 1000 * sum(faces)
        case "FOUR_OF_A_KIND":
            return 1000 * sum(faces) * (most[0][1] >= 4)
        case "FULL_HOUSE":
            return 1000 * sum(faces) * ([n for _, n in most] in ([3, 2], [5]))
        case "SMALL_STRAIGHT":
            return 15000 * any(run <= set(faces) for run in runs)
        case "LARGE_STRAIGHT":
            return 30000 * (set(faces) in ({1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}))
        case "YACHT":
            return 50000 * (len(most) == 1)
    face = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"].index(category) + 1
    return 1000 * sum(die for die in faces if die == face)


def recount(transcript: Transcript) -> tuple[int, int]:
    totals, basic, bid = [0, 0], [0, 0], ["", ""]
    for exchange in transcript.exchanges:
        for message in exchange.messages:
            if message.command == "GET":
                (_, wanted, amount), received = bid[message.seat].split(), message.line.split()[1]
                totals[message.seat] += -int(amount) if wanted == received else int(amount)
        for seat, reply in exchange.replies.items():
            assert reply.line is not None
            if reply.line.startswith("BID"):
                bid[seat] = reply.line
            if reply.line.startswith("PUT"):
                _, category, dice = reply.line.split()
                totals[seat] += points_of(category, dice)
                if category in ("ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"):
                    basic[seat] += points_of(category, dice)
    return totals[0] + 35000 * (basic[0] >= 63000), totals[1] + 35000 * (basic[1] >= 63000)


@given(numbers)
@examples(150)
def test_legal_play_never_faults_and_totals_are_what_the_lines_say(number: int) -> None:
    transcript = play(number)
    first, second = recount(transcript)
    assert (transcript.result.points, transcript.result.faults) == ((first, second), {})
    assert transcript.result.ranks == (1 + (first < second), 1 + (second < first))
    (final,) = events(transcript, "final")
    assert final["total"] == [first, second]


class Fixed:
    """Always wants the same bundle, and bids only in round 1. If the opponent wants the other, every bid is paid."""

    def __init__(self, target: str, first_bid: int = 0) -> None:
        self.target, self.bid = target, first_bid
        self.legal = Legal(0)

    def __call__(self, message: Message) -> str | None:
        reply = self.legal.answer(message.line)
        if message.command == "ROLL":
            reply, self.bid = f"BID {self.target} {self.bid}", 0
        return reply


def test_y10_a_bid_may_exceed_the_score() -> None:
    """The first bid is made at zero points, and paying it leads below zero."""
    transcript = play(0, Fixed("A", 100_000), Fixed("B", 0))
    assert (transcript.result.faults, events(transcript, "auction")[0]["changes"]) == ({}, [-100_000, 0])


def test_equal_totals_are_a_draw() -> None:
    first, second = recount(play(0, Fixed("A"), Fixed("B")))
    assert first != second
    transcript = play(0, Fixed("A", max(0, first - second)), Fixed("B", max(0, second - first)))
    assert transcript.result.ranks == (1, 1)
    assert transcript.result.points == (min(first, second), min(first, second))
    assert transcript.result.rated


def test_y14_the_dice_of_a_match_are_the_seed_alone() -> None:
    """The seed gives bundles A and B and then the coin, round after round, whatever is bid."""
    for transcript in (play(11), play(11, Legal(1), Legal(1))):
        chance, rolls = Chance(seed(11)), events(transcript, "roll")
        assert len(rolls) == 12
        for roll in rolls:
            assert [roll["a"], roll["b"]] == ["".join(map(str, chance.dice(5))) for _ in "AB"]
            chance.below(2)


# Faults ----------------------------------------------------------------------------------------------------------


def test_c13_the_score_so_far_is_kept_for_display() -> None:
    """The two matches are the same up to the fault at prompt 20, a ROLL: nine scorings and ten auctions."""
    whole, cut = play(5), play(5, faulty(Legal(10), 20, None))
    assert whole.exchanges[:20] == cut.exchanges[:20]
    (final,) = events(cut, "final")
    for seat in (0, 1):
        scored = sum(event["points"] for event in events(whole, "score")[:18] if event["seat"] == seat)
        assert final["basic"][seat] + final["combination"][seat] == scored
        assert final["bids"][seat] == sum(event["changes"][seat] for event in events(whole, "auction")[:10])
    assert cut.result.points is None
