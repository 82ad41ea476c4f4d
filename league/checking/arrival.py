"""Checks a series that was played on a machine which nobody has to trust, before anything of it counts.

Theory of operation
-------------------
Of each transcript, only the *replies* are taken from the machine. The server plays the match again by its
own rules, from the seed, attempt, seats and names in its own plan, and demands that this gives the very
bytes that arrived. So dice, order, lines, legality, events, ranks, points, banks and faults of the rules
cannot be forged, and no transcript of another match, series, seat, version or attempt can be passed off as
this one. What is stored is derived from that playing: a machine states no result.

Times and faults of the pipe are the machine's word. But a referee of this release leaves more beside them
than `engine.replay` demands of all that was ever written: a time-out comes with counters that convict, no
other reply has counters unless time was taken, none was noticed later than it came. Programs are asked one
after the other, so all replies of a series together lasted no longer than it was out, by the server's clock
alone.

Nor can a machine leave out a match that it does not like: those that arrive are the first of their series in
its order, then at most one void attempt, without measurements, so that a machine can have no match held by
naming a seat.

What remains (docs/why/security-model.md) is for `league.checking.duplicates` and `league.checking.trust`.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from deadheat.engine.core import NS_PER_S, STDERR_KEPT_BYTES, Fault, Reply, Seat
from deadheat.engine.figures import seat_number
from deadheat.engine.games.variants import rules, variant_of
from deadheat.engine.own_time import CLOCK, MOST_PROCESSORS
from deadheat.engine.replay import replay
from deadheat.engine.transcript import BadTranscript, Prompt, Transcript, decode, encode
from deadheat.league.causes import Cause, Trait
from deadheat.league.jobs import AttemptRecord, MatchJob, MatchOutcome, SeriesJob
from deadheat.league.outcomes import evidence, outcome
from deadheat.sandbox.box import Exit

MOST_DETAIL = 500
"""How many characters of a machine's words about a void attempt are kept."""

SLACK_NS, DRIFT_ONE_IN = NS_PER_S, 1000
"""By how much two clocks may differ over a series: one is set now and then, and by NTP's rules each drifts by at most
one part in 2,000."""

MOST_FIGURE = 2**62
"""Above every measured figure, and below what the database holds."""


class Reason(StrEnum):
    """A stable word for why something was refused."""

    UNREADABLE = "unreadable"  # no transcript, or a broken chain
    ANOTHER_MATCH = "another-match"  # other dice, seats, versions, attempt, or another match or series
    RELEASE = "release"  # other rules or another format than this server's
    RULES = "rules"  # the rules lead elsewhere
    EVIDENCE = "evidence"  # no referee of this release recorded that
    STAMPS = "stamps"  # it lasted longer than the series was out
    ORDER = "order"  # not the first matches of the series in their order
    FIGURES = "figures"  # an end of a program, or a cause, that cannot be

    @property
    def proves(self) -> bool:
        """Whether no machine can have sent it that runs this release unchanged, unless its memory is broken."""
        return self not in (Reason.RELEASE, Reason.STAMPS)  # the server's own clock may have been set


class Refused(Exception):
    """No referee of this release recorded this of that match. Nothing of its series may count."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Stamps:
    """When an attempt at a series was claimed, and when this part of it arrived, by the server's clock (Unix epoch)."""

    claimed_ns: int
    arrived_ns: int

    @property
    def most_ns(self) -> int:
        """The longest that anything can have lasted meanwhile, by any clock."""
        out_ns = max(0, self.arrived_ns - self.claimed_ns)
        return out_ns + out_ns // DRIFT_ONE_IN + SLACK_NS


@dataclass(frozen=True, slots=True)
class Stated:
    """A machine's words about one match that it played. Its instants are by its own wall clock."""

    match_id: int
    transcript: bytes
    exits: Mapping[Seat, Exit] = field(default_factory=dict)
    started_at_ns: int = 0
    finished_at_ns: int = 0


def check(job: SeriesJob, stated: Stated, stamps: Stamps) -> MatchOutcome:
    """Return the outcome of a match, as this server derives it. `job`: the server's own plan of that attempt.

    Raises:
        Refused: nothing of it may count.
    """
    match = next((match for match in job.matches if match.match_id == stated.match_id), None)
    if match is None:
        raise Refused(Reason.ORDER, f"match {stated.match_id} is none of this series")
    try:
        arrived = decode(stated.transcript)
    except BadTranscript as error:
        raise Refused(Reason.UNREADABLE, f"match {match.match_id}: {error}") from error
    transcript = _again(job, match, arrived)
    if encode(transcript) != stated.transcript:
        raise Refused(Reason.RELEASE, f"match {match.match_id} is written in an older format")
    _must_be_ours(transcript, stamps)
    started_ns = min(max(stated.started_at_ns, stamps.claimed_ns), stamps.arrived_ns)
    finished_ns = min(max(stated.finished_at_ns, started_ns), stamps.arrived_ns)
    attempt = AttemptRecord(started_ns, finished_ns, Cause.PLAYED, evidence=evidence(transcript))
    exits = {seat: _end(seat, end, len(match.seats)) for seat, end in sorted(stated.exits.items())}
    checked = outcome(transcript, match.match_id, hashlib.sha256(stated.transcript).hexdigest(), attempt, exits)
    _must_fit([checked], stamps)
    return checked


def check_series(job: SeriesJob, played: Sequence[Stated], stamps: Stamps) -> list[MatchOutcome]:
    """Return the outcomes of the matches of a series that were played.

    Raises:
        Refused: nothing of the series may count.
    """
    planned, sent = [match.match_id for match in job.matches], [stated.match_id for stated in played]
    if sent != planned[: len(sent)]:
        raise Refused(Reason.ORDER, f"matches {sent[:10]} arrived, which are not the first of {planned[:10]}")
    outcomes = [check(job, stated, stamps) for stated in played]
    _must_fit(outcomes, stamps)
    return outcomes


def check_void(
    job: SeriesJob, played: Sequence[Stated], match_id: int, cause: str, detail: str, stamps: Stamps
) -> MatchOutcome:
    """Return the outcome of the void attempt that ended the series after the matches that were `played`.

    Raises:
        Refused: another match was next, or no machine gives that cause.
    """
    if len(played) >= len(job.matches) or job.matches[len(played)].match_id != match_id:
        raise Refused(Reason.ORDER, f"match {match_id} was not the next one after {len(played)} of the series")
    known = Cause(cause)
    if known in (Cause.PLAYED, Cause.LEASE_EXPIRED) or Trait.DROPPED in known.traits:
        raise Refused(Reason.FIGURES, f"no machine gives the cause {known} for a void attempt")
    attempt = AttemptRecord(stamps.claimed_ns, stamps.arrived_ns, known.value, detail[:MOST_DETAIL])
    return MatchOutcome(match_id, None, None, attempts=(attempt,))


def _again(job: SeriesJob, match: MatchJob, arrived: Transcript) -> Transcript:
    """Play the planned match with the replies that arrived."""
    game = rules(job.game, job.variant)
    players = [job.programs[version].label for version in match.seats]
    planned = {
        "game": game.name,
        "variant": variant_of(game),
        "seats": len(match.seats),
        "seed": match.seed,
        "attempt": match.attempt,
        "about": {"match": match.match_id, "series": job.series_id, "players": players},
    }
    for name, value in planned.items():
        if repr(getattr(arrived, name)) != repr(value):  # True equals 1, and other keys first are other bytes
            raise Refused(Reason.ANOTHER_MATCH, f'the plan of match {match.match_id} has another "{name}"')
    if (arrived.rules_version, arrived.clock) != (game.rules_version, CLOCK):
        by = f"other rules of {game.name} or of own time than this server's"
        raise Refused(Reason.RELEASE, f"match {match.match_id} was played by {by}")
    try:
        return replay(game, arrived)
    except Exception as error:  # a mistake in the rules would have kept an honest referee from writing this, too
        raise Refused(Reason.RULES, f"match {match.match_id}: {str(error) or type(error).__name__}") from error


def _must_fit(outcomes: Sequence[MatchOutcome], stamps: Stamps) -> None:
    """Refuse replies that together lasted longer than their series was out: their own time and what was taken."""
    lasted_ns = sum(latency.total_ns for checked in outcomes for latency in checked.latencies)
    for attempt in (attempt for checked in outcomes for attempt in checked.attempts):
        stolen_ns = attempt.evidence.get("stolen_ns", 0)
        lasted_ns += stolen_ns if isinstance(stolen_ns, int) else 0
    if lasted_ns > stamps.most_ns:
        out = f"which was out for at most {stamps.most_ns / NS_PER_S:.1f} s"
        raise Refused(Reason.STAMPS, f"{lasted_ns / NS_PER_S:.1f} s of replies in a series {out}")


def _must_be_ours(transcript: Transcript, stamps: Stamps) -> None:
    """Refuse replies that this release's referee does not leave like that (`sandbox.pipes`)."""
    for prompt in transcript.prompts():
        if (clause := _doubt(prompt, stamps)) is not None:
            where = f"the reply of seat {seat_number(prompt.message.seat)} at exchange {prompt.exchange}"
            raise Refused(Reason.EVIDENCE, f"{where} {clause}")


def _doubt(prompt: Prompt, stamps: Stamps) -> str | None:
    """Say in a clause why no referee of this release left that reply; None if one can."""
    reply, shown, timeout = prompt.reply, prompt.reply.evidence, prompt.reply.fault is Fault.TIMEOUT
    if not 0 <= reply.late_ns <= reply.elapsed_ns:
        return "was noticed later than it came"
    if (reply.cpu_ns or 0) < 0:
        return "used less than no CPU time"
    if reply.fault is Fault.UNEXPECTED and reply != Reply(None, 0, Fault.UNEXPECTED):
        return "took time, although it came before its prompt"
    if shown is None:
        return "was called a timeout without counters that convict it" if timeout else None
    if any(value is not None and value > stamps.most_ns * MOST_PROCESSORS for value in shown):
        return "has counters of more time than its series was out"
    if shown.cpu_ns is not None and reply.cpu_ns != shown.cpu_ns + shown.write_cpu_ns:
        return "has counters of other CPU time than its own"
    if not timeout:
        return None if reply.stolen_ns else "has counters although no time was taken from it"
    if shown.frozen or shown.signal == "none":
        return "was called a timeout, but nothing tells whether it was kept from running"
    return "was called a timeout within its limit" if reply.own_ns <= prompt.limit_ns else None


def _end(seat: Seat, end: Exit, seats: int) -> Exit:
    """Return the end of a program as a machine states it, with as much of its stderr as a box keeps."""
    ways = [way for way in (end.exit_code, end.signal) if way is not None]
    figures = [figure for figure in (end.cpu_ns, end.peak_memory_bytes) if figure is not None]
    one_way = len(ways) == 1 or (not ways and end.lingered)
    fits = all(0 <= way < 256 for way in ways) and all(0 <= figure <= MOST_FIGURE for figure in figures)
    if not (0 <= seat < seats and one_way and fits):
        raise Refused(Reason.FIGURES, f"no program of seat {seat_number(seat)} ends like that")
    return replace(end, stderr=end.stderr[-STDERR_KEPT_BYTES:])
