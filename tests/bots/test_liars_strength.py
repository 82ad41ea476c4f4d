"""The starter bots of Liar's Dice play legally, and each is stronger than the one before it, with two and four seats.

Private hands make luck large, so each deal is played again with the seats changed. Seeds are fixed, so a failure is the
same everywhere.
"""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest

from deadheat.engine.core import Message
from deadheat.games.liars_dice.rules import Bid, Move, read_action
from tests.bots.houses import LIARS, play_seats, seated
from tests.bots.loading import NewBot, in_process
from tests.deployment import ROOT
from tests.lanes import scaled

BOTS = LIARS.folder


def wins(first: NewBot, second: NewBot, matches: int) -> float:
    """Return the share of matches that the first bot wins; every deal is played twice, with seats swapped."""
    won = 0
    for number in range(matches):
        players = [first(2 * number), second(2 * number + 1)]
        transcript = play_seats(LIARS, number // 2, players if number % 2 == 0 else players[::-1])
        won += transcript.result.ranks[number % 2] == 1
    return won / matches


def mean_places(first: NewBot, second: NewBot, deals: int) -> tuple[float, float]:
    """Return the mean places of two against two, which play every deal in all six seatings."""
    seatings = sorted(set(permutations([first, first, second, second], 4)), key=lambda s: [bot is first for bot in s])
    places: dict[NewBot, list[int]] = {first: [], second: []}
    for number in range(deals):
        for seating in seatings:
            transcript = play_seats(LIARS, number, [new(4 * number + seat) for seat, new in enumerate(seating)])
            for new, rank in zip(seating, transcript.result.ranks, strict=True):
                places[new].append(rank)
    return sum(places[first]) / len(places[first]), sum(places[second]) / len(places[second])


def correlation(first: NewBot, second: NewBot, deals: int) -> float:
    """Return how the first bot's results in the two games of a deal, from either seat, depend on each other."""
    won = []
    for deal in range(deals):
        for seat in (0, 1):
            players = [first(4 * deal + seat), second(4 * deal + 2 + seat)]
            transcript = play_seats(LIARS, deal, players[:: -1 if seat else 1])
            won.append(transcript.result.ranks[seat] == 1)
    return float(np.corrcoef(np.reshape(won, (-1, 2)).T)[0, 1])


# The bounds lie about four standard deviations below the measurements over 1000 matches (of two) and 200 (of four).


@pytest.mark.all
@pytest.mark.parametrize(
    ("better", "worse", "matches", "bound"),
    [
        ("honest", "random", 100, 0.95),
        ("teller", "honest", 300, 0.5),
        ("expert", "honest", 200, 0.55),
        ("expert", "teller", 300, 0.5),
    ],
)
def test_each_bot_beats_the_one_before_it(better: str, worse: str, matches: int, bound: float) -> None:
    with seated(LIARS, better) as first, seated(LIARS, worse) as second:
        assert wins(first, second, matches) > bound


@pytest.mark.all
def test_honest_beats_random_at_a_table_of_four() -> None:
    first, second = mean_places(in_process(BOTS / "honest"), in_process(BOTS / "random"), 5)
    assert first < 2
    assert second > 3


@pytest.mark.all
def test_expert_beats_honest_at_a_table_of_four() -> None:
    first, second = mean_places(in_process(BOTS / "expert"), in_process(BOTS / "honest"), 6)
    assert first < second


@pytest.mark.parametrize("seats", range(2, 7))
def test_random_play_never_faults(seats: int) -> None:
    for number in range(scaled(LIARS.matches, 10)):
        play_seats(LIARS, number, [in_process(BOTS / "random")(10 * number + seat) for seat in range(seats)])


def test_six_experts_play_legally() -> None:
    play_seats(LIARS, 1, [in_process(BOTS / "expert")(seat) for seat in range(6)])


@pytest.mark.parametrize("name", LIARS.pythons)
def test_near_the_top_of_all_bids_a_python_bot_still_plays_legally(name: str) -> None:
    for quantity, face in [(30, 6), (14, 1), (15, 1), (29, 1), (30, 1)]:
        view = {
            "you": "P2",
            "myDice": [1, 1],
            "opponents": [{"id": "P1", "diceCount": 2}],
            "currentBid": (bid := {"playerId": "P1", "quantity": quantity, "faceValue": face}),
            "recentBids": [bid],
            "totalDiceInPlay": 4,
            "round": 1,
            "isYourTurn": True,
            "currentPlayer": "P2",
        }
        reply = in_process(BOTS / name)(1)(Message(0, json.dumps(view), 1))
        assert json.loads(str(reply))["type"] == "challenge" or (name == "random" and quantity < 30)


def test_the_actions_in_the_authors_page_are_read() -> None:
    page = (ROOT / "games" / "liars_dice" / "protocol.md").read_text()
    block = next(block for block in page.split("```") if block.strip().startswith('{"type":"bid"'))
    assert [read_action(line) for line in block.strip().splitlines()] == [Bid(3, 4), Move.CHALLENGE, Move.RESIGN]


@pytest.mark.all
def test_luck_with_a_deal_cancels_out_over_its_two_seats() -> None:
    """Tests of duels therefore count deals (docs/decisions/league.md); measured over 1,000 deals: -0.67."""
    with seated(LIARS, "expert") as first, seated(LIARS, "expert") as second:
        assert correlation(first, second, 200) < -0.5
