"""Liar's Dice in a terminal: all hands of a round, and how a seat lost its dice."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from deadheat.cli.replays.pages import View
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.transcript import Transcript
from deadheat.games.liars_dice.rules import IDS


def _hands(state: Mapping[str, Any], names: Sequence[str]) -> RenderableType:
    """Draw every hand, with the bots' names for each other."""
    holding = ((seat, sorted(hand)) for seat, hand in enumerate(state["hands"]) if hand)
    lines = (f"  {names[seat]} ({IDS[seat]}) holds  {' '.join(map(str, hand))}" for seat, hand in holding)
    return Group(*map(Text, lines))


def _account(transcript: Transcript, seat: Seat) -> RenderableType:
    """Say how the seat lost each of its dice, and which dice it took from others."""
    parts = [Text("How the dice were lost", style="bold")]
    taken = 0
    events: Any = transcript.events()
    for event in events:
        match event["type"]:
            case "challenge" if event["loser"] == seat:
                parts.append(Text(f"  round {event['round']:2d}  {_lost(event, seat)}"))
            case "challenge":
                taken += seat in (event["seat"], event["bidder"])
            case "resignation" if event["seat"] == seat:
                parts.append(Text(f"  round {event['round']:2d}  resigned"))
    dice = counted(taken, "die", "dice")
    return Group(*parts, Text(f"  It took {dice} from others, by bids that were met and by challenges."))


def _lost(event: Mapping[str, Any], seat: Seat) -> str:
    bid, count = f"{event['quantity']} of face {event['face']}", event["count"]
    there = "there was 1" if count == 1 else f"there were {count}"
    if event["seat"] == seat:
        return f"called {bid} by seat {seat_number(event['bidder'])} a lie, {there}"
    return f"bid {bid}, called a lie by seat {seat_number(event['seat'])}, {there}"


VIEW = View(before=_hands, account=_account)
