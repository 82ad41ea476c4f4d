"""The plain values, not rows, that pass between the database and the workers.

A worker gets a job from a claim, carries it out without a database connection, and hands back outcomes in one call. A
job names its attempt; if the row has moved on to another attempt, the outcome is too late and is dropped (see
`league.service`). This module has what all kinds of job share, and everything about series; other kinds have modules of
their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deadheat.engine.core import Fault, Result, Seat
from deadheat.sandbox.box import Exit


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that plays: its name, and one of its boots. Findings from before a reboot are void."""

    name: str
    boot: str


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job of any kind."""

    waited_seconds: float = field(default=0.0, kw_only=True)  # from queued to claimed


@dataclass(frozen=True, slots=True)
class ProgramRef:
    """A version's built program: its place, and how to start it."""

    version_id: int
    label: str  # bot name and version number, for transcripts and logs
    program_sha256: str
    language: str
    entry: str = ""  # the file that the program starts with; empty: the language's usual one


@dataclass(frozen=True, slots=True)
class MatchJob:
    """One match of a series: `seats[seat]` is the version in that seat."""

    match_id: int
    seed: bytes
    seats: tuple[int, ...]
    attempt: int = 1  # the number of `seed` in the match's list: see engine.chance.attempt_seed


@dataclass(frozen=True, slots=True)
class SeriesJob(Job):
    """Matches between the same versions, carried out in one go."""

    series_id: int
    attempt: int
    game: str
    programs: Mapping[int, ProgramRef]  # by version id
    matches: tuple[MatchJob, ...]
    host: Host = Host("", "")  # where it was claimed; empty in tests without a database
    unfit: tuple[str, ...] = ()  # why that host should not judge; only if DEADHEAT_JUDGE_UNFIT permits it
    season_id: int = 0  # none in tests without a database
    variant: Sequence[str] | None = None  # the season's, see `league.terms`


@dataclass(frozen=True, slots=True)
class Latency:
    """One seat's response times to one command in one match, in nanoseconds. `timeouts`: how many were late;
    `given_back`: how many counted past their deadlines, because the host had taken the excess.
    """

    seat: Seat
    command: str
    limit_ns: int
    prompts: int
    total_ns: int
    worst_ns: int
    counts: Mapping[int, int] = field(default_factory=dict)  # by bucket, see league.time_buckets
    timeouts: int = 0
    given_back: int = 0


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt at a match, for the ledger. `cause` is "played" or the reason why it is void; `evidence` then names
    the `seat` whose turn it was, if any.
    """

    started_at_ns: int  # wall clock, Unix epoch
    finished_at_ns: int
    cause: str
    detail: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an attempt at a series failed as a whole, for the ledger."""

    cause: str
    detail: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """The place in a match at which a seat failed, for people. `elapsed_ms` is None for an agent, whose own time was
    not measured.
    """

    seat: Seat
    fault: Fault
    command: str
    elapsed_ms: float | None
    why: str


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """The outcome of one match. `result` is None if its attempts were void: it is played again, or held.

    `rules_version`: the version of the game's rules, from the transcript. `comeback`: see `engine.scenes`.
    """

    match_id: int
    result: Result | None
    transcript_sha256: str | None
    faults: tuple[FaultRecord, ...] = ()
    latencies: tuple[Latency, ...] = ()
    exits: Mapping[Seat, Exit] = field(default_factory=dict)  # according to the boxes
    attempts: tuple[AttemptRecord, ...] = ()
    rules_version: int | None = None
    comeback: float | None = None
