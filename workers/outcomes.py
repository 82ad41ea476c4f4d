"""What the database stores from a match: its faults, response times, and the evidence of its attempt."""

from __future__ import annotations

from collections import Counter

from deadheat.engine.core import NS_PER_MS
from deadheat.engine.transcript import Transcript
from deadheat.engine.verdicts import Taken
from deadheat.league.jobs import FaultRecord, Latency
from deadheat.league.time_buckets import bucket
from deadheat.sandbox.arena import Played


def evidence(played: Played) -> dict[str, object]:
    """Return the ledger's evidence of a match: every time-out's, and what the host took from its bots, if anything."""
    taken = Taken.of(played.transcript.prompts())
    found = {"timeouts": [*played.convictions], "stolen_ns": taken.stolen_ns, "past_deadline": taken.past_deadline}
    return {name: value for name, value in found.items() if value}


def fault_records(transcript: Transcript) -> tuple[FaultRecord, ...]:
    """Return where each fault was committed, after how much own time, and the game's words for it."""
    reasons = {event["seat"]: str(event["why"]) for event in transcript.events() if event.get("type") == "fault"}
    records = []
    for seat, fault in sorted(transcript.result.faults.items()):
        prompt = transcript.last_prompt(seat)
        command = prompt.message.command if prompt else ""
        elapsed_ms = prompt.reply.own_ns / NS_PER_MS if prompt else 0.0
        records.append(FaultRecord(seat, fault, command, elapsed_ms, reasons.get(seat, "")))
    return tuple(records)


def latencies(transcript: Transcript) -> tuple[Latency, ...]:
    """Return response times by seat and command, in own time, which limits bound."""
    times: dict[tuple[int, str], list[int]] = {}
    limits: dict[tuple[int, str], int] = {}
    counts: dict[tuple[int, str], Counter[int]] = {}
    for prompt in transcript.prompts():
        key = (prompt.message.seat, prompt.message.command)
        times.setdefault(key, []).append(prompt.reply.own_ns)
        limits[key] = max(limits.get(key, 0), prompt.limit_ns)
        counts.setdefault(key, Counter())[bucket(prompt.reply.own_ns, prompt.limit_ns)] += 1
    return tuple(
        Latency(*key, limits[key], len(taken), sum(taken), max(taken), counts[key])
        for key, taken in sorted(times.items())
    )
