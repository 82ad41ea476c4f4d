"""The operator's charts show what was played in each minute, and say nothing of a time in which nobody looked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import func, select

from deadheat.api.pages.pictures.timelines import LATE_MS, timelines
from deadheat.league.errors import NotAllowed
from deadheat.league.service.rulings.operators import OPERATOR
from deadheat.league.service.series.hosts import host_seen
from deadheat.league.service.views.samples import KEPT, Moment, Ran, samples, take_sample
from deadheat.league.tables import Sample
from tests.league.world import World, void, won

START = datetime(2026, 1, 1, tzinfo=UTC)


def minutes(world: World, count: float = 1) -> bool:
    """Time passes; whether there was a sample to take then."""
    world.clock.now += timedelta(minutes=count)
    world.beat()
    return world.write(take_sample)


def play(world: World) -> None:
    """Series of two matches, played on the world's machine; the first attempt at the second match is void."""
    job = world.claimed(worker=f"{world.host.name}:1")
    assert world.finish(job, [won(job.matches[0]), void(job.matches[1])], worker=f"{world.host.name}:1")


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


def test_a_machine_reports_how_late_it_wakes(world: World) -> None:
    world.clock.now += timedelta(minutes=1)
    world.write(host_seen, world.host, 0.25, 0.125)
    world.write(take_sample)
    (found,) = world.read(samples, OPERATOR, 1)
    assert found.machines[1] == Ran(0, 0, late_seconds=0.125, steal_share=0.25)


def moment(minute: int, matches: int, *, voids: int = 0, late_seconds: float = 0.0, machines: int = 1) -> Moment:
    ran = {number: Ran(matches, voids, late_seconds, 0.0) for number in range(1, machines + 1)}
    return Moment(START + timedelta(minutes=minute), 1, 0, ran)


def test_a_chart_breaks_where_nothing_is_known_and_marks_what_is_above_its_threshold() -> None:
    found = [moment(minute, 6) for minute in (1, 2, 3, 30, 31)]
    found.append(moment(32, 99, voids=1, late_seconds=2 * LATE_MS / 1000))
    matches, waiting, faults, late, stolen = timelines(found, START + timedelta(minutes=60), 1, {1: "one"})
    assert len(matches.lines) == 2 and not matches.dots
    assert (matches.least, matches.most, matches.last) == (6, 99, 99)
    assert late.amiss and not faults.amiss and not stolen.amiss and waiting.threshold is None


def test_points_of_a_day_are_means_over_ten_minutes() -> None:
    found = [moment(minute, 10 if minute % 2 else 0) for minute in range(20)]
    assert timelines(found, START + timedelta(minutes=19), 24, {1: "one"})[0].last == 5


def test_each_machine_has_its_chart_where_there_are_several() -> None:
    charts = timelines([moment(1, 3, machines=2)], START + timedelta(minutes=2), 1, {1: "one", 2: "two"})
    assert [chart.title for chart in charts[-2:]] == ["Matches a minute on one", "Matches a minute on two"]
    assert (charts[0].last, charts[-1].last) == (6, 3)
