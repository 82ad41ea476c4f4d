"""Foresees when each evaluation of a timetable will be done, which shows whether there are enough machines.

It follows `league.service.evaluations.beginning`: one evaluation at a time, the earliest due first, and only the newest
past time of each line. This module is pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from deadheat.engine.language import _
from deadheat.league.records.forecasts import ForecastEvaluation
from deadheat.league.timetable import DeclaredEvaluation, earliest_due, next_after, stamp

MOST_FORESEEN = 300
"""The most evaluations to foresee."""


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
    begun, found = {line.name: since[line.name] for line in lines}, []
    if running is not None:
        free = running.done_at
        found.append(running)
    while len(found) < MOST_FORESEEN:
        due = earliest_due(lines, begun, free) or earliest_due(lines, begun, next_after(lines, free) or free)
        if due is None or (until is not None and max(due[0], free) >= until):
            break
        at, line = due
        begins = max(at, free)
        matches, seconds = took[line.name]
        free = begins + timedelta(seconds=seconds)
        found.append(ForecastEvaluation(line.name, at, begins, free, matches, _skipped(line, begun[line.name], at)))
        begun[line.name] = at
    ends = [[at for at in (next_after(lines, one.due_at), until) if at is not None] for one in found]
    return [replace(one, late=any(one.done_at > at for at in limits)) for one, limits in zip(found, ends, strict=True)]


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
