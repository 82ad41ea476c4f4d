"""Finals in stages lead from the ladder's finalists to a winner."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlmodel import Session, col, select

from deadheat.league.errors import BadSetting, WrongState
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.course.schedule import go_on
from deadheat.league.service.evaluations import beginning
from deadheat.league.service.rulings import rulings
from deadheat.league.service.seasons import absence, seasons
from deadheat.league.service.series.carrying_out import finish_series
from deadheat.league.service.views import contests
from deadheat.league.states import ContestKind, ContestState, FinalsFormat, MatchState, SeasonState
from deadheat.league.tables import Contest, ContestPlayer, Entry, Match, Season, Series
from deadheat.league.timetable import DeclaredEvaluation
from tests.league.meetings import pairings
from tests.league.outcomes import abandoned, higher_wins, lower_wins
from tests.league.world import World


def in_finals(world: World, bots: int, *stages: str, **settings: Any) -> int:
    """Begin the finals of a season whose ladder has been played and ranked."""
    season_id = world.season(bots, finals=FinalsFormat.STAGES, stages=list(stages), games_per_pair=2, **settings)
    world.play_all(lower_wins)
    world.settle()
    world.set_state(season_id, SeasonState.FINALS)
    world.settle_rankings()
    return season_id


def stages(world: World) -> list[Contest]:
    return world.rows(select(Contest).where(Contest.kind == ContestKind.STAGE).order_by(col(Contest.stage)))


def field(world: World, evaluation_id: int) -> list[int]:
    players = select(ContestPlayer.version_id).where(ContestPlayer.contest_id == evaluation_id)
    return world.rows(players.order_by(col(ContestPlayer.seed)))


def finals_places(world: World) -> dict[int, int | None]:
    return dict(world.rows(select(Entry.version_id, Entry.finals_place)))


def ranks(world: World, season_id: int) -> list[tuple[int, int]]:
    return [(row["version_id"], row["rank"]) for row in world.ranking(season_id)]


@pytest.mark.databases
def test_stages_lead_from_the_field_to_a_winner_and_the_season_closes(world: World) -> None:
    season_id = in_finals(world, 6, "swiss rounds=3 matches=2 keep=4", "round-robin matches=2 keep=2", "knockout")
    world.play_all(lower_wins)
    first, second, third = stages(world)
    assert [row.state for row in (first, second, third)] == [ContestState.DONE] * 3
    assert (len(field(world, first.id)), field(world, third.id)) == (6, field(world, second.id)[:2])
    assert len(field(world, second.id)) == 4
    places = finals_places(world)
    assert (sorted(places.values(), key=lambda place: place or 0), places[1]) == ([1, 2, 3, 4, 5, 6], 1)
    season = world.row(Season, season_id)
    assert (season.state, season.finals_done_at is not None) == (SeasonState.CLOSED, True)
    world.settle()
    assert world.read(seasons.season_info, season_id).published_at is not None
    assert dict(ranks(world, season_id)) == places


def test_the_first_stage_is_seeded_by_the_last_evaluation_and_then_by_the_ladder(world: World) -> None:
    season_id = world.season(4, finals=FinalsFormat.STAGES, stages=["round-robin matches=2"], games_per_pair=2)
    world.play_all(lower_wins)
    world.write(absence.take_out, world.boss, season_id, 4, "it breaks the rules")
    line = DeclaredEvaluation(name="System test", format=EvaluationFormat.ROUND_ROBIN, matches=2)
    world.write(beginning.begin_now, world.boss, season_id, line)
    world.play_all(higher_wins)
    world.write(absence.reinstate, world.boss, season_id, 4, "a mistake")
    world.settle()
    world.set_state(season_id, SeasonState.FINALS)
    world.settle_rankings()
    world.tick()
    (stage,) = stages(world)
    assert field(world, stage.id) == [3, 2, 1, 4], "the ladder's order is 1, 2, 3, 4"


def test_a_bot_that_was_taken_out_of_a_stage_does_not_come_back_to_it(world: World) -> None:
    season_id = in_finals(world, 4, "swiss rounds=2 matches=2 keep=2", "knockout")
    made = world.tick()
    world.write(absence.take_out, world.boss, season_id, 1, "it breaks the rules")
    world.play_left(made, lower_wins)
    (second_round,) = world.tick()
    world.write(absence.reinstate, world.boss, season_id, 1, "a mistake")
    world.play([second_round], lower_wins)
    world.play_all(lower_wins)
    first, second = stages(world)
    later = [one for one in pairings(world, first.id) if one.round == 2]
    assert 1 not in {version for one in later for version in (one.first_id, one.second_id)}
    assert field(world, second.id) == [2, 3]


def test_a_match_that_the_service_fails_to_play_is_made_up_for_and_blocks_nothing(world: World) -> None:
    season_id = in_finals(world, 2, "round-robin matches=2")
    job = world.claimed()
    world.finish(job, [abandoned(job.matches[0]), lower_wins(job.matches[1])])
    instead = world.claimed()
    assert len(instead.matches) == 1
    assert world.finish(instead, lower_wins)
    world.tick()
    (stage,) = stages(world)
    (pairing,) = pairings(world, stage.id)
    assert {pairing.first_points, pairing.second_points} == {0.0, 2.0}
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_a_held_match_holds_the_stage_up_no_more_than_its_replacement(world: World) -> None:
    season_id = in_finals(world, 2, "round-robin matches=2")
    for _ in range(2):
        job = world.claimed()
        assert world.write(finish_series, job, "w1", [abandoned(match) for match in job.matches])
    world.tick()
    (stage,) = stages(world)
    assert stage.state is ContestState.DONE
    (pairing,) = pairings(world, stage.id)
    assert (pairing.first_points, pairing.second_points) == (0.0, 0.0), "nobody gains by it"
    assert finals_places(world) == {1: 1, 2: 2}
    assert len(world.read(rulings.held_matches, world.boss)) >= 1
    assert world.row(Season, season_id).state is SeasonState.FINALS, "an organiser decides what is held"


@pytest.mark.databases
def test_two_schedulers_begin_a_stage_once(world: World) -> None:
    season_id = in_finals(world, 4, "round-robin keep=2", "knockout")
    world.at_once(lambda session: go_on(session, season_id), lambda session: go_on(session, season_id))
    assert (len(stages(world)), len(pairings(world, 1))) == (1, 6)


def test_a_ruling_after_the_stages_changes_ratings_and_no_place(world: World) -> None:
    season_id = in_finals(world, 3, "round-robin matches=2", closes_when_done=False)
    world.play_all(lower_wins)
    world.settle()
    before = ranks(world, season_id)
    of_stages = select(Match.id).join(Series, col(Series.id) == Match.series_id)
    match_id = world.rows(of_stages.where(col(Series.meeting_id).is_not(None)))[0]
    elo = [row["elo"] for row in world.ranking(season_id)]
    world.write(rulings.void_match, world.boss, match_id, "a mistake")
    world.settle()
    assert ranks(world, season_id) == before
    assert [row["elo"] for row in world.ranking(season_id)] != elo
    world.write(absence.disqualify, world.boss, season_id, 1, "it cheats")
    world.settle()
    assert ranks(world, season_id) == [(2, 1), (3, 2)]


def test_a_stage_is_not_cancelled_but_ends_with_its_season(world: World) -> None:
    season_id = in_finals(world, 2, "knockout")
    world.tick()
    (stage,) = stages(world)
    world.refused(WrongState, beginning.cancel_evaluation, world.boss, stage.id)
    world.set_state(season_id, SeasonState.CLOSED, force=True)
    assert stages(world)[0].state is ContestState.CANCELLED
    with world.db.reading() as session:
        assert not session.exec(select(Match.id).where(Match.state == MatchState.SCHEDULED)).first()


def test_one_bot_alone_is_the_winner(world: World) -> None:
    season_id = in_finals(world, 1, "swiss rounds=3 keep=2", "knockout")
    world.tick()
    assert stages(world) == []
    assert world.row(Season, season_id).state is SeasonState.CLOSED


@pytest.mark.parametrize(
    "wrong",
    [
        ["swiss keep=2", "knockout"],
        ["round-robin rounds=2"],
        ["round-robin keep=5", "round-robin keep=5", "knockout"],
        ["knockout", "knockout"],
        ["round-robin matches=5 further=20"],
        ["round-robin keep=3"],
        ["round-robin", "round-robin"],
        ["round-robin third-place"],
        ["knockout further=1 matches=3"],
        ["swiss rounds=201"],
        ["round-robin ties=coin"],
        ["knockout ties=rounds_won"],
        None,
    ],
)
def test_stages_that_cannot_be_are_refused(world: World, wrong: Sequence[str] | None) -> None:
    with pytest.raises(BadSetting):
        world.season(0, finals=FinalsFormat.STAGES, stages=wrong)


def test_stages_are_for_finals_in_stages(world: World) -> None:
    season_id = world.season(0)
    world.refused(BadSetting, seasons.edit_season, world.boss, season_id, stages=["knockout"])
    assert world.write(
        seasons.edit_season, world.boss, season_id, finals=FinalsFormat.STAGES, stages=["knockout"]
    ).stages == ["knockout"]


def test_the_course_of_eliminated_bots_is_shown_last(world: World) -> None:
    season_id = in_finals(world, 5, "round-robin keep=2", "round-robin")
    world.play_all(lower_wins)
    shown = world.read(contests.courses, season_id)
    assert [len(one.places) for one in shown] == [2, 2, 1, 1, 1]


def test_places_follow_from_the_stages_and_not_from_the_ladder(world: World) -> None:
    season_id = in_finals(world, 3, "round-robin matches=2")
    world.play_all(higher_wins)
    world.settle()
    assert ranks(world, season_id) == [(3, 1), (2, 2), (1, 3)]


def test_a_bot_that_is_taken_out_leaves_its_place_to_the_next(world: World) -> None:
    season_id = in_finals(world, 4, "round-robin matches=2 keep=2", "round-robin matches=2")
    made = world.tick()
    world.write(absence.disqualify, world.boss, season_id, 1, "it cheats")
    world.play_left(made, lower_wins)
    world.play_all(lower_wins)
    world.settle()
    first, second = stages(world)
    assert field(world, second.id) == [2, 3]
    assert first.state is second.state is ContestState.DONE
    assert ranks(world, season_id) == [(2, 1), (3, 2), (4, 3)]


def test_a_scheduler_that_dies_between_two_stages_leaves_nothing_half_done(world: World) -> None:
    season_id = in_finals(world, 4, "round-robin keep=2", "knockout")
    while len(made := world.tick()) > 0 and len(stages(world)) == 1:
        jobs = [world.claimed(series_id) for series_id in made]
        for job in jobs:
            assert world.finish(job, lower_wins)

        def dies(session: Session) -> None:
            go_on(session, season_id)
            raise ZeroDivisionError

        world.refused(ZeroDivisionError, dies)
    assert [row.state for row in stages(world)] == [ContestState.DONE, ContestState.RUNNING]
    world.play(made, lower_wins)
    world.play_all(lower_wins)
    assert finals_places(world)[1] == 1
