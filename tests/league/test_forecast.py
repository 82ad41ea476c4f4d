"""Waits, paces and forecasts."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from sqlmodel import col, update

from deadheat.league.errors import NotAllowed, NotFound
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.notation import stages
from deadheat.league.pairing.tournament import Form
from deadheat.league.records.entries import Waiting
from deadheat.league.records.seasons import ForecastEvaluation
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import withdraw
from deadheat.league.service.seasons.declared import preview_file
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.service.series import capacity
from deadheat.league.service.series.pace import (
    ENOUGH,
    FITTED,
    Machines,
    Pace,
    Played,
    Work,
    done_in_gaps,
    foresee,
    measured,
    tournament,
    tournaments,
    warnings,
)
from deadheat.league.service.views.forecasts import NOT_LATELY, NOTHING_PLAYED, season_forecast, waiting
from deadheat.league.states import FinalsFormat, JobState, Precedence, SeasonState
from deadheat.league.tables import Series
from deadheat.league.timetable import DeclaredEvaluation
from deadheat.league.words import NoticeKind
from tests.league.clock import START
from tests.league.people import GAME
from tests.league.test_evaluations import due, line, season
from tests.league.test_notices import told
from tests.league.world import World

ROUND_ROBIN = EvaluationFormat.ROUND_ROBIN
PACE = Pace(1.0, 0.5, 100)


def every(minutes: int, times: int, **given: Any) -> DeclaredEvaluation:
    span = {"every_minutes": minutes, "from": START, "until": START + timedelta(minutes=minutes * (times - 1))}
    return DeclaredEvaluation.model_validate({"name": "Interim", "format": "swiss", "rounds": 3, **span, **given})


def minutes(found: list[ForecastEvaluation]) -> list[tuple[float, float]]:
    return [((one.begins_at - START).total_seconds() / 60, (one.done_at - START).total_seconds() / 60) for one in found]


def played(*series: tuple[int, float], turn: float = 0.5) -> list[Played]:
    """Return series, given as (matches, seconds), that one slot played in turn; all waited from the start."""
    at, found = START, []
    for matches, seconds in series:
        ended = at + timedelta(seconds=seconds)
        found.append(Played(at, ended, START, matches))
        at = ended + timedelta(seconds=turn)
    return found


def ahead(*lines: DeclaredEvaluation, seconds: float, until: datetime | None = None) -> list[ForecastEvaluation]:
    took = {one.name: (10, seconds) for one in lines}
    since = {one.name: START - timedelta(seconds=1) for one in lines}
    return foresee(lines, took, since, START, until)


def test_the_pace_is_fitted_to_series_of_different_lengths() -> None:
    found = measured(played(*[(count, 2.0 + 0.25 * count) for count in (2, 10) for _ in range(FITTED)]), 1, PACE)
    assert (found.start_seconds, found.match_seconds) == pytest.approx((2.0, 0.25))
    assert found.series == 2 * FITTED


def test_series_of_one_length_leave_the_start_as_it_was_estimated() -> None:
    found = measured(played(*[(10, 3.0)] * FITTED), 1, PACE)
    assert (found.start_seconds, found.match_seconds) == pytest.approx((1.0, 0.2))
    assert found.seconds(10) == pytest.approx(3.0)
    quick = measured(played(*[(10, 0.5)] * FITTED), 1, PACE)
    assert quick.seconds(10) == pytest.approx(0.5)
    assert quick.match_seconds > 0


@pytest.mark.parametrize("count", [0, ENOUGH - 1])
def test_too_few_series_are_an_estimate(count: int) -> None:
    assert measured(played(*[(10, 3.0)] * count), 1, Pace(1.0, 0.5)) == Pace(1.0, 0.5)


def test_a_few_series_of_different_lengths_say_how_long_they_take_but_not_what_each_part_takes() -> None:
    found = measured(played((10, 3.0), (10, 7.0), (2, 5.0)), 1, PACE)
    assert (found.start_seconds, found.seconds(22)) == pytest.approx((1.0, 13.0)), "a line through them would be flat"


def test_what_passes_between_two_series_is_measured_but_not_the_time_without_any() -> None:
    one = played(*[(10, 3.0)] * FITTED, turn=0.5)
    assert measured(one, 1).turn_seconds == pytest.approx(0.5)
    hours = timedelta(hours=3)
    later = [Played(a.started_at + hours, a.finished_at + hours, a.queued_at + hours, 10) for a in one]
    assert measured([*one, *later], 1).turn_seconds == pytest.approx(0.5, abs=0.03)
    assert measured([*one, *one], slots=2).turn_seconds == pytest.approx(0.5)


def test_matches_that_seem_to_take_no_time_or_less_do_not() -> None:
    assert measured(played(*[(2, 3.0), (10, 1.0)] * FITTED), 1).match_seconds == 0.0
    steep = measured(played(*[(2, 0.1), (10, 9.0)] * FITTED), 1)
    assert steep.start_seconds == pytest.approx(0.0, abs=1e-9)


def test_work_follows_from_the_format_and_the_field() -> None:
    swiss = Form(EvaluationFormat.SWISS, 20, 2)
    assert tournament(swiss, 1603, 1) == [Work(20, 801, 2), Work(0, 1, 2)]
    assert sum(work.all_matches for work in tournament(swiss, 1603, 2)) == 32_040
    assert tournament(Form(EvaluationFormat.SWISS, 20, 2, seats=4), 1603, 1)[0].series == 400
    assert tournament(Form(ROUND_ROBIN, 23, 5), 23, 1)[0] == Work(1, 253, 5)


def test_stages_without_bots_have_no_matches_at_the_cut() -> None:
    declared = stages(["round-robin matches=2 further=10 keep=2", "knockout matches=2 further=10"])
    assert sum(work.all_matches for stage in tournaments(declared, 0, 2, 1, int) for work in stage) == 0


def test_a_round_takes_turns_and_more_slots_take_fewer() -> None:
    work = Work(3, 4, 2)
    one, two, five = (Machines(slots, PACE).seconds([work]) for slots in (1, 2, 5))
    assert one == pytest.approx(2 * two, rel=0.1)
    assert five == Machines(4, PACE).seconds([work]) < two
    assert Machines(2, PACE).seconds([work], ladder_seconds=6.0) == pytest.approx(two + 3 * 3.0)
    assert Machines(2, PACE).seconds([work, Work(3, 0, 2)]) == two


def test_what_is_done_in_time_is_not_late() -> None:
    found = ahead(every(15, 4), seconds=14 * 60)
    assert minutes(found) == [(0, 14), (15, 29), (30, 44), (45, 59)]
    assert not any(one.late for one in found)
    assert list(warnings(found, None)) == []


def test_what_takes_longer_is_late_and_leaves_times_out() -> None:
    found = ahead(every(15, 4), seconds=31 * 60)
    assert minutes(found) == [(0, 31), (31, 62), (62, 93)]
    assert [(one.skipped, one.late) for one in found] == [(0, True), (1, True), (0, False)]
    late, skipped = warnings(found, None)
    assert late.startswith("2 of 3 evaluations") and skipped.startswith("1 times")


def test_what_the_season_ends_before_is_late_and_named() -> None:
    until = START + timedelta(minutes=20)
    found = ahead(every(15, 4), seconds=600, until=until)
    assert (minutes(found), [one.late for one in found]) == ([(0, 10), (15, 25)], [False, True])
    (said,) = warnings(found, until)
    assert "cut off" in said


def test_two_lines_are_played_one_after_the_other() -> None:
    found = ahead(every(60, 2), every(60, 2, name="Other", format=ROUND_ROBIN, rounds=None), seconds=1200)
    assert [one.name for one in found] == ["Interim", "Other", "Interim", "Other"]
    assert minutes(found) == [(0, 20), (20, 40), (60, 80), (80, 100)]


def test_one_that_is_played_comes_first() -> None:
    running = ForecastEvaluation("Interim", START, START, START + timedelta(minutes=20), 10)
    began = {"Interim": START}
    found = foresee([every(15, 3)], {"Interim": (10, 60.0)}, began, START, running=running)
    assert (minutes(found), [one.late for one in found]) == ([(0, 20), (20, 21), (30, 31)], [True, False, False])


def test_other_work_is_done_in_the_gaps() -> None:
    found = ahead(every(15, 2), seconds=600)
    assert done_in_gaps(200, START, found) == START + timedelta(seconds=800)
    assert done_in_gaps(400, START, found) == START + timedelta(minutes=25, seconds=100)
    assert done_in_gaps(60, START - timedelta(minutes=5), found) == START - timedelta(minutes=4)


@pytest.mark.databases
def test_a_forecast_before_anything_is_played_says_that_it_is_an_estimate(world: World) -> None:
    season_id = world.season(0)
    world.write(set_timetable, world.boss, season_id, (line(),))
    told_ = world.read(season_forecast, world.boss, season_id, 23)
    assert (told_.bots, told_.series_measured) == (23, 0)
    assert [one.matches for one in told_.evaluations] == [3 * 11 * 2]
    assert "an estimate" in told_.words
    assert any("Fewer than two bots" in one for one in world.read(season_forecast, world.boss, season_id).warnings)
    with pytest.raises(NotAllowed):
        world.read(season_forecast, world.author(), season_id)


@pytest.mark.parametrize("state", [SeasonState.SCHEDULED, SeasonState.OPEN])
def test_a_bot_that_withdrew_is_not_counted(world: World, state: SeasonState) -> None:
    season_id = world.write(create_season, world.boss, game=GAME, name="Later").id
    (owner, bot_id), _ = (world.entrant(season_id) for _ in range(2))
    if state is SeasonState.OPEN:
        world.set_state(season_id, state)
    assert world.read(season_forecast, world.boss, season_id).bots == 2
    world.write(withdraw, owner, season_id, bot_id)
    assert world.read(season_forecast, world.boss, season_id).bots == 1


@pytest.mark.databases
def test_a_forecast_is_measured_with_what_was_played(world: World) -> None:
    season_id = season(world, 6, line(), games_per_pair=2)
    for _ in range(2):
        world.tick()
    found = world.read(season_forecast, world.boss, season_id)
    assert found.bots == 6
    assert found.series_measured >= ENOUGH
    assert (found.ladder_matches, found.ladder_done_at) == (0, None)
    later = world.season(2)
    assert world.read(season_forecast, world.boss, later).series_measured == found.series_measured, "its game's last"
    with world.db.transaction() as session:
        session.execute(update(Series).values(attempt=2))
    assert world.read(season_forecast, world.boss, season_id).series_measured == 0, "these may have played a part only"


@pytest.mark.parametrize(("format_", "rounds"), [(EvaluationFormat.SWISS, 3), (ROUND_ROBIN, None)])
def test_an_evaluation_in_progress_takes_as_long_as_its_unsettled_share(
    world: World, format_: EvaluationFormat, rounds: int | None
) -> None:
    season_id = due(world, 4, line(format=format_, rounds=rounds))
    made = world.tick()

    def left() -> timedelta:
        return world.read(season_forecast, world.boss, season_id).evaluations[0].done_at - world.clock.now

    with patch.object(capacity, "PLAYED", capacity.PLAYED.limit(0)):  # the pace stays the estimate
        whole = left()
        assert whole > timedelta()
        world.play(made[:2])
        world.tick()
        assert left() == pytest.approx(whole * 2 / 3, abs=timedelta(milliseconds=1))


def test_a_ladder_still_has_what_is_planned_and_not_played(world: World) -> None:
    season_id = world.season(3, games_per_pair=2, series_length=2, finals=FinalsFormat.ROUND_ROBIN)
    assert len(world.tick()) == 3
    for bots in (None, 3):
        assert world.read(season_forecast, world.boss, season_id, bots).ladder_matches == 6
    world.set_state(season_id, SeasonState.FINALS, force=True)
    assert world.read(season_forecast, world.boss, season_id).ladder_matches is None


BEGINS = START + timedelta(hours=1)
SOON = BEGINS + timedelta(seconds=1)


@pytest.mark.databases
@pytest.mark.parametrize(
    ("at", "settings", "behind"),
    [
        ([BEGINS, SOON], {}, 1),
        ([BEGINS], {"finals": FinalsFormat.SWISS, "finals_at": SOON}, 1),
        ([BEGINS, START + timedelta(hours=9)], {}, 0),
    ],
    ids=["the next begins before", "the finals cut it off", "in time"],
)
def test_organisers_are_told_once_when_an_evaluation_will_be_late(
    world: World, at: list[datetime], settings: dict[str, Any], behind: int
) -> None:
    season(world, 4, line(at=at), **settings)
    world.clock.turn(3600.0)
    world.tick()
    world.tick()
    assert len(told(world, world.boss, NoticeKind.BEHIND)) == behind
    assert told(world, world.author(), NoticeKind.BEHIND) == []


@pytest.mark.databases
def test_a_file_is_previewed_with_a_forecast(world: World) -> None:
    document = f"""
[season]
name = "Final"
game = "{GAME}"
[dates]
opens_at = {START:%Y-%m-%dT%H:%M:%SZ}
closes_at = {START + timedelta(hours=3):%Y-%m-%dT%H:%M:%SZ}
[[evaluations]]
name = "Interim"
format = "round-robin"
matches = 100
every_minutes = 5
from = {START + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}
until = {START + timedelta(hours=2):%Y-%m-%dT%H:%M:%SZ}
"""
    declared = world.read(preview_file, world.boss, document, None, 23)
    assert declared.forecast.evaluations[0].matches == 253 * 100
    assert any("cut off" in one or "not be done" in one for one in declared.warnings)
    assert declared.forecast.series_measured == 0


def test_stages_are_reckoned_one_by_one_with_their_further_matches() -> None:
    declared = stages(["swiss rounds=3 keep=8", "round-robin matches=4 keep=5 further=20", "knockout further=6"])
    swiss, round_robin, knockout = tournaments(declared, 11, 2, 1, lambda matches: matches)
    assert (swiss[0], round_robin) == (Work(3, 5, 2), [Work(1, 28, 4), Work(5, 1, 4)])
    assert [work.series for work in knockout[::2]] == [1, 2, 1], "three of five have a bye"
    assert knockout[1] == Work(3, 1, 2)


@pytest.mark.databases
def test_finals_in_stages_that_run_past_the_close_are_foreseen_before_and_while_they_are_played(world: World) -> None:
    opens, ends = START + timedelta(hours=1), START + timedelta(hours=2)
    dates: dict[str, Any] = {"opens_at": opens, "finals_at": ends, "closes_at": ends + timedelta(seconds=1)}
    three = ["round-robin matches=6 keep=3", "round-robin"]
    season_id = world.season(6, finals=FinalsFormat.STAGES, stages=three, games_per_pair=2, **dates)
    found = world.read(season_forecast, world.boss, season_id)
    assert found.finals_matches == 15 * 6 + 3 * 2
    assert found.finals_done_at is not None and found.finals_done_at > ends
    assert any("The finals will take until" in one for one in found.warnings)
    world.set_state(season_id, SeasonState.FINALS)
    world.settle_rankings()
    world.tick()
    later = world.read(season_forecast, world.boss, season_id)
    assert later.finals_done_at is not None
    whole, left = found.finals_done_at - ends, later.finals_done_at - world.clock.now
    assert timedelta() < left <= whole


class Newcomer:
    """A bot that has just entered an open season, in which four others have series of two matches waiting."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.season, self.queue, self.owner, self.bot = world.repeated(self._made, "newcomer")

    def _made(self) -> tuple[int, list[int], Person, int]:
        season_id = self.world.season(4)
        return season_id, self.world.tick(), *self.world.entrant(season_id)

    def waits(self, version: int | None = None) -> Waiting:
        return self.world.read(waiting, self.season, self.bot, version)

    def play(self, series_id: int, seconds: float) -> None:
        job = self.world.claimed(series_id)
        self.world.clock.turn(seconds)
        assert self.world.finish(job)


@pytest.fixture
def newcomer(world: World) -> Newcomer:
    return Newcomer(world)


def test_a_place_in_the_queue_and_a_guess_by_the_pace_of_the_last_hour(newcomer: Newcomer) -> None:
    """Two series are played at a time, for 20 s each."""
    undrawn = newcomer.waits()
    assert (undrawn.planned, undrawn.before, undrawn.over) == (0, 2 * len(newcomer.queue), False)
    assert "It has no match waiting" in undrawn.sentence
    own = newcomer.world.tick()
    assert newcomer.waits().before < 2 * len(newcomer.queue), "placement comes before most"
    with newcomer.world.db.transaction() as session:
        for series_id in own:
            session.get_one(Series, series_id).precedence = Precedence.ORDINARY
    assert newcomer.waits().sentence.endswith(NOTHING_PLAYED)
    for _ in range(2):
        assert newcomer.waits().seconds is None
        newcomer.play(newcomer.queue.pop(0), 20)
    for series_id in (newcomer.queue.pop(0), newcomer.queue.pop(0)):
        assert newcomer.world.claim(series_id)
    assert newcomer.waits().sentence.endswith(NOT_LATELY), "two are too few"
    newcomer.play(newcomer.queue.pop(0), 20)
    ahead = 2 * len(newcomer.queue)
    found = newcomer.waits()
    assert (found.playing, found.before) == (0, ahead)
    assert found.seconds == round((10 * ahead + 2 * 10) / 2 + 20)
    assert f"after {ahead} matches of other bots." in found.sentence
    assert newcomer.waits(version=1) == found
    for attempt, is_known in ((2, False), (1, True)):
        with newcomer.world.db.transaction() as session:
            session.execute(update(Series).where(col(Series.state) == JobState.DONE).values(attempt=attempt))
        assert (newcomer.waits().seconds is not None) is is_known, "a second attempt played a part only"
    assert newcomer.world.claim(own[0])
    playing = newcomer.waits()
    assert (playing.playing, playing.seconds) == (2, 20)
    newcomer.world.clock.turn(30)
    assert "at any moment" in newcomer.waits().sentence


def test_what_waits_for_nothing_says_why(newcomer: Newcomer) -> None:
    world, season = newcomer.world, newcomer.season
    world.version(newcomer.owner, newcomer.bot)
    replaced = newcomer.waits(version=1)
    assert replaced.over and "version 2 plays" in replaced.sentence
    assert not newcomer.waits(version=2).over
    with pytest.raises(NotFound):
        newcomer.waits(version=3)
    world.write(withdraw, newcomer.owner, season, newcomer.bot)
    assert newcomer.waits().over and "withdrawn" in newcomer.waits().sentence
    world.set_state(season, SeasonState.CLOSED, force=True)
    assert newcomer.waits().over and "closed" in newcomer.waits().sentence


def test_nothing_follows_by_itself_where_nothing_arrives_or_no_ladder_is_played(world: World) -> None:
    def says(season: int) -> str:
        return world.read(waiting, season, world.entrant(season)[1]).sentence

    busy, still = world.season(4), world.season(0, ladder=False)
    assert not says(still).endswith("arrives.")
    assert world.tick() and "only evaluations and finals" in says(still), "others' matches lead to none of its own"
    season = world.season(0)
    _, bot_id = world.entrant(season)
    world.set_state(busy, SeasonState.CLOSED, force=True)
    assert world.read(waiting, season, bot_id).sentence.endswith("a match takes 2 bots, and 1 is missing.")
    world.entrant(season)
    assert world.read(waiting, season, bot_id).sentence.endswith("arrives.")
    world.set_state(season, SeasonState.FROZEN)
    assert world.read(waiting, season, bot_id).sentence == "It has no matches at present."
