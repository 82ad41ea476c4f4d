"""How prompts met their deadlines: the counts behind `/timeouts`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlmodel import Session, delete, func, select

from deadheat.api.pages.pictures.timelines import LATE_MS, timelines
from deadheat.api.pages.timeouts import course
from deadheat.engine.core import NS_PER_S
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.errors import NotAllowed
from deadheat.league.jobs import Latency, MatchJob, MatchOutcome
from deadheat.league.records.matches import Late, Over, Timeouts, Whose
from deadheat.league.service.rankings.standings import newest_snapshot, stored_ranking
from deadheat.league.service.rulings.closing import OPERATOR
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.series.deadlines import MINUTES_KEPT
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.service.series.hosts import host_seen
from deadheat.league.service.views.matches import matches
from deadheat.league.service.views.queues import KEPT, Moment, Ran, samples, take_sample
from deadheat.league.service.views.timeouts import timeouts
from deadheat.league.states import MatchState, SeasonState, Span
from deadheat.league.tables import Attempt, DeadlineCount, Machine, Match, ResponseTimes, Sample
from tests.league.outcomes import attempt, forfeited, void, won
from tests.league.world import World

LIMIT_NS = 500_000_000


def late(match: MatchJob, seat: int = 1) -> MatchOutcome:
    """Return an outcome in which a bot answered its third prompt too late, and the host gave another answer back."""
    found = (
        Latency(1 - seat, "ROLL", LIMIT_NS, 3, 30, 10, {8: 3}, 0, 1),
        Latency(seat, "ROLL", LIMIT_NS, 3, 30, 510_000_000, {8: 2, 81: 1}, 1, 0),
    )
    return replace(forfeited(match, seat), latencies=found, attempts=(attempt(past_deadline=1),))


def counted(session: Session, span: Span) -> dict[str, tuple[int, int, int, int]]:
    """Return prompts, time-outs, and given back and void answers by command."""
    found: dict[str, tuple[int, int, int, int]] = {}
    for row in session.exec(select(DeadlineCount).where(DeadlineCount.span == span)):
        four = (row.prompts, row.timeouts, row.given_back, row.void)
        before = found.get(row.command, (0, 0, 0, 0))
        found[row.command] = tuple(map(sum, zip(before, four, strict=True)))  # type: ignore[assignment]
    return found


def shown(
    world: World, season_id: int | None, over: Over = Over.SEASON, rows: Sequence[Mapping[str, Any]] = ()
) -> Timeouts:
    return world.read(timeouts, season_id, over, rows)


def of(found: Timeouts, over: Over, command: str = "ROLL") -> Late:
    (one,) = (late for late in found.commands if (late.over, late.command) == (over, command))
    return one


def four(one: Late) -> tuple[int, int, int | None, int | None]:
    return one.prompts, one.timeouts, one.given_back, one.void


@pytest.mark.databases
def test_a_series_is_counted_in_each_span_with_what_its_void_attempts_left_undecided(world: World) -> None:
    season_id = world.season(2, games_per_pair=4, series_length=4)
    job = world.claimed()
    first, second, third, last = job.matches
    outcomes = [won(first), late(second), won(third), void(last, "watch-ended", seat=0, command="SCORE")]
    assert world.finish(job, outcomes)
    for span in Span:
        assert world.read(counted, span) == {"ROLL": (54, 1, 1, 0), "SCORE": (0, 0, 0, 1)}
    found = shown(world, season_id)
    for over in Over:
        assert four(of(found, over)) == (54, 1, 1, 0)
    one = of(found, Over.SEASON)
    assert one.share == 1 / 54 and one.interval == pytest.approx((0.003, 0.098), abs=0.001)
    assert one.limit_ns == LIMIT_NS and one.used is not None and one.used[0] == 2 ** (1 - 10) < 1 < one.used[2]
    assert [four(machine) for machine in found.machines] == [(54, 1, 1, 1)]
    assert [four(each) for each in found.course if each.prompts] == [(54, 1, 1, 1)] and len(found.course) == 60
    assert shown(world, None).commands == found.commands, "the season is the whole league"


@pytest.mark.databases
def test_rulings_turn_time_outs_into_void_answers_and_back(world: World) -> None:
    season_id = world.season(2, games_per_pair=2, series_length=2)
    job = world.claimed()
    assert world.finish(job, late)
    one, other = (match.match_id for match in job.matches)
    for ruling, match_id, expected in (
        (void_match, one, (12, 1, 2, 1)),
        (void_match, one, (12, 1, 2, 1)),
        (restore_match, one, (12, 2, 2, 0)),
        (rejudge_match, other, (12, 1, 2, 1)),
    ):
        world.write(ruling, world.boss, match_id, "unclear")
        assert four(of(shown(world, season_id), Over.SEASON)) == four(of(shown(world, season_id), Over.DAY)) == expected
    assert world.write(drop_waiting, season_id, Cause.SEASON_CLOSED, "it ends") == 1
    assert four(of(shown(world, season_id), Over.SEASON)) == (12, 2, 2, 0), "what was to be replaced counts again"


def test_old_time_outs_leave_the_short_windows_and_minutes_are_forgotten(world: World) -> None:
    season_id = world.season(2, games_per_pair=2, series_length=2)
    assert world.finish(world.claimed(), late)
    world.clock.turn(6 * 60)
    found = shown(world, season_id, Over.HOUR)
    assert [late.over for late in found.commands if late.timeouts] == [Over.HOUR, Over.DAY, Over.SEASON]
    world.clock.turn(MINUTES_KEPT.total_seconds())
    assert world.write(take_sample)
    assert world.read(counted, Span.MINUTE) == {} != world.read(counted, Span.HOUR)
    world.clock.turn(timedelta(days=2).total_seconds())
    assert [late.over for late in shown(world, season_id).commands if late.timeouts] == [Over.SEASON]


def test_the_bots_with_most_time_outs_come_first(world: World) -> None:
    season_id = world.season(2, games_per_pair=2, series_length=2)
    assert world.finish(world.claimed(), lambda match: late(match, match.seats.index(min(match.seats))))
    world.settle_rankings()
    with world.db.reading() as session:
        rows = stored_ranking(session, season_id, newest_snapshot(session, season_id)).standings["rows"]
    (bot,) = shown(world, season_id, Over.DAY, rows).bots
    assert (bot.timeouts, bot.prompts, bot.share) == (2, 6, 1 / 3) and bot.bot
    (anywhere,) = shown(world, None, Over.DAY, rows).bots
    assert (anywhere.timeouts, anywhere.prompts) == (2, 6)
    world.set_state(season_id, SeasonState.CLOSED)
    (later,) = shown(world, None, Over.DAY, rows).bots
    assert later.prompts == 0, "the league's list is about the seasons that go on"


@pytest.mark.databases
def test_every_cell_leads_to_its_matches(world: World) -> None:
    season_id = world.season(2, games_per_pair=4, series_length=4)
    job = world.claimed()
    first, second, third, last = job.matches
    both = replace(late(third), result=forfeited(third, 0, 1).result, faults=forfeited(third, 0, 1).faults)
    assert world.finish(job, [won(first), late(second), both, void(last, seat=0)], "machine:1")
    (machine,) = world.read(lambda session: session.exec(select(Machine.id)).all())

    def listed(**chosen: Any) -> list[int]:
        return [match.id for match in world.read(lambda session: matches(session, **chosen))]

    bots = listed(season_id=season_id, late=Whose.BOT)
    assert bots == [third.match_id, second.match_id]
    assert listed(late=Whose.BOT, command="ROLL", game="yacht-auction", before=bots[0]) == bots[1:]
    assert listed(late=Whose.BOT, command="SCORE") == listed(late=Whose.BOT, game="betris") == []
    assert listed(late=Whose.HOST) == bots and listed(late=Whose.VOID) == [last.match_id]
    assert listed(late=Whose.BOT, machine=machine) == bots and listed(late=Whose.BOT, machine=machine + 1) == []
    other = world.write(tried_elsewhere, season_id, second.match_id)
    assert listed(late=Whose.BOT, machine=other) == [], "it was not late there"
    world.write(void_match, world.boss, third.match_id, "unclear")
    assert listed(late=Whose.BOT) == bots[1:] and listed(late=Whose.VOID) == [last.match_id, third.match_id]
    assert listed(late=Whose.VOID, machine=machine) == [last.match_id, third.match_id]


@pytest.mark.databases
@pytest.mark.parametrize("late", [Whose.HOST, Whose.VOID])
def test_attempts_with_late_answers_are_found_without_reading_others(world: World, late: Whose) -> None:
    asked: list[tuple[str, Any]] = []
    event.listen(world.read(Session.get_bind), "before_cursor_execute", lambda *given: asked.append(given[2:4]))
    world.read(lambda session: matches(session, late=late))
    (search,) = [one for one in asked if "attempt.evidence" in one[0]]
    with world.db.reading() as session:
        connection, explain = session.connection(), "EXPLAIN QUERY PLAN"
        if connection.dialect.name == "postgresql":
            explain = "EXPLAIN"
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # it would read so few rows as they are
        plan = [str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {search[0]}", search[1])]
    assert any("ix_attempt_late" in line for line in plan), plan


def tried_elsewhere(session: Session, season_id: int, match_id: int) -> int:
    """Note a void attempt of another machine; return the machine's number."""
    series_id = session.get_one(Match, match_id).series_id
    about: dict[str, Any] = {"season_id": season_id, "series_id": series_id, "match_id": match_id, "seed_number": 1}
    machine = Machine(name="other")
    session.add_all(
        [machine, Attempt(**about, attempt=1, worker="other:1", cause=Cause.HOST_UNFIT, finished_at=now(session))]
    )
    session.flush()
    return machine.id


def test_a_worker_locks_its_machines_row_before_the_counts_and_the_season_last(world: World) -> None:
    """Otherwise a series that condemns its machine, which is noted first, and another one may wait for each other."""
    world.season(2, games_per_pair=2, series_length=2)
    job = world.claimed()
    asked: list[str] = []
    event.listen(world.worked(Session.get_bind), "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert world.finish(job, late)
    places = [
        [place for place, statement in enumerate(asked) if statement.startswith(beginning)]
        for beginning in ("UPDATE worker_host", "INSERT INTO deadline_count", "UPDATE season SET log_serial")
    ]
    machine, counts, seasons = places
    assert max(machine) < min(counts) and max(counts) < min(seasons)


@pytest.mark.databases
def test_what_was_stored_before_is_counted_by_the_migration(world: World) -> None:
    season_id = world.season(2, games_per_pair=4, series_length=4)
    job = world.claimed()
    first, second, third, last = job.matches
    assert world.finish(job, [won(first), late(second), late(third), void(last, seat=0)])
    world.write(void_match, world.boss, third.match_id, "broken")
    world.clock.turn(2 * 86_400)
    before = {span: world.read(counted, span) for span in Span}
    used = of(shown(world, season_id), Over.SEASON).used

    def again(session: Session) -> None:
        session.execute(delete(DeadlineCount))
        fill: Connection = session.connection()
        migration = import_module("deadheat.league.migrations.versions.0057_timeouts")
        table = DeadlineCount.__table__  # type: ignore[attr-defined]
        rows = [dict(zip(migration.KEY, key, strict=True)) | row for key, row in migration.counted(fill).items()]
        session.execute(table.insert(), rows)

    world.write(again)
    prompts = 0
    for span in (Span.HOUR, Span.DAY, Span.SEASON):
        prompts, late_ones, given_back, _ = before[span]["ROLL"]
        found = world.read(counted, span)
        assert found == {"ROLL": (prompts, late_ones, 0, 1), "": (0, 0, given_back, 1)}
    assert of(shown(world, season_id), Over.SEASON).used == used
    rows = world.read(lambda session: session.exec(select(ResponseTimes)).all())
    assert sum(row.prompts for row in rows) == prompts
    assert {match.state for match in world.read(lambda session: session.exec(select(Match)).all())} <= {*MatchState}


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


def test_the_few_late_answers_of_a_healthy_league_fill_their_chart() -> None:
    hours = [START + timedelta(hours=number) for number in range(24)]
    counts = [Late(50_000, number % 4, None, None, 1, at=at) for number, at in enumerate(hours)]
    chart = course(Timeouts(season_id=None, over=Over.DAY, commands=[], course=counts, machines=[], bots=[]))
    assert [mark.label for mark in chart.upward] == ["0", "0.005", "0.01"] and chart.most == pytest.approx(0.008)
