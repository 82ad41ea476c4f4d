"""Reviews a match: re-simulates its transcript and collects the evidence for and against the verdict.

The re-simulation proves that rules, dice, result and every counted answer belong together, and that each verdict on
time follows from the evidence beside it. It cannot prove that the evidence itself is true (see docs/why/own-time.md).
"""

import logging
from dataclasses import asdict
from typing import Any

from deadheat.engine.core import NS_PER_MS
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode
from deadheat.engine.verdicts import Taken, used
from deadheat.league.blobs import Blobs
from deadheat.league.errors import BlobDamaged, BlobMissing
from deadheat.league.records.matches import MatchDetail
from deadheat.league.verification.agreement import disagreements, verdict

log = logging.getLogger(__name__)


def review(blobs: Blobs, match: MatchDetail, whole: MatchDetail | None = None) -> dict[str, Any]:
    """Review a match, and return the findings as JSON. `whole`: the match with what is not public yet, only for
    comparison with the transcript; None: all of it is public.

    ``verified`` (null if unknown), ``problem`` (a clause, unless verified), ``exchanges``; ``faults``: the fault,
    command and time of each seat that failed; ``replies``: for each seat the number of its answers, the slowest by own
    time, and the time that the host took; ``attempts``: cause and evidence of each attempt at the match.
    """
    findings: dict[str, Any] = {
        "verified": None,
        "faults": [
            {"seat": seat.seat, "bot": seat.bot, **asdict(seat.fault)} for seat in match.seats if seat.fault is not None
        ],
        "attempts": [
            {"cause": attempt.cause, "detail": attempt.detail, "evidence": attempt.evidence}
            for attempt in match.attempts
        ],
    }
    whole = whole or match
    assert whole.transcript_sha256 is not None, "only finished matches can be re-simulated"
    try:
        content = blobs.get(whole.transcript_sha256, MAX_TRANSCRIPT_BYTES)
    except (BlobDamaged, BlobMissing) as error:
        log.error("match %d cannot be looked at again: %s", match.id, error)  # the error's words are for operators only
        lost = "is lost" if isinstance(error, BlobMissing) else "is damaged in the store"
        return findings | {"problem": f"its transcript {lost}"}
    try:
        transcript = decode(content)
    except BadTranscript as error:
        return findings | {"verified": False, "problem": str(error)}
    verified, problem = verdict(transcript, disagreements(transcript, whole))
    if not verified:
        return findings | {"verified": verified, "problem": problem}
    return findings | {"verified": True, "exchanges": len(transcript.exchanges), "replies": _replies(transcript)}


def _replies(transcript: Transcript) -> list[dict[str, Any]]:
    every = list(transcript.prompts())
    of_seats = [[prompt for prompt in every if prompt.message.seat == seat] for seat in range(transcript.seats)]
    return [
        {
            "seat": seat,
            "answers": sum(prompt.reply.fault is None for prompt in prompts),
            "most_of_limit": round(max(map(used, prompts), default=0.0), 4),
            "slowest_ms": round(max((prompt.reply.own_ns for prompt in prompts), default=0) / NS_PER_MS, 3),
            "stolen_ms": round(taken.stolen_ns / NS_PER_MS, 3),
            "past_deadline": taken.past_deadline,
        }
        for seat, prompts in enumerate(of_seats)
        for taken in [Taken.of(prompts)]
    ]
