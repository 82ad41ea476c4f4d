"""Outcomes of matches in tests."""

from collections.abc import Callable
from fractions import Fraction

from deadheat.engine.core import Fault, Result
from deadheat.league.jobs import AttemptRecord, FaultRecord, Latency, MatchJob, MatchOutcome
from deadheat.sandbox.box import Exit

Outcome = Callable[[MatchJob], MatchOutcome]
"""A function that decides how a match ends."""


def attempt(cause: str = "played", **evidence: object) -> AttemptRecord:
    return AttemptRecord(1_767_268_800_000_000_000, 1_767_268_801_000_000_000, cause, "", evidence)


def won(match: MatchJob, winner: int = 0) -> MatchOutcome:
    ranks = tuple(1 if seat == winner else 2 for seat in range(len(match.seats)))
    points = tuple(Fraction(1000 * (3 - rank)) for rank in ranks)
    return MatchOutcome(
        match_id=match.match_id,
        result=Result(ranks, points),
        transcript_sha256="c" * 64,
        latencies=tuple(Latency(seat, "ROLL", 500_000_000, 12, 60_000_000, 9_000_000) for seat in range(len(ranks))),
        exits={
            seat: Exit(0, None, False, f"stderr of seat {seat}".encode(), cpu_ns=5, peak_memory_bytes=6)
            for seat in range(len(ranks))
        },
        attempts=(attempt(),),
        rules_version=1,
    )


def lower_wins(match: MatchJob) -> MatchOutcome:
    return won(match, match.seats.index(min(match.seats)))


def higher_wins(match: MatchJob) -> MatchOutcome:
    return won(match, match.seats.index(max(match.seats)))


def forfeited(match: MatchJob, *seats: int) -> MatchOutcome:
    """Return an outcome in which the bots in `seats` were too slow."""
    ranks = tuple(2 if seat in seats and len(seats) == 1 else 1 for seat in range(len(match.seats)))
    faults = tuple(FaultRecord(seat, Fault.TIMEOUT, "ROLL", 500.1, "no line within 500 ms") for seat in seats)
    return MatchOutcome(
        match_id=match.match_id,
        result=Result(ranks, None, dict.fromkeys(seats, Fault.TIMEOUT)),
        transcript_sha256="d" * 64,
        faults=faults,
        attempts=(attempt("referee-late", late_ns=7), attempt()),
        rules_version=1,
    )


def void(match: MatchJob, cause: str = "host-memory", **evidence: object) -> MatchOutcome:
    return MatchOutcome(match.match_id, None, None, attempts=(attempt(cause, **evidence),))


def abandoned(match: MatchJob) -> MatchOutcome:
    """Return the outcome of a match that is held until an organiser leaves it unplayed (see `World.finish`)."""
    attempts = (attempt("host-unknown", stolen_ms=1.5, seat=0),) * 3
    return MatchOutcome(match.match_id, None, None, attempts=attempts)
