"""Forecasts when each evaluation of a timetable will be done, which shows whether there are enough machines.

Theory of operation
-------------------
A slot plays one series at a time. It takes `Pace.start_seconds` for the boxes and the queue, and `match_seconds` for
each match; both are fitted to series that were played. Series that may be played side by side form a pool: all of a
round robin, or one round of a Swiss, because the next round is drawn when the last pairing is settled. A pool of equal
series takes as many turns as there are series for each slot. If the ladder continues meanwhile, each pool first waits
for the ladder's series that hold the slots: half of one, on average.

`foresee` then follows `league.service.evaluations.beginning`: one evaluation at a time, the earliest due first, and
only the newest past time of each line. This module is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import comb

from deadheat.engine.language import _
from deadheat.league.pairing.bracket import rounds_of
from deadheat.league.pairing.stages import Stage
from deadheat.league.records.forecasts import ForecastEvaluation
from deadheat.league.states import EvaluationFormat
from deadheat.league.timetable import DeclaredEvaluation, stamp

TURN_SECONDS = 0.06
"""The time between two series in a slot, on an idle machine; under load 9 it was 2.7 s."""

MOST_TURN = timedelta(minutes=1)
"""If nothing started for this long, nothing was waiting to be played."""

FEWEST_MEASURED = 10
"""The number of played series from which the measured pace replaces the estimate."""

POOL_SECONDS = 0.5
"""The measured time from a pool's last result to the next one's first start: settling, drawing, notifying workers."""

MOST_FORESEEN = 300
"""The most evaluations to foresee."""


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

    def matches_a_minute(self, matches: int, slots: int) -> float:
        """Return the rate at which that many slots play matches, in series of this length only."""
        return 60 * slots * matches / max(self.seconds(matches) + self.turn_seconds, 0.001)


ESTIMATE = Pace(1.0, 1.0)
"""The pace of a game that does not declare one (`GameFolder.pace`)."""


@dataclass(frozen=True, slots=True)
class Played:
    """A series that was played."""

    matches: int
    queued_at: datetime
    started_at: datetime
    finished_at: datetime


def measured(series: Sequence[Played], estimate: Pace, slots: int = 1) -> Pace:
    """Measure the pace of played series: a straight line by least squares. If all have the same length, their start
    takes no longer than estimated.
    """
    played = [(one.matches, (one.finished_at - one.started_at).total_seconds()) for one in series]
    many = len(played)
    if many < FEWEST_MEASURED:
        return estimate
    matches = sum(count for count, _ in played) / many
    seconds = sum(took for _, took in played) / many
    spread = sum((count - matches) ** 2 for count, _ in played)
    if spread:
        each = sum((count - matches) * (took - seconds) for count, took in played) / spread
    else:
        each = (seconds - min(estimate.start_seconds, seconds / 2)) / matches
    each = min(max(each, 0.0), seconds / matches)
    return Pace(seconds - each * matches, each, many, _turn(series, slots))


def _turn(series: Sequence[Played], slots: int) -> float:
    """Return the mean number of seconds for which a slot was idle although a series waited. The n-th series to start
    after the first `slots` took the slot of the n-th to end.
    """
    ended = sorted(one.finished_at for one in series)
    later = sorted(series, key=lambda one: one.started_at)[slots:]
    found = [one.started_at - max(one.queued_at, before) for one, before in zip(later, ended, strict=False)]
    waits = [max(0.0, gap.total_seconds()) for gap in found if gap <= MOST_TURN]
    return sum(waits) / len(waits) if waits else TURN_SECONDS


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
    """The machines that play. `ladder_seconds`: how long a series of the ladder holds a slot; 0 if the ladder waits."""

    slots: int
    pace: Pace
    ladder_seconds: float = 0.0

    def seconds(self, work: Work) -> float:
        """Return the time that the work takes."""
        turns = -(-work.series // self.slots)
        pool = (
            turns * (self.pace.seconds(work.matches) + self.pace.turn_seconds) + POOL_SECONDS + self.ladder_seconds / 2
        )
        return work.pools * pool if work.series else 0.0


def evaluation_work(declared: DeclaredEvaluation, bots: int, seats: int, series: int, matches: int) -> Work:
    """Return the work of an evaluation of that many bots, with that many series of so many matches per table."""
    if declared.format is EvaluationFormat.SWISS:
        return Work(declared.rounds or 0, bots // seats * series, matches)
    return Work(1, bots * (bots - 1) // 2 * series, matches)


def stage_work(
    declared: Sequence[Stage], players: int, seats: int, at_once: int, whole: Callable[[int], int]
) -> list[list[Work]]:
    """Return the work of each stage, for that many players in the first. It includes as many further matches as there
    may be at a cut, and in each round of a knockout those of one pair. `whole`: matches of a pair in whole turns.
    """
    found: list[list[Work]] = []
    for stage in declared:
        form = stage.form(players, whole(stage.matches))
        each = max(1, form.matches // at_once)
        further = Work(form.further, at_once, each)
        if players < seats:
            found.append([])
        elif stage.format is EvaluationFormat.SWISS:
            found.append([Work(form.rounds, players // seats * at_once, each), further])
        elif stage.format is EvaluationFormat.ROUND_ROBIN:
            found.append([Work(1, comb(players, 2) * at_once, each), further])
        else:
            ties = [2**number for number in reversed(range(rounds_of(players)))]
            if ties:
                ties[0] -= 2 ** len(ties) - players  # byes
                ties[-1] += int(stage.third_place and players > 3)
            found.append([work for one in ties for work in (Work(1, one * at_once, each), further)])
        players = min(players, stage.keep)
    return found


@dataclass(frozen=True, slots=True)
class Course:
    """The state of a timetable. `since`: earlier times are not due. `begun`: the newest time of each line that was
    begun. `at`: when evaluations can begin. `until`: when they end, even if some are left.
    """

    since: datetime
    at: datetime
    until: datetime | None = None
    begun: Mapping[str, datetime] | None = None
    running: ForecastEvaluation | None = None


def foresee(
    lines: Sequence[DeclaredEvaluation], took: Mapping[str, tuple[int, float]], course: Course
) -> list[ForecastEvaluation]:
    """Return the evaluations that are played from now on. `took`: by name, the matches and seconds of each."""
    begun = {line.name: max(course.since, (course.begun or {}).get(line.name, course.since)) for line in lines}
    found = []
    free = course.at
    if course.running is not None:
        free = course.running.done_at
        found.append(_judged(course.running, lines, course.until))
    while len(found) < MOST_FORESEEN:
        due = [(at, number) for number, line in enumerate(lines) if (at := line.newest_due(begun[line.name], free))]
        if not due:
            due = [(at, number) for number, line in enumerate(lines) if (at := line.next_due(free))]
        if not due:
            break
        at, number = min(due)
        line = lines[number]
        begins = max(at, free)
        if course.until is not None and begins >= course.until:
            break
        matches, seconds = took[line.name]
        free = begins + timedelta(seconds=seconds)
        one = ForecastEvaluation(line.name, at, begins, free, matches, _skipped(line, begun[line.name], at))
        found.append(_judged(one, lines, course.until))
        begun[line.name] = at
    return found


def _judged(one: ForecastEvaluation, lines: Sequence[DeclaredEvaluation], until: datetime | None) -> ForecastEvaluation:
    limits = [at for at in (next_after(lines, one.due_at), until) if at is not None]
    return replace(one, late=any(one.done_at > at for at in limits))


def next_after(lines: Sequence[DeclaredEvaluation], at: datetime) -> datetime | None:
    """Return the next time of any line after that instant."""
    return min(filter(None, (line.next_due(at) for line in lines)), default=None)


def _skipped(line: DeclaredEvaluation, since: datetime, at: datetime) -> int:
    """Return the number of a line's dates after `since` and before `at`."""
    count = 0
    while (since := line.next_due(since) or at) < at and count < MOST_FORESEEN:
        count += 1
    return count


def done_in_gaps(seconds: float, since: datetime, busy: Sequence[ForecastEvaluation]) -> datetime:
    """Return when other work of that length is done if it is played before, between and after evaluations."""
    for one in busy:
        gap = max(0.0, (one.begins_at - since).total_seconds())
        if seconds <= gap:
            break
        seconds -= gap
        since = max(since, one.done_at)
    return since + timedelta(seconds=seconds)


def warnings(found: Sequence[ForecastEvaluation], until: datetime | None) -> Iterator[str]:
    """Return warnings for the organiser, in sentences."""
    late = [one for one in found if one.late and (until is None or one.done_at <= until)]
    if late:
        first = late[0]
        told = _(
            "%(late)s of %(all)s evaluations will not be done before the next is due; the first is %(name)s, due "
            "%(due)s, done %(done)s."
        )
        due, done = stamp(first.due_at), stamp(first.done_at)
        yield told % {"late": len(late), "all": len(found), "name": first.name, "due": due, "done": done}
    if skipped := sum(one.skipped for one in found):
        told = _("%(n)s times of the timetable will be skipped, because another evaluation is played then.")
        yield told % {"n": skipped}
    if until is not None:
        for one in found:
            if one.done_at > until:
                told = _("%(name)s, due %(due)s, will take until %(done)s, and is cut off at %(until)s.")
                due, done = stamp(one.due_at), stamp(one.done_at)
                yield told % {"name": one.name, "due": due, "done": done, "until": stamp(until)}
