"""The requests of a machine that plays to the league, and who answers them.

Theory of operation
-------------------
`workers.play`, `workers.canary`, `workers.live` and `workers.keeper` reach the league through the `Link` of their
context and in no other way. There are two. `InProcess` holds the league's database and store itself: for `serve`, and
for workers on machines of one's own. `workers.machine.client.OverHttp` holds nothing but a token of its machine, and
speaks to the API: for machines that nobody must trust.

Both mean the same: `claim` gives a job with an attempt and a lease, everything else that concerns the job names its
attempt, and `finish` is the one transaction that writes results, if the attempt still holds its series.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from deadheat.engine.transcript import encode
from deadheat.engine.unfinished import Replies
from deadheat.league.jobs import AttemptRecord, Failure, MatchOutcome, ProgramRef, SeriesJob
from deadheat.league.outcomes import outcome
from deadheat.league.service.course.schedule import seasons_going_on
from deadheat.league.service.series import live
from deadheat.league.service.series.carrying_out import SERIES, finish_series, renew_series
from deadheat.league.service.series.hosts import (
    due_check,
    host_arrives,
    host_seen,
    record_canary,
    record_check,
    take_canary,
)
from deadheat.league.service.series.turns import claim_next_series, turn_away_series
from deadheat.league.states import Fitness
from deadheat.sandbox.arena import Played
from deadheat.workers.holding import insist, take, turned_away

if TYPE_CHECKING:
    from deadheat.workers.context import Context

Wrong = Sequence[Mapping[str, object]]
"""The wrong verdicts of a canary match."""


class Link(Protocol):
    """The requests of a machine that plays to the league.

    Every method may raise one of `workers.holding.UNREACHABLE` if the league cannot be reached at the moment.
    """

    def claim(self, series_id: int) -> SeriesJob | None:
        """Claim the next series, on receipt of a message about that one. None: there is none for this machine."""

    def turn_away(self, series_id: int) -> bool:
        """Say, after a claim in vain, whether the series waits for another machine, which should be told."""

    def renew(self, job: SeriesJob) -> bool:
        """Prolong the lease. Return False if the series is no longer ours."""

    def must_take(self) -> None:
        """Raise BlobsAway if no transcript could be stored now."""

    def program(self, job: SeriesJob, ref: ProgramRef) -> bytes:
        """Return a built program of this job as a tar. Raises BlobMissing, BlobDamaged, BlobsAway."""

    def show(self, job: SeriesJob, match_id: int, replies: Replies) -> bool:
        """Show spectators a running match so far. Return False if nobody sees it."""

    def store(self, match_id: int, played: Played, attempt: AttemptRecord) -> MatchOutcome:
        """Store a match's transcript, and return its outcome. Raises BlobsAway."""

    def finish(self, job: SeriesJob, outcomes: Sequence[MatchOutcome], failure: Failure | None) -> bool:
        """Hand in results, insisting for a while. Return False if they came too late or do not count."""

    def take_canary(self) -> int | None:
        """Return the series finished here since the last canary match, if one is due and nobody plays it yet."""

    def record_canary(self, voids: int, wrong: Wrong | None, series_before: int) -> None:
        """Report the end of a canary match."""

    def arrive(self, image: str) -> bool:
        """Announce this machine before it plays. Return False if another one has its name."""

    def seen(self, steal_share: float, late_seconds: float, busy_share: float, held_by: str | None) -> bool:
        """Report that this machine is alive. Return False if the league does not know it."""

    def due_check(self) -> Fitness | None:
        """Return this machine's fitness if a check is due."""

    def record_check(
        self, report: Mapping[str, object], reasons: Sequence[str], again_seconds: float, doubts: int
    ) -> None:
        """Report what a check found."""

    def seasons(self, known: Collection[int]) -> Mapping[int, str]:
        """Return the games of the seasons that go on, by number, without those that are known."""


class InProcess:
    """The link of a process that holds the league's database and store."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def claim(self, series_id: int) -> SeriesJob | None:
        who = (self._context.worker, self._context.host)
        return take(self._context, SERIES, lambda session: claim_next_series(session, series_id, *who))

    def turn_away(self, series_id: int) -> bool:
        host = self._context.host
        return turned_away(self._context, f"series {series_id}", lambda s: turn_away_series(s, series_id, host))

    def renew(self, job: SeriesJob) -> bool:
        with self._context.database.transaction() as session:
            return renew_series(session, job)

    def must_take(self) -> None:
        self._context.blobs.must_take()

    def program(self, job: SeriesJob, ref: ProgramRef) -> bytes:
        return self._context.blobs.get(ref.program_sha256, self._context.settings.unpacked_limit_bytes)

    def show(self, job: SeriesJob, match_id: int, replies: Replies) -> bool:
        with self._context.database.transaction() as session:
            return live.show(session, job, match_id, replies)

    def store(self, match_id: int, played: Played, attempt: AttemptRecord) -> MatchOutcome:
        sha256 = self._context.blobs.put(encode(played.transcript))
        return outcome(played.transcript, match_id, sha256, attempt, played.exits)

    def finish(self, job: SeriesJob, outcomes: Sequence[MatchOutcome], failure: Failure | None) -> bool:
        worker = self._context.worker
        return insist(self._context, lambda session: finish_series(session, job, worker, outcomes, failure))

    def take_canary(self) -> int | None:
        with self._context.database.transaction() as session:
            return take_canary(session, self._context.host)

    def record_canary(self, voids: int, wrong: Wrong | None, series_before: int) -> None:
        with self._context.database.transaction() as session:
            record_canary(session, self._context.host, voids, wrong, series_before)

    def arrive(self, image: str) -> bool:
        with self._context.database.transaction() as session:
            return host_arrives(session, self._context.host, image)

    def seen(self, steal_share: float, late_seconds: float, busy_share: float, held_by: str | None) -> bool:
        with self._context.database.transaction() as session:
            return host_seen(session, self._context.host, steal_share, late_seconds, busy_share, held_by)

    def due_check(self) -> Fitness | None:
        with self._context.database.reading() as session:
            return due_check(session, self._context.host)

    def record_check(
        self, report: Mapping[str, object], reasons: Sequence[str], again_seconds: float, doubts: int
    ) -> None:
        with self._context.database.transaction() as session:
            record_check(session, self._context.host, report, reasons, again_seconds, doubts)

    def seasons(self, known: Collection[int]) -> Mapping[int, str]:
        with self._context.database.reading() as session:
            going_on = seasons_going_on(session)
        return {season_id: going_on[season_id] for season_id in going_on.keys() - known}
