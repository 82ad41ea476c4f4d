"""Verification: transcripts against their rules, and a league's tables against its transcripts."""

import dataclasses
import re
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
    "the game": (WON, replace(told(WON), game="betris-large"), ("game", "yacht-auction", "betris-large")),
    "the variant": (WON, replace(told(WON), variant=["rounds=3"]), ("variant", "none", "rounds=3")),
    "the match": (WON, replace(told(WON), id=8), ("number", "7", "8")),
    "the attempt": (WON, replace(told(WON), attempt=2), ("attempt", "1", "2")),
    "a seat more": (WON, replace(told(WON), seats=told(WON).seats * 2), ("number of seats", "2", "4")),
    "an author": (WON, with_seat(told(WON), 0, author="eve"), ("player at seat 1", "ada/bot0 v1", "eve/bot0 v1")),
    "a version": (WON, with_seat(told(WON), 1, version=2), ("player at seat 2", "ada/bot1 v1", "ada/bot1 v2")),
    "a place": (WON, with_seat(told(WON), 0, rank=9), ("place of seat 1", "1", "9")),
    "the points": (WON, with_seat(told(WON), 1, points="999"), ("points of seat 2", "-71198", "999")),
    "no points": (WON, with_seat(told(WON), 1, points=None), ("points of seat 2", "-71198", "none")),
    "a fault hushed up": (
        FORFEITED,
        with_seat(told(FORFEITED), 0, fault=None),
        ("fault of seat 1", "malformed at SCORE", "none"),
    ),
    "a fault made up": (
        WON,
        with_seat(told(WON), 0, fault=FaultView(Fault.TIMEOUT, "ROLL", 501, "")),
        ("fault of seat 1", "none", "timeout at ROLL"),
    ),
}
"""What a league says otherwise than the transcript: what it is about, the transcript's word, and the league's."""


@pytest.mark.parametrize(("transcript", "match", "facts"), LIES.values(), ids=LIES)
def test_whatever_a_league_says_otherwise_is_found(transcript: Transcript, match: Match, facts: object) -> None:
    (found,) = disagreements(transcript, match)
    parts = re.fullmatch(r"the (.*) is (.*) in the transcript but (.*) in the league's record", found)
    assert parts is not None and parts.groups() == facts


@pytest.mark.parametrize("changed", [{"commitment": "0" * 64}, {"seed": "00" * 16}])
def test_another_seed_is_found(changed: dict[str, str]) -> None:
    (found,) = disagreements(WON, replace(told(WON), **changed))  # type: ignore[arg-type]
    assert "seed" in found


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
