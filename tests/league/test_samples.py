"""The operator's charts show what was played in each minute, and a gap where there are no samples."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import func, select

from deadheat.api.pages.pictures.timelines import LATE_MS, timelines
from deadheat.engine.core import NS_PER_S
from deadheat.league.errors import NotAllowed
from deadheat.league.jobs import MatchOutcome
from deadheat.league.service.rulings.closing import OPERATOR
from deadheat.league.service.series.hosts import host_seen
from deadheat.league.service.views.queues import KEPT, Moment, Ran, samples, take_sample
from deadheat.league.tables import Sample
from tests.league.outcomes import void, won
from tests.league.world import World

START = datetime(2026, 1, 1, tzinfo=UTC)


def minutes(world: World, count: float = 1) -> bool:
    """Let `count` minutes pass; return whether a sample was due."""
    world.clock.now += timedelta(minutes=count)
    world.beat()
    return world.write(take_sample)


def ended(world: World, outcome: MatchOutcome, minutes: float = 0, **evidence: object) -> MatchOutcome:
    """Return the outcome, but with attempts that ended `minutes` ago and have this evidence."""
    at_ns = round((world.clock.now - timedelta(minutes=minutes)).timestamp() * NS_PER_S)
    attempts = (replace(attempt, finished_at_ns=at_ns, evidence=evidence) for attempt in outcome.attempts)
    return replace(outcome, attempts=tuple(attempts))


def play(world: World, first_minutes: float = 0, **evidence: object) -> None:
    """Play two matches on the world's machine. The first ended `first_minutes` ago; the second is void."""
    job = world.claimed(worker=f"{world.host.name}:1")
    first = ended(world, won(job.matches[0]), first_minutes, **evidence)
    assert world.finish(job, [first, ended(world, void(job.matches[1]))], worker=f"{world.host.name}:1")


def test_attempts_are_counted_once_in_their_minute_and_on_their_machine(world: World) -> None:
    world.season(games_per_pair=2)
    minutes(world)
    play(world)
    minutes(world)
    assert not minutes(world, 0.5), "one sample a minute"
    minutes(world, 1.5)
    before, during, after = world.read(samples, OPERATOR, 1)
    assert (before.machines[1].matches, after.machines[1].matches) == (0, 0)
    assert (during.machines[1].matches, during.machines[1].voids) == (1, 1)
    assert after.minutes == 2


def test_a_match_is_counted_in_the_minute_in_which_it_ended_though_its_series_ended_later(world: World) -> None:
    world.season(games_per_pair=2)
    minutes(world)
    minutes(world)
    minutes(world)
    play(world, first_minutes=1.5, stolen_ns=1_250_000_000, past_deadline=2)
    minutes(world)
    ran = [moment.machines[1] for moment in world.read(samples, OPERATOR, 1)]
    assert [(one.matches, one.voids) for one in ran] == [(0, 0), (1, 0), (0, 0), (0, 1)]
    assert (ran[1].stolen_seconds, ran[1].saved, ran[1].replies) == (1.25, 2, 24)


def test_samples_of_before_the_newest_figures_are_still_shown(world: World) -> None:
    """A row written by an older version has four figures for each machine."""
    minutes(world)
    with world.db.transaction() as session:
        session.exec(select(Sample)).one().machines = {"1": [3, 1, 0.5, 0.25]}
    (found,) = world.read(samples, OPERATOR, 1)
    assert found.machines[1] == Ran(3, 1, 0.5, 0.25)


def test_nothing_is_counted_of_a_time_in_which_nobody_looked(world: World) -> None:
    world.season(games_per_pair=2)
    minutes(world)
    play(world)
    minutes(world, 60 * 30)
    (after,) = world.read(samples, OPERATOR, 24)
    assert (after.machines[1].matches, after.minutes) == (0, 1)


def test_old_samples_are_removed_and_only_operators_see_them(world: World) -> None:
    minutes(world)
    minutes(world, KEPT.total_seconds() / 60 + 1)
    assert world.read(lambda session: session.exec(select(func.count()).select_from(Sample)).one()) == 1
    with pytest.raises(NotAllowed):
        world.read(samples, world.boss, 1)


def test_a_machine_reports_how_late_it_wakes_and_how_busy_it_is(world: World) -> None:
    world.clock.now += timedelta(minutes=1)
    world.write(host_seen, world.host, 0.25, 0.125, 0.75)
    world.write(take_sample)
    (found,) = world.read(samples, OPERATOR, 1)
    assert found.machines[1] == Ran(0, 0, late_seconds=0.125, steal_share=0.25, busy_share=0.75)


def moment(minute: int, matches: int, *, voids: int = 0, late_seconds: float = 0.0, machines: int = 1) -> Moment:
    ran = {number: Ran(matches, voids, late_seconds, 0.0) for number in range(1, machines + 1)}
    return Moment(START + timedelta(minutes=minute), 1, 0, ran)


def test_a_chart_breaks_where_nothing_is_known_and_marks_what_is_above_its_threshold() -> None:
    found = [moment(minute, 6) for minute in (1, 2, 3, 30, 31)]
    found.append(moment(32, 99, voids=1, late_seconds=2 * LATE_MS / 1000))
    charts = timelines(found, START + timedelta(minutes=60), 1, {1: "one"})
    matches, waiting, late = charts[0], charts[1], charts[5]
    assert len(matches.lines) == 2 and not matches.dots
    assert (matches.least, matches.most, matches.last) == (6, 99, 99)
    assert [chart.title for chart in charts if chart.amiss] == [late.title] and waiting.threshold is None
    assert late.threshold is not None and late.threshold.label == "50 ms"
    assert [point.said for point in late.points][-2:] == ["00:31: 0 ms", "00:32: 100 ms"]


def test_replies_that_were_saved_are_compared_with_all_as_the_alert_does() -> None:
    ran = Ran(1, 0, saved=3, replies=200)
    saved = timelines([Moment(START, 1, 0, {1: ran})], START, 1, {1: "one"})[4]
    assert (saved.shown, saved.amiss) == ("1.50 %", True)
    calm = timelines([Moment(START, 1, 0, {1: replace(ran, saved=2)})], START, 1, {1: "one"})[4]
    assert (calm.shown, calm.amiss) == ("1 %", False)


def test_points_of_a_day_are_means_over_ten_minutes() -> None:
    found = [moment(minute, 10 if minute % 2 else 0) for minute in range(20)]
    assert timelines(found, START + timedelta(minutes=19), 24, {1: "one"})[0].last == 5


def test_each_machine_has_its_chart_where_there_are_several() -> None:
    charts = timelines([moment(1, 3, machines=2)], START + timedelta(minutes=2), 1, {1: "one", 2: "two"})
    assert [chart.title for chart in charts[-2:]] == [
        "Matches that ended on one, per minute",
        "Matches that ended on two, per minute",
    ]
    assert (charts[0].last, charts[-1].last) == (6, 3)
