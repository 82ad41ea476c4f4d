"""A review tells the truth about a match's transcript."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.league.blobs import Blobs
from deadheat.league.records.matches import MatchDetail
from deadheat.league.verification.review import review
from tests.engine.busy import on_a_busy_host
from tests.league.told import detailed, labelled, told

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parent.parent / "transcripts"
NAMES = ("yacht-auction", "betris-large-bank", "liars-dice-six", "yacht-auction-forfeit")


def golden(name: str) -> Transcript:
    return labelled(decode((GOLDEN / f"{name}.jsonl").read_bytes()))


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
