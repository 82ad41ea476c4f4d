"""The league's record of a match is compared with its transcript."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.engine.core import Fault
from deadheat.engine.transcript import Transcript, decode
from deadheat.league.records.matches import FaultView, Match
from deadheat.league.verification.agreement import disagreements, verdict
from tests.league.told import labelled, told

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parent.parent / "transcripts"


def golden(name: str) -> Transcript:
    return labelled(decode((GOLDEN / f"{name}.jsonl").read_bytes()))


WON, FORFEITED = golden("yacht-auction"), golden("yacht-auction-forfeit")


def with_seat(match: Match, seat: int, **changes: object) -> Match:
    seats = list(match.seats)
    seats[seat] = replace(seats[seat], **changes)  # type: ignore[arg-type]
    return replace(match, seats=tuple(seats))


@pytest.mark.parametrize("name", ["yacht-auction", "betris-large-bank", "liars-dice-six", "yacht-auction-double-fault"])
def test_an_honest_league_agrees_with_its_transcripts(name: str) -> None:
    transcript = golden(name)
    assert (disagreements(transcript, told(transcript)), verdict(transcript, [])) == ([], (True, None))


LIES = {
    "the game": (WON, replace(told(WON), game="betris-large"), "the game is yacht-auction in the transcript"),
    "the variant": (
        WON,
        replace(told(WON), variant=["rounds=3"]),
        "the variant is none in the transcript but rounds=3 in the league's record",
    ),
    "the commitment": (
        WON,
        replace(told(WON), commitment="0" * 64),
        "the transcript's seed does not match the commitment",
    ),
    "the seed": (WON, replace(told(WON), seed="00" * 16), "the transcript's seed is not the match's"),
    "the match": (WON, replace(told(WON), id=8), "the number is 7 in the transcript but 8 in the league's record"),
    "the attempt": (
        WON,
        replace(told(WON), attempt=2),
        "the attempt is 1 in the transcript but 2 in the league's record",
    ),
    "a seat more": (WON, replace(told(WON), seats=told(WON).seats * 2), "the number of seats is 2 in the transcript"),
    "an author": (WON, with_seat(told(WON), 0, author="eve"), "the player at seat 1 is ada/bot0 v1 in the transcript"),
    "a version": (WON, with_seat(told(WON), 1, version=2), "but ada/bot1 v2 in the league's record"),
    "a place": (WON, with_seat(told(WON), 0, rank=9), "but 9 in the league's record"),
    "the points": (WON, with_seat(told(WON), 1, points="999"), "but 999 in the league's record"),
    "no points": (WON, with_seat(told(WON), 1, points=None), "but none in the league's record"),
    "a fault hushed up": (FORFEITED, with_seat(told(FORFEITED), 0, fault=None), "but none in the league's record"),
    "a fault made up": (
        WON,
        with_seat(told(WON), 0, fault=FaultView(Fault.TIMEOUT, "ROLL", 501, "")),
        "the fault of seat 1 is none in the transcript but timeout at ROLL in the league's record",
    ),
}


@pytest.mark.parametrize(("transcript", "match", "sentence"), LIES.values(), ids=LIES)
def test_whatever_a_league_says_otherwise_is_found(transcript: Transcript, match: Match, sentence: str) -> None:
    (found,) = disagreements(transcript, match)
    assert sentence in found


def test_a_bot_that_was_renamed_played_under_its_old_name() -> None:
    renamed = with_seat(told(WON), 0, bot="another")
    assert len(disagreements(WON, renamed)) == 1
    assert disagreements(WON, with_seat(renamed, 0, player="ada/bot0 v1")) == []
    (found,) = disagreements(WON, with_seat(told(WON), 0, player="eve/bot0 v1"))
    assert "but eve/bot0 v1 in the league's record" in found


def test_a_transcript_without_names_is_nobodys() -> None:
    assert len(disagreements(replace(WON, about={"match": True, "players": "ada"}), told(WON))) == 3
