"""Verification: transcripts against their rules, and a league's tables against its transcripts."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.engine.core import Fault
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.league.blobs import Blobs
from deadheat.league.records.matches import FaultView, Match, MatchDetail
from deadheat.league.service.rulings.appeals import review
from deadheat.league.verification.agreement import disagreements, verdict
from tests.engine.busy import on_a_busy_host
from tests.league.told import detailed, labelled, told

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


NAMES = ("yacht-auction", "betris-large-bank", "liars-dice-six", "yacht-auction-forfeit")


def detail(transcript: Transcript, sha256: str) -> MatchDetail:
    made = detailed(transcript, told(transcript, sha256))
    return dataclasses.replace(made, attempts=(dataclasses.replace(made.attempts[0], evidence={"stolen_ms": 0}),))


@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_transcript_is_verified_with_the_slowest_answers(name: str) -> None:
    blobs = Blobs("memory:///")
    transcript = golden(name)
    found = review(blobs, detail(transcript, blobs.put(encode(transcript))))
    assert found["verified"]
    assert found["exchanges"] == len(transcript.exchanges)
    assert found["attempts"] == [{"cause": "played", "detail": "", "evidence": {"stolen_ms": 0}}]
    elapsed = [reply.elapsed_ns for exchange in transcript.exchanges for reply in exchange.replies.values()]
    assert max(row["slowest_ms"] for row in found["replies"]) == pytest.approx(max(elapsed) / 1e6, abs=1e-3)


def test_answers_are_weighed_by_own_time() -> None:
    blobs = Blobs("memory:///")
    transcript = on_a_busy_host(golden("yacht-auction"))
    found = review(blobs, detail(transcript, blobs.put(encode(transcript))))
    assert found["verified"]
    assert (found["replies"][0]["most_of_limit"], found["replies"][0]["slowest_ms"]) == (0.96, 480)
    assert [(row["stolen_ms"], row["past_deadline"]) for row in found["replies"]] == [(280, 1), (0, 0)]


def test_a_changed_reply_another_seed_and_a_lost_transcript_are_found() -> None:
    blobs = Blobs("memory:///")
    transcript = golden("yacht-auction")
    result = dataclasses.replace(transcript.result, ranks=transcript.result.ranks[::-1])
    forged = dataclasses.replace(transcript, result=result)
    found = review(blobs, detail(forged, blobs.put(encode(forged))))
    assert found["verified"] is False
    assert found["problem"].startswith("diverged at exchange")
    kept = blobs.put(encode(transcript))
    assert "seed" in review(blobs, detail(dataclasses.replace(transcript, seed=b"x" * 32), kept))["problem"]
    lost = review(blobs, detail(transcript, "f" * 64))
    assert lost["verified"] is None
    assert lost["problem"] == "its transcript is lost"


def test_of_other_rules_nothing_is_claimed() -> None:
    blobs = Blobs("memory:///")
    older = dataclasses.replace(golden("yacht-auction"), rules_version=99)
    found = review(blobs, detail(older, blobs.put(encode(older))))
    assert found["verified"] is None
    assert found["problem"].startswith("it was played under version 99 of the rules of yacht-auction")
