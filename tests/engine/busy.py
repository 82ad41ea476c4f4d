"""Matches in which the host took time from bots."""

from dataclasses import replace

from deadheat.engine.core import NS_PER_MS, Fault, Reply, Seat
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.own_time import Evidence
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from tests.engine.players import GAME, Legal, seed

COUNTED, INSIDE = 1, 2
"""The exchanges of `on_a_busy_host` in which the host took time from seat 0: past the deadline and inside."""

TAKEN_NS, LATE_NS = 150 * NS_PER_MS, 130 * NS_PER_MS
"""The time taken at COUNTED, and how late the reply came by the clock."""


def taken(reply: Reply, elapsed_ns: int, **growth: int) -> Reply:
    """Return the reply as if it had come at that time, with this evidence of what its host took."""
    evidence = Evidence(elapsed_ns, **growth)  # type: ignore[arg-type]
    return reply._replace(elapsed_ns=elapsed_ns, stolen_ns=evidence.stolen_ns, evidence=evidence)


def with_reply(transcript: Transcript, number: int, seat: Seat, reply: Reply) -> Transcript:
    exchange = transcript.exchanges[number]
    changed = exchange._replace(replies={**exchange.replies, seat: reply})
    return replace(transcript, exchanges=(*transcript.exchanges[:number], changed, *transcript.exchanges[number + 1 :]))


def on_a_busy_host(match: Transcript) -> Transcript:
    """Return a match without a bank, with two of seat 0's replies as they would have been on a busy host."""
    limits = {p.exchange: p.limit_ns for p in match.prompts() if p.message.seat == 0}
    for number, elapsed_ns, full_ns in ((COUNTED, limits[COUNTED] + LATE_NS, TAKEN_NS), (INSIDE, TAKEN_NS, LATE_NS)):
        cpu_ns = min(90 * NS_PER_MS, elapsed_ns - full_ns)
        reply = match.exchanges[number].replies[0]._replace(cpu_ns=cpu_ns)
        match = with_reply(match, number, 0, taken(reply, elapsed_ns, full_ns=full_ns, cpu_ns=cpu_ns, processors=1))
    return match


def convicted_on_a_busy_host(match: Transcript) -> Transcript:
    """Return a match that seat 0 lost by a time-out, as if even LATE_NS taken by the host did not excuse it."""
    last = match.last_prompt(0)
    assert last is not None and last.reply.fault is Fault.TIMEOUT
    reply = last.reply._replace(cpu_ns=last.limit_ns)
    elapsed_ns = last.limit_ns + LATE_NS + 10 * NS_PER_MS
    late = taken(reply, elapsed_ns, full_ns=LATE_NS, steal_ns=0, cpu_ns=last.limit_ns, processors=1)
    return with_reply(match, last.exchange, 0, late)


def third_attempt() -> Transcript:
    """Play a match whose first two attempts were void."""
    return run_match(GAME, 2, seed(7), MemoryTransport([Legal(1), Legal(2)]), attempt=3)
