"""A small league for tests that plans and plays matches."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from sqlmodel import Session

from deadheat.league.database import Database
from deadheat.league.jobs import Failure, MatchJob, MatchOutcome, SeriesJob
from deadheat.league.service.course.schedule import go_on, seasons_going_on
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings.rulings import leave_match
from deadheat.league.service.series.carrying_out import SERIES, claim_series, finish_series
from deadheat.league.states import JobState
from deadheat.league.tables import Series
from tests.league.outcomes import Outcome, abandoned, won
from tests.league.seasons import Seasons


def tick(session: Session) -> list[int]:
    """Do what the task `tick` does, but in one transaction, and return the new series."""
    return [series_id for season_id in seasons_going_on(session) for series_id in go_on(session, season_id)]


def release_series(
    session: Session, job: SeriesJob, worker: str, failure: Failure, voids: Sequence[MatchOutcome] = ()
) -> None:
    finish_series(session, job, worker, voids, failure)


class World(Seasons):
    """A league whose matches the first seat wins unless a test says otherwise."""

    def tick(self) -> list[int]:
        with self.db.transaction() as session:
            return tick(session)

    def claim(self, series_id: int, worker: str = "w1", db: Database | None = None) -> SeriesJob | None:
        with (db or self.work).transaction() as session:
            return claim_series(session, series_id, worker, self.host)

    def claimed(
        self, series: int | Sequence[int] | None = None, worker: str = "w1", db: Database | None = None
    ) -> SeriesJob:
        """Let a worker claim the one series in `series`, or (if None) the only one that a tick plans."""
        if series is None:
            series = self.tick()
        (series_id,) = [series] if isinstance(series, int) else series
        job = self.claim(series_id, worker, db)
        assert job is not None
        return job

    def finish(
        self,
        job: SeriesJob,
        outcomes: Sequence[MatchOutcome] | Outcome | None = None,
        worker: str = "w1",
        db: Database | None = None,
    ) -> bool:
        """Hand in outcomes, by default first-seat wins; an organiser leaves unplayed what is `abandoned`."""
        if not isinstance(outcomes, Sequence):
            outcomes = [(outcomes or won)(match) for match in job.matches]
        with (db or self.work).transaction() as session:
            taken = finish_series(session, job, worker, outcomes)
        with self.db.transaction() as session:
            for outcome in outcomes:
                if taken and outcome == abandoned(MatchJob(outcome.match_id, b"", ())):
                    leave_match(session, self.boss, outcome.match_id, "we failed")
        return taken

    def play(self, series_ids: Iterable[int], outcome: Outcome | None = None) -> int:
        """Play these series, each match with `outcome`; return the number of matches."""
        played = 0
        for series_id in series_ids:
            job = self.claimed(series_id)
            assert self.finish(job, outcome)
            played += len(job.matches)
        return played

    def play_left(self, series_ids: Iterable[int], outcome: Outcome | None = None) -> int:
        """Play those of these series that still wait; return the number of matches."""
        waiting = [series_id for series_id in series_ids if self.row(Series, series_id).state is JobState.QUEUED]
        return self.play(waiting, outcome)

    def play_all(self, outcome: Outcome | None = None) -> int:
        """Play until nothing is planned, with `outcome` or first-seat wins; return the number of matches."""
        played = 0
        while series_ids := self.tick():
            played += self.play(series_ids, outcome)
        return played

    def played(self, bots: int, **chosen: Any) -> int:
        """Open a season as `season` does, and play its ladder to the end."""
        return self.repeated(partial(self._played, bots, chosen), "played", bots, *chosen.items())

    def _played(self, bots: int, chosen: dict[str, Any]) -> int:
        season_id = self.season(bots, **chosen)
        self.play_all()
        return season_id

    def ranked(self, bots: int, **chosen: Any) -> int:
        """Open a season as `season` does, play its ladder to the end, and rank it."""
        return self.repeated(partial(self._ranked, bots, chosen), "ranked", bots, *chosen.items())

    def _ranked(self, bots: int, chosen: dict[str, Any]) -> int:
        season_id = self.played(bots, **chosen)
        assert self.write(refit, season_id)
        return season_id

    def settle(self) -> None:
        """Play until nothing is planned, and update and publish all rankings that are due."""
        self.play_all()
        self.settle_rankings()

    def enqueued(self) -> list[int]:
        return self.write(sweep)[SERIES]
