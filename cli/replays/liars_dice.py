"""Liar's Dice in a terminal: all hands of a round, the bids, the challenge and what it showed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from cli.local.transcripts import players
from cli.replays.pages import (
    Happened,
    Page,
    View,
    by_round,
    fault_line,
    final_event,
    happenings,
    heading,
    outcome,
    stack,
    took,
    who,
)
from engine.core import Reply, Seat
from engine.figures import seat_number
from engine.games.liars_dice import IDS, WILD
from engine.transcript import Transcript


def pages(transcript: Transcript) -> Iterator[Page]:
    """A page a round, then the places."""
    names = players(transcript)
    told = ", ".join(f"seat {seat_number(seat)} is {name}" for seat, name in enumerate(IDS[: len(names)]))
    yield Page(0, Text(f"What the bots call each other: {told}.\n"))
    for number, events in by_round(transcript):
        yield Page(number, stack(*_round(number, events, names), Text()))
    final = final_event(transcript)
    places = Text()
    for rank, seat in sorted((rank, seat) for seat, rank in enumerate(final["ranks"])):
        places.append(f"  place {rank}: {who(names, seat)} {_dice(final['counts'][seat])} left\n")
    yield Page(None, stack(heading("The end"), places, outcome(transcript, names)))


def account(transcript: Transcript, seat: Seat) -> RenderableType:
    """How the seat lost each of its dice, and what it took from others."""
    parts: list[RenderableType] = [heading("How the dice were lost")]
    taken = 0
    for event, _ in happenings(transcript):
        match event["type"]:
            case "challenge" if event["loser"] == seat:
                parts.append(Text(f"  round {event['round']:2d}  {_lost(event, seat)}"))
            case "challenge":
                taken += seat in (event["seat"], event["bidder"])
            case "resignation" if event["seat"] == seat:
                parts.append(Text(f"  round {event['round']:2d}  resigned"))
    parts.append(Text(f"  It took {_dice(taken)} from others, by bids that were met and by challenges."))
    return stack(*parts)


def _lost(event: Mapping[str, Any], seat: Seat) -> str:
    bid, there = _bid(event), _there_are(event["count"])
    if event["seat"] == seat:
        return f"called {bid} by seat {seat_number(event['bidder'])} a lie, {there}"
    return f"bid {bid}, called a lie by seat {seat_number(event['seat'])}, {there}"


def _round(number: int, events: Sequence[Happened], names: Sequence[str]) -> Iterator[RenderableType]:
    for event, replies in events:
        match event["type"]:
            case "round":
                counts = sum(event["counts"])
                opener = seat_number(event["opener"])
                yield heading(f"Round {number}     {counts} dice in play, seat {opener} opens")
            case "hand":
                yield Text(f"  {who(names, event['seat'])} holds  ").append(_spaced(event["dice"]), style="bold")
            case "bid" | "challenge" | "resignation":
                yield _turn(event, replies, names)
            case "elimination":
                yield Text(f"  {who(names, event['seat'])} is out: place {event['place']}", style="red")
            case "fault":
                yield fault_line(event, names)


def _turn(event: Mapping[str, Any], replies: Mapping[Seat, Reply], names: Sequence[str]) -> Text:
    seat = event["seat"]
    line = Text(f"  {who(names, seat)} ")
    match event["type"]:
        case "bid":
            line.append(f"bids {_bid(event):32}")
        case "resignation":
            line.append(f"{'resigns':37}")
        case _:
            met = event["count"] >= event["quantity"]
            line.append(f"{f'calls {_bid(event)} a lie':37}")
            line.append(f"{took(replies, seat, 10)}\n")
            line.append(f"{'':21}{_counted(event)}: {'met' if met else 'a lie'}, ")
            line.append(f"seat {seat_number(event['loser'])} loses a die", style="magenta")
            return line
    return line.append(took(replies, seat, 10))


def _counted(event: Mapping[str, Any]) -> str:
    """How a challenge was counted: ones are wild, but not for a bid on ones."""
    dice = [die for hand in event["hands"] for die in hand]
    face = event["face"]
    if face == WILD:
        return f"{dice.count(WILD)} ones"
    return f"{dice.count(face)} of face {face} + {dice.count(WILD)} ones = {event['count']}"


def _bid(event: Mapping[str, Any]) -> str:
    return f"{event['quantity']} of face {event['face']}"


def _there_are(count: int) -> str:
    return "there was 1" if count == 1 else f"there were {count}"


def _dice(count: int) -> str:
    return "1 die" if count == 1 else f"{count} dice"


def _spaced(dice: Sequence[int]) -> str:
    return " ".join(map(str, sorted(dice)))


VIEW = View(pages, account)
