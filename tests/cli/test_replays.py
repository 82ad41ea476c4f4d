"""How matches of Liar's Dice, played here by bots with every habit, look in the terminal."""

from __future__ import annotations

import io
import json
import random

import pytest
from rich.console import Console

from deadheat.cli.replays import VIEWS
from deadheat.cli.replays.pages import pages
from deadheat.engine.core import Message
from deadheat.engine.games import GAMES
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.games.liars_dice.rules import IDS, LiarsDice

pytestmark = pytest.mark.quick


class Liar:
    """Bids one higher, challenges or, rarely, resigns or says nonsense."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def __call__(self, message: Message) -> str | None:
        if message.limit_ns is None:
            return None
        if message.line == "READY":
            return "OK"
        current = json.loads(message.line)["currentBid"]
        choice = self.chance.random()
        if choice < 0.02:
            return '{"type":"resign"}' if choice < 0.01 else "\x1b[2Jnonsense"
        if current is not None and choice < 0.4:
            return '{"type":"challenge"}'
        quantity = 1 if current is None else current["quantity"] + 1
        face = self.chance.randint(2, 6) if current is None else current["faceValue"]
        return f'{{"type":"bid","quantity":{quantity},"faceValue":{face}}}'


def liars(seed: int, seats: int) -> Transcript:
    players = MemoryTransport([Liar(100 * seed + seat) for seat in range(seats)])
    return run_match(LiarsDice(), seats, bytes([seed] * 16), players)


def shown(transcript: Transcript, seat: int | None = None) -> list[str]:
    view = VIEWS[transcript.game]
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    if seat is None:
        for page in pages(transcript, view):
            console.print(page.content)
    else:
        assert view.account is not None
        console.print(view.account(transcript, seat))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_every_game_of_the_house_has_a_view() -> None:
    assert set(GAMES) <= set(VIEWS)


@pytest.mark.parametrize("seats", LiarsDice.seats)
def test_a_match_of_liars_dice_is_told_in_full(seats: int) -> None:
    for seed in range(1, 13):
        transcript = liars(seed, seats)
        lines = shown(transcript)
        text = "\n".join(lines)
        assert max(map(len, lines)) <= 80
        assert "\x1b" not in text
        kinds = [event["type"] for event in transcript.events()]
        assert sum(line.startswith("Round ") for line in lines) == kinds.count("round")
        assert text.count(" holds ") == kinds.count("hand") and text.count(" bids ") == kinds.count("bid")
        assert " ".join(text.split()).count(" loses a die") == kinds.count("challenge")
        assert text.count(" is out: ") == kinds.count("elimination") == seats - 1
        assert text.count(" resigns.") == kinds.count("resignation")
        assert all(f"  {number} unnamed ({name}) holds" in text for number, name in enumerate(IDS[:seats], 1))
        winner = transcript.result.ranks.index(1)
        assert lines[-1] == f"{winner + 1} unnamed wins."


def test_every_lost_die_is_accounted_for() -> None:
    for seed in range(1, 13):
        transcript = liars(seed, 3)
        for seat in range(3):
            if not any(event["type"] == "fault" and event["seat"] == seat for event in transcript.events()):
                told = [line for line in shown(transcript, seat) if line.startswith("  round ")]
                lost = [e for e in transcript.events() if e["type"] == "challenge" and e["loser"] == seat]
                resigned = [e for e in transcript.events() if e["type"] == "resignation" and e["seat"] == seat]
                assert len(told) == len(lost) + len(resigned)
