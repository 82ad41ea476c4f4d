"""The starter bots of Liar's Dice: always legal, and each stronger than the one before, with two seats and with four.

Private hands make luck large, so the same deals are played with the seats changed round. Seeds are fixed, so a failure
is the same everywhere.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import permutations
from pathlib import Path

import pytest

from deadheat.engine.core import Message
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.replay import replay
from deadheat.engine.transcript import Transcript, decode
from deadheat.games.liars_dice.rules import Bid, LiarsDice, Move, read_action
from tests.bots.loading import NewBot, in_process
from tests.bots.test_strength import House, Program, seated
from tests.lanes import scaled

ROOT = Path(__file__).parent.parent.parent
GAME = LiarsDice()
HOUSE = House(GAME, "teller", ("c++", "g++"), ("-std=c++17",), 50)
BOTS = HOUSE.folder
PYTHON = ["random", "honest", "expert"]


def play_seats(number: int, players: list[Player]) -> Transcript:
    transcript = run_match(GAME, len(players), b"liars" + number.to_bytes(11, "big"), MemoryTransport(players))
    assert transcript.result.faults == {}, transcript.exchanges[-1].events
    return transcript


def wins(first: NewBot, second: NewBot, matches: int) -> float:
    """The share of matches won by the first; every deal is played twice, with the seats swapped."""
    won = 0
    for number in range(matches):
        players = [first(2 * number), second(2 * number + 1)]
        transcript = play_seats(number // 2, players if number % 2 == 0 else players[::-1])
        won += transcript.result.ranks[number % 2] == 1
    return won / matches


def mean_places(first: NewBot, second: NewBot, deals: int) -> tuple[float, float]:
    """The mean places of two against two, every deal played in all six ways to seat them."""
    seatings = sorted(set(permutations([first, first, second, second], 4)), key=lambda s: [bot is first for bot in s])
    places: dict[NewBot, list[int]] = {first: [], second: []}
    for number in range(deals):
        for seating in seatings:
            transcript = play_seats(number, [new(4 * number + seat) for seat, new in enumerate(seating)])
            for new, rank in zip(seating, transcript.result.ranks, strict=True):
                places[new].append(rank)
    return sum(places[first]) / len(places[first]), sum(places[second]) / len(places[second])


# The bounds lie about four standard deviations below what was measured over 1000 matches (of two) and 200 (of four).


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
def test_each_bot_is_stronger_than_the_one_before(better: str, worse: str, matches: int, bound: float) -> None:
    with seated(HOUSE, better) as first, seated(HOUSE, worse) as second:
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
    for number in range(scaled(HOUSE.matches, 10)):
        play_seats(number, [in_process(BOTS / "random")(10 * number + seat) for seat in range(seats)])


def test_six_experts_play_legally() -> None:
    play_seats(1, [in_process(BOTS / "expert")(seat) for seat in range(6)])


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_bot_is_a_program_that_ends_when_told(name: str) -> None:
    programs = [Program(sys.executable, "-I", BOTS / name / "main.py") for _ in range(3)]
    play_seats(1, list(programs))
    assert [program.end() for program in programs] == [(0, "", "")] * 3


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_bot_ends_at_the_end_of_its_input(name: str) -> None:
    assert Program(sys.executable, "-I", BOTS / name / "main.py").end() == (0, "", "")


def test_the_cpp_bot_plays_at_a_table_of_six_and_ends() -> None:
    teller = HOUSE.program()
    programs = [Program(teller) for _ in range(6)]
    play_seats(1, list(programs))
    assert [program.end() for program in programs] == [(0, "", "")] * 6
    assert Program(teller).end() == (0, "", "")


@pytest.mark.parametrize("name", PYTHON)
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


def test_the_match_in_the_authors_page_is_a_real_one() -> None:
    example = decode((ROOT / "tests" / "transcripts" / "liars-dice-example.jsonl").read_bytes())
    assert replay(GAME, example) == example
    lines: list[str] = []
    for exchange in example.exchanges:
        lines += [f"<< {message.line}" for message in exchange.messages if message.seat == 0]
        lines += [f">> {exchange.replies[0].line}"] if 0 in exchange.replies else []
    page = (ROOT / "games" / "liars_dice" / "protocol.md").read_text()
    shown = next(block for block in page.split("```") if "<< READY" in block)
    for part in re.split(r"\n\.\.\. .*\n", shown.strip()):
        assert part in "\n".join(lines)
    assert shown.strip().startswith(lines[0])
    assert shown.strip().endswith(lines[-1])


def test_the_actions_in_the_authors_page_are_read() -> None:
    page = (ROOT / "games" / "liars_dice" / "protocol.md").read_text()
    block = next(block for block in page.split("```") if block.strip().startswith('{"type":"bid"'))
    assert [read_action(line) for line in block.strip().splitlines()] == [Bid(3, 4), Move.CHALLENGE, Move.RESIGN]
