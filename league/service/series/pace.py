"""How long matches take: the pace of a slot, and the duration of work that is known.

Theory of operation
-------------------
A slot plays one series at a time. It takes `Pace.start_seconds` for the boxes, `match_seconds` for each match, and
`turn_seconds` until it begins the next series; all are measured on series that were played (`measured`). Series that
may be played side by side form a pool: all of a round robin, or one round of a Swiss, because the next round is drawn
when the last pairing is settled. A pool of equal series takes as many turns as there are series for each slot. If the
ladder continues meanwhile, each pool first waits for the ladder's series that hold the slots: half of one, on average.

`foresee` follows `league.service.evaluations.beginning`: one evaluation at a time, the earliest due first, and only the
newest past time of each line.

This module is pure. `league.service.series.capacity` reads what was played; when a bot's next result comes
(`league.service.views.forecasts`) and when a season's work is done (`league.service.views.forecasts`) follow from it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean, linear_regression
from typing import NamedTuple

from deadheat.engine.language import _
from deadheat.league.pairing.notation import Stage
from deadheat.league.pairing.tournament import Form
from deadheat.league.records.seasons import ForecastEvaluation
from deadheat.league.timetable import DeclaredEvaluation, earliest_due, next_after, stamp

TURN_SECONDS = 0.06
"""The time between two series in a slot, on an idle machine; under load 9 it was 2.7 s."""

MOST_TURN = timedelta(minutes=1)
"""If nothing started for this long, nothing was waiting to be played."""

ENOUGH, FITTED = 3, 10
"""The numbers of played series from which their duration replaces the estimate, and from which the shares of start and
matches are fitted, too: a line through a few points may fall."""

POOL_SECONDS = 0.5
"""The measured time from a pool's last result to the next one's first start: settling, drawing, notifying workers."""

MOST_FORESEEN = 300
"""The most evaluations to foresee."""


class Played(NamedTuple):
    """A series that was played at the first attempt."""

    started_at: datetime
    finished_at: datetime
    queued_at: datetime
    matches: int


@dataclass(frozen=True, slots=True)
class Pace:
    """The time that a slot needs for a series, for each match in it, and between two series. `series`: the number that
    was measured; 0 for an estimate.
    """

    start_seconds: float
    match_seconds: float
    series: int = 0
    turn_seconds: float = TURN_SECONDS

    def seconds(self, matches: int) -> float:
        """Return the duration of a series of that many matches, in seconds."""
        return self.start_seconds + matches * self.match_seconds

    def slot_seconds(self, matches: int) -> float:
        """Return how long such a series keeps a slot, until the next one begins."""
        return self.seconds(matches) + self.turn_seconds

    def matches_a_minute(self, matches: int, slots: int) -> float:
        """Return the rate at which that many slots play matches, in series of this length only."""
        return 60 * slots * matches / max(self.slot_seconds(matches), 0.001)


ESTIMATE = Pace(1.0, 1.0)
"""The pace of a game that does not declare one (`GameFolder.pace`)."""


def measured(series: Sequence[Played], slots: int, estimate: Pace = ESTIMATE) -> Pace:
    """Measure the pace of played series: a straight line by least squares. If all have the same length, or they are
    few, their start takes no longer than estimated.
    """
    if len(series) < ENOUGH:
        return estimate
    counts = [played.matches for played in series]
    took = [(played.finished_at - played.started_at).total_seconds() for played in series]
    matches, seconds = fmean(counts), fmean(took)
    if len(series) >= FITTED and len(set(counts)) > 1:
        each = linear_regression(counts, took).slope
    else:
        each = (seconds - min(estimate.start_seconds, seconds / 2)) / matches
    each = min(max(each, 0.0), seconds / matches)
    return Pace(seconds - each * matches, each, len(series), _turn(series, slots))


def _turn(series: Sequence[Played], slots: int) -> float:
    """Return the mean number of seconds for which a slot was idle although a series waited. The n-th series to start
    after the first `slots` took the slot of the n-th to end.
    """
    ended = sorted(played.finished_at for played in series)
    later = sorted(series, key=lambda played: played.started_at)[slots:]
    gaps = [played.started_at - max(played.queued_at, before) for played, before in zip(later, ended, strict=False)]
    waits = [max(0.0, gap.total_seconds()) for gap in gaps if gap <= MOST_TURN]
    return fmean(waits) if waits else TURN_SECONDS


@dataclass(frozen=True, slots=True)
class Work:
    """Work to be played: `pools` one after another, each of that many equal series."""

    pools: int
    series: int
    matches: int

    @property
    def all_matches(self) -> int:
        """The total number of matches."""
        return self.pools * self.series * self.matches


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines that play: that many slots, each at this pace."""

    slots: int
    pace: Pace

    def seconds(self, works: Iterable[Work], ladder_seconds: float = 0.0) -> float:
        """Return how long the works take in turn. `ladder_seconds`: how long a series of the ladder holds a slot."""
        return sum(
            work.pools
            * (-(-work.series // self.slots) * self.pace.slot_seconds(work.matches) + POOL_SECONDS + ladder_seconds / 2)
            for work in works
            if work.series
        )


def tournament(form: Form, players: int, at_once: int) -> list[Work]:
    """Return the work of a tournament of that many players: its rounds, and as many further matches as there may be at
    its cut; in a knock-out, each round and the further matches of one table in it. `at_once`: the series of a pairing.
    """
    each = max(1, form.matches // at_once)
    pools = form.format.rules.pools(form, players) if players >= form.seats else ()
    return [Work(often, tables * at_once, each) for often, tables in pools]


def tournaments(
    declared: Sequence[Stage], players: int, seats: int, at_once: int, whole: Callable[[int], int]
) -> list[list[Work]]:
    """Return the work of each stage, for that many players in the first. `whole`: matches of a table in whole turns."""
    rounds = []
    for stage in declared:
        rounds.append(tournament(stage.form(players, whole(stage.matches), seats=seats), players, at_once))
        players = min(players, stage.keep)
    return rounds


# A timetable ------------------------------------------------------------------------------------------------------


def foresee(
    lines: Sequence[DeclaredEvaluation],
    took: Mapping[str, tuple[int, float]],
    since: Mapping[str, datetime],
    free: datetime,
    until: datetime | None = None,
    running: ForecastEvaluation | None = None,
) -> list[ForecastEvaluation]:
    """Return the evaluations that are played from now on. By name of the line, `took` has the matches and seconds of
    each, and only times after `since` are due. `free`: when they can begin. `until`: when they end, even if some are
    left. `running`: the one that is being played.
    """
    begun, runs = {line.name: since[line.name] for line in lines}, []
    if running is not None:
        free = running.done_at
        runs.append(running)
    while len(runs) < MOST_FORESEEN:
        due = earliest_due(lines, begun, free) or earliest_due(lines, begun, next_after(lines, free) or free)
        if due is None or (until is not None and max(due[0], free) >= until):
            break
        at, line = due
        begins = max(at, free)
        matches, seconds = took[line.name]
        free = begins + timedelta(seconds=seconds)
        runs.append(ForecastEvaluation(line.name, at, begins, free, matches, _skipped(line, begun[line.name], at)))
        begun[line.name] = at
    ends = [[at for at in (next_after(lines, run.due_at), until) if at is not None] for run in runs]
    return [replace(run, late=any(run.done_at > at for at in limits)) for run, limits in zip(runs, ends, strict=True)]


def _skipped(line: DeclaredEvaluation, since: datetime, at: datetime) -> int:
    """Return the number of a line's dates after `since` and before `at`."""
    count = 0
    while (since := line.next_due(since) or at) < at and count < MOST_FORESEEN:
        count += 1
    return count


def done_in_gaps(seconds: float, since: datetime, busy: Sequence[ForecastEvaluation]) -> datetime:
    """Return when other work of that length is done if it is played before, between and after evaluations."""
    for run in busy:
        gap = max(0.0, (run.begins_at - since).total_seconds())
        if seconds <= gap:
            break
        seconds -= gap
        since = max(since, run.done_at)
    return since + timedelta(seconds=seconds)


def warnings(runs: Sequence[ForecastEvaluation], until: datetime | None) -> Iterator[str]:
    """Return warnings for the organiser, in sentences."""
    if late := [run for run in runs if run.late and (until is None or run.done_at <= until)]:
        sentence = _(
            "%(late)s of %(all)s evaluations will not be done before the next is due; the first is %(name)s, due "
            "%(due)s, done %(done)s."
        )
        yield sentence % {"late": len(late), "all": len(runs), **_dated(late[0])}
    if skipped := sum(run.skipped for run in runs):
        yield _("%(n)s times of the timetable will be skipped, because another evaluation is played then.", n=skipped)
    for run in runs:
        if until is not None and run.done_at > until:
            sentence = _("%(name)s, due %(due)s, will take until %(done)s, and is cut off at %(until)s.")
            yield sentence % {**_dated(run), "until": stamp(until)}


def _dated(run: ForecastEvaluation) -> dict[str, str]:
    return {"name": run.name, "due": stamp(run.due_at), "done": stamp(run.done_at)}
