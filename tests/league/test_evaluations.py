"""Evaluations begin by a timetable and are played round by round; their standings never change again."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session, col, func, select, update

from deadheat.league import states
from deadheat.league.errors import BadSetting, NotAllowed, WrongState
from deadheat.league.jobs import Failure
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.course.schedule import go_on, has_unplayed, runs_low
from deadheat.league.service.evaluations import beginning, playing
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.ranking import season_log
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings.closing import close_account
from deadheat.league.service.rulings.rulings import rejudge_match, restore_match, void_match
from deadheat.league.service.seasons import absence
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.series import capacity
from deadheat.league.service.views import contests, forecasts, matches
from deadheat.league.service.views.voids import decisions
from deadheat.league.tables import Contest, ContestPlayer, Match, Notice, Pair, Season, Series
from deadheat.league.timetable import DeclaredEvaluation
from deadheat.league.words import NoticeKind
from tests.league.clock import START
from tests.league.meetings import pairings
from tests.league.outcomes import abandoned, forfeited, lower_wins, won
from tests.league.world import World, release_series

SWISS, ROUND_ROBIN = EvaluationFormat.SWISS, EvaluationFormat.ROUND_ROBIN
HOUR = 3600.0


def line(**given: Any) -> DeclaredEvaluation:
    chosen: dict[str, Any] = {"name": "Interim", "format": SWISS, "rounds": 3, "at": [START + timedelta(hours=1)]}
    return DeclaredEvaluation(**{**chosen, **given})


@pytest.mark.parametrize(
    ("minutes", "told"),
    [(1, "1 minute"), (60, "60 minutes"), (90, "90 minutes"), (1440, "24 hours"), (10080, "7 days")],
)
def test_an_interval_is_told_in_the_largest_unit_that_is_exact(minutes: int, told: str) -> None:
    every = line(at=[], every_minutes=minutes, first_at=START, last_at=START + timedelta(days=30))
    assert every.interval == told and f"every {told} from" in every.words


def season(world: World, bots: int, *lines: DeclaredEvaluation, **settings: Any) -> int:
    """Open a season whose ladder pauses during evaluations, and play that ladder."""
    settings = {"ladder_during_evaluations": False, "games_per_pair": 2, **settings}

    def make() -> int:
        season_id = world.season(bots, **settings)
        world.write(beginning.set_timetable, world.boss, season_id, lines or (line(),))
        world.play_all()
        return season_id

    return world.repeated(make, "season with evaluations", bots, lines, settings)


def due(world: World, bots: int, *lines: DeclaredEvaluation, **settings: Any) -> int:
    """Open a season as `season` does, and turn the clock to its first evaluation."""
    season_id = season(world, bots, *lines, **settings)
    world.clock.turn(HOUR)
    return season_id


def evaluations(world: World) -> list[Contest]:
    return world.rows(select(Contest).order_by(col(Contest.id)))


def evaluation_match(world: World) -> int:
    """Return the first match with a result among those of evaluations."""
    with world.db.reading() as session:
        played = select(Match.id).join(Series, col(Series.id) == Match.series_id)
        played = played.where(col(Series.purpose).in_(states.OF_EVALUATIONS), Match.state == states.MatchState.DONE)
        return session.exec(played.order_by(col(Match.id))).first() or 0


def test_more_series_are_asked_for_only_where_some_can_be_planned(world: World, monkeypatch) -> None:
    """Only four of the five pairings of a round may be open at a time."""
    monkeypatch.setattr(capacity, "OPEN_SERIES", 4)
    season_id = due(world, 10)
    asked: list[int | None] = []
    waiting = world.tick()
    assert len(waiting) == 4
    while waiting:
        series_id = waiting.pop(0)
        world.play([series_id], lower_wins)
        asked.append(world.read(runs_low, series_id, ended=True))
        if len(asked) == 1:
            waiting += world.tick()
    assert asked == [season_id, None, None, None, season_id], "one is not planned yet; then the round is over"


def test_where_a_meeting_has_several_series_each_takes_room(world: World, monkeypatch) -> None:
    """Where everybody plays each deal in every seat, a meeting of two has two series at once."""
    monkeypatch.setattr(capacity, "OPEN_SERIES", 8)
    season_id = world.season(16, game="liars-dice", ladder_during_evaluations=False, games_per_pair=2)
    declared = DeclaredEvaluation(name="All", format=EvaluationFormat.ROUND_ROBIN, at=[START + timedelta(hours=1)])
    world.write(beginning.set_timetable, world.boss, season_id, (declared,))
    world.clock.turn(3600.0)
    for _ in range(4):
        world.tick()
        assert len(world.rows(select(Series).where(Series.season_id == season_id))) == 8


def players(world: World, evaluation_id: int, order: Any) -> list[ContestPlayer]:
    return world.rows(select(ContestPlayer).where(ContestPlayer.contest_id == evaluation_id).order_by(order))


def places(world: World, evaluation_id: int) -> list[int]:
    return [one.version_id for one in players(world, evaluation_id, col(ContestPlayer.place))]


@pytest.mark.databases
def test_a_swiss_begins_at_its_time_and_is_played_to_its_standings(world: World) -> None:
    season_id = season(world, 5)
    world.clock.turn(HOUR - 1)
    assert world.tick() == [] == evaluations(world)
    world.clock.turn(1)
    world.play_all(lower_wins)
    (row,) = evaluations(world)
    assert (row.state, row.number, row.due_at) == (states.ContestState.DONE, 1, START + timedelta(hours=1))
    rounds = [[(one.first_id, one.second_id) for one in pairings(world, number=number)] for number in (1, 2, 3)]
    assert (rounds[0], [len(one) for one in rounds]) == ([(1, 2), (3, 4), (5, None)], [3, 3, 3])
    assert len({one[-1][0] for one in rounds}) == 3  # a different bye each time
    assert places(world, row.id)[0] == 1
    assert world.read(season_log, season_id).games == 20  # only the ladder's
    assert world.one(select(func.sum(Pair.games))) == 20
    told = world.rows(select(Notice).where(Notice.kind == NoticeKind.EVALUATION_DONE))
    found = [(one.about["place"], one.about["players"], one.about["seed"]) for one in told]
    assert found == [(places(world, row.id).index(seed) + 1, 5, seed) for seed in range(1, 6)]


@pytest.mark.parametrize(
    "line_",
    [pytest.param(line(), marks=pytest.mark.databases), line(format=ROUND_ROBIN, rounds=None)],
    ids=["swiss", "round robin"],
)
def test_final_standings_are_read_as_computed_a_page_at_a_time(world: World, line_: DeclaredEvaluation) -> None:
    due(world, 5, line_)
    world.play_all(lower_wins)
    (row,) = evaluations(world)
    kept = world.read(contests.contest, row.id)
    computed = world.read(playing.standings_of, row)
    assert [one.version_id for one in kept.standings] == [one.player for one in computed] == places(world, row.id)
    assert [one.points for one in kept.standings] == [one.points for one in computed]
    two = {kept.standings[1].version_id, kept.standings[3].version_id}
    assert world.read(contests.contest, row.id, two, skip=1, limit=1).standings == [kept.standings[3]]
    with world.db.transaction() as session:  # like an evaluation that ended before figures were stored
        session.connection().execute(update(ContestPlayer).values(figures=None))
    assert world.read(contests.contest, row.id) == kept
    assert world.read(contests.contest, row.id, two, skip=1, limit=1).standings == [kept.standings[3]]
    assert [world.write(playing.keep_standings) for _ in range(2)] == [True, False]
    assert world.rows(select(ContestPlayer).where(col(ContestPlayer.figures).is_(None))) == []
    assert world.read(contests.contest, row.id) == kept
    with world.db.transaction() as session:
        player = session.exec(select(ContestPlayer).where(ContestPlayer.place == 1)).one()
        player.figures = {**(player.figures or {}), "early_points": 77.0, "sonneborn_berger": 77.0}
    first = world.read(contests.contest, row.id).standings[0]
    assert 77.0 in {first.early_points, first.sonneborn_berger}, "they are not computed again"


def test_ties_are_broken_by_what_the_organisers_chose(world: World) -> None:
    ties = ["sonneborn_berger", "early_points"]
    season(world, 6, line(), line(name="Chosen", at=[START + timedelta(hours=2)], tie_breaks=ties))
    for _ in range(2):
        world.clock.turn(HOUR)
        world.play_all(lower_wins)
    usual, chosen = (world.read(contests.contest, row.id) for row in evaluations(world))
    assert (usual.tie_breaks, chosen.tie_breaks) == (None, ties)
    assert {one.rounds_won for one in chosen.standings} == {None} == {one.sonneborn_berger for one in usual.standings}
    order = [(one.points, one.sonneborn_berger, one.early_points, -one.seed) for one in chosen.standings]
    assert order == sorted(order, reverse=True)
    assert chosen.standings[0].sonneborn_berger


def test_the_next_one_is_seeded_by_the_last_and_newcomers_come_after(world: World) -> None:
    season_id = due(world, 3, line(at=[START + timedelta(hours=1), START + timedelta(hours=3)], rounds=2))
    world.play_all(lower_wins)
    (first,) = evaluations(world)
    world.entrant(season_id)
    world.clock.turn(2 * HOUR)
    world.tick()
    second = evaluations(world)[1]
    seeds = select(ContestPlayer.version_id).where(ContestPlayer.contest_id == second.id)
    assert world.rows(seeds.order_by(col(ContestPlayer.seed))) == [*places(world, first.id), 4]


@pytest.mark.databases
def test_two_schedulers_begin_and_draw_once(world: World) -> None:
    season_id = due(world, 4)
    world.at_once(lambda session: go_on(session, season_id), lambda session: go_on(session, season_id))
    assert (len(evaluations(world)), len(pairings(world))) == (1, 2)


@pytest.mark.databases
def test_a_scheduler_that_dies_between_two_steps_leaves_nothing_half_done(world: World) -> None:
    season_id = due(world, 4)

    def dies(session: Session) -> None:
        assert go_on(session, season_id)
        raise ZeroDivisionError

    world.refused(ZeroDivisionError, dies)
    assert evaluations(world) == [] == pairings(world)
    world.play_all(lower_wins)
    assert evaluations(world)[0].state is states.ContestState.DONE


def test_nobody_gains_by_a_match_that_the_service_failed_to_play(world: World) -> None:
    due(world, 2, line(rounds=1, matches=2))
    job = world.claimed()
    world.finish(job, [won(job.matches[0], 0), abandoned(job.matches[1])])
    world.tick()
    (row,) = evaluations(world)
    assert row.state is states.ContestState.DONE
    (pairing,) = pairings(world)
    assert (pairing.first_points, pairing.second_points) == (1.0, 0.0)


def test_what_is_ruled_after_a_round_changes_no_standings(world: World) -> None:
    due(world, 2, line(rounds=1, counts=True))
    world.play_all(lower_wins)
    before = world.read(playing.meetings, 1)
    assert world.write(void_match, world.boss, evaluation_match(world), "a mistake"), "it is rated, too"
    assert world.read(playing.meetings, 1) == before


@pytest.mark.parametrize("ended", [states.ContestState.DONE, states.ContestState.CANCELLED])
def test_what_is_final_can_only_be_cleared_of_its_faults(world: World, ended: states.ContestState) -> None:
    due(world, 4, line(rounds=1))
    if ended is states.ContestState.DONE:
        world.play_all(lower_wins)
    else:
        world.play([world.tick()[0]], lower_wins)
        world.write(beginning.cancel_evaluation, world.boss, 1)
    assert evaluations(world)[0].state is ended
    match_id = evaluation_match(world)
    before = world.read(playing.meetings, 1)
    assert "its points are final" in world.refused(WrongState, rejudge_match, world.boss, match_id, "a mistake")
    counted = world.read(matches.match_detail, match_id).uncounted
    assert world.write(void_match, world.boss, match_id, "not its fault")
    why = world.read(matches.match_detail, match_id).uncounted
    assert why is not None and why.sentence.endswith("not its fault")
    if ended is states.ContestState.DONE:
        assert world.write(restore_match, world.boss, match_id, "its fault after all"), "the points count it"
        assert world.read(matches.match_detail, match_id).uncounted == counted
    assert world.read(playing.meetings, 1) == before


def test_a_ruling_in_time_counts_and_says_so(world: World) -> None:
    due(world, 4, line(rounds=1))
    first, second = world.tick()
    world.play([first], lower_wins)
    match_id = evaluation_match(world)
    assert world.write(void_match, world.boss, match_id, "a mistake"), "its pairing has no points yet"
    why = world.read(matches.match_detail, match_id).uncounted
    assert why is not None and why.sentence.endswith(": a mistake")
    world.play([second], lower_wins)
    world.play_all(lower_wins)
    assert sorted((one.first_points or 0) + (one.second_points or 0) for one in pairings(world)) == [1.0, 2.0]
    assert "it stays void" in world.refused(WrongState, restore_match, world.boss, match_id, "too late")


def test_a_match_that_is_played_again_in_time_counts_as_it_ends_then(world: World) -> None:
    due(world, 2, line(rounds=1))
    job = world.claimed()
    assert world.finish(job, lower_wins)
    again = world.write(rejudge_match, world.boss, job.matches[0].match_id, "the referee failed")
    assert world.tick() == []
    assert evaluations(world)[0].state is states.ContestState.RUNNING
    replay = world.claimed(world.row(Match, again).series_id)
    assert world.row(Series, replay.series_id).precedence == states.Precedence.EVALUATION
    assert world.finish(replay, [won(match, match.seats.index(2)) for match in replay.matches])
    world.tick()
    (pairing,) = pairings(world)
    assert (pairing.first_points, pairing.second_points) == (1.0, 1.0)


LARGER: dict[str, Any] = {"game": "liars-dice", "seats": 3, "series_length": 3, "games_per_pair": 3}


def played_without_the_first(world: World, season_id: int) -> Contest:
    """Take bot 1 out after the first draw, play the season's evaluation to its end, and return it."""
    made = world.tick()
    world.write(absence.take_out, world.boss, season_id, 1, "it breaks the rules")
    world.play_left(made, lower_wins)
    world.play_all(lower_wins)
    (row,) = evaluations(world)
    assert row.state is states.ContestState.DONE
    return row


@pytest.mark.databases
def test_at_tables_of_three_those_who_are_left_share_the_points_of_a_bot_that_is_taken_out(world: World) -> None:
    row = played_without_the_first(world, due(world, 7, line(rounds=2, matches=3), **LARGER))
    with world.db.reading() as session:
        met = playing.meetings(session, row.id)
        board = contests.contest(session, row.id)
        drawn, count = contests.pairings(session, row.id, 1)
    first = next(one for one in met if one.round == 1 and 1 in one.players)
    assert sorted(first.points) == [0.0, 2.25, 2.25], "beaten by both, who are level with each other"
    assert 1 not in {player for one in met if one.round == 2 for player in one.players}
    assert sorted(player for one in met if one.round == 2 for player in one.players) == [2, 3, 4, 5, 6, 7]
    byes = [one for one in met if len(one.players) == 1]
    assert [(one.players, one.points) for one in byes] == [((7,), (3.0,))]
    assert count == 3 and [len(one.seats) for one in drawn] == [3, 3, 1]
    assert board.standings[-1].version_id == 1 or board.standings[-1].points == 0


def test_a_table_needs_as_many_bots_as_it_seats(world: World) -> None:
    due(world, 2, line(rounds=2), **LARGER)
    world.tick()
    (row,) = evaluations(world)
    assert (row.state, row.reason) == (states.ContestState.CANCELLED, "Fewer than 3 bots could play.")
    with pytest.raises(WrongState):
        world.write(beginning.resume_evaluation, world.boss, row.id)


def closes_the_account(session: Session, owner: Person, _season_id: int, _bot_id: int) -> None:
    close_account(session, owner)


@pytest.mark.parametrize("leave", [absence.withdraw, closes_the_account])
def test_a_bot_that_its_author_withdraws_is_played_to_the_end(world: World, leave: Callable[..., None]) -> None:
    season_id = season(world, 3, line(rounds=2))
    owner, bot_id = world.entrant(season_id)
    world.clock.turn(HOUR)
    made = world.tick()
    world.write(leave, owner, season_id, bot_id)
    world.play(made, lower_wins)
    world.play_all(lower_wins)
    drawn = {version for one in pairings(world, number=2) for version in (one.first_id, one.second_id)}
    assert drawn == {1, 2, 3, 4}, "nobody gets a bye or a win by it"


def test_times_that_were_missed_are_made_up_for_by_the_newest_alone(world: World) -> None:
    season(world, 2, line(at=[], every_minutes=15, first_at=START, last_at=START + timedelta(hours=6), rounds=1))
    world.clock.turn(2 * HOUR + 60)
    world.play_all(lower_wins)
    assert [row.due_at for row in evaluations(world)] == [START + timedelta(hours=2)]
    world.clock.turn(5 * HOUR)
    world.play_all(lower_wins)
    assert evaluations(world)[-1].due_at == START + timedelta(hours=6)
    world.clock.turn(HOUR)
    assert world.tick() == []


def test_a_timetable_begins_nothing_that_was_due_before_it_was_declared(world: World) -> None:
    season_id = world.season(2, games_per_pair=2)
    world.clock.turn(2 * HOUR)
    world.write(beginning.set_timetable, world.boss, season_id, [line()])
    world.tick()
    assert evaluations(world) == []


def test_a_season_without_a_ladder_plays_its_evaluations_and_finals_alone(world: World) -> None:
    season_id = season(world, 4, ladder=False, finals=states.FinalsFormat.STAGES, stages=["round-robin"])
    assert not world.rows(select(Series))
    row = world.row(Season, season_id)
    assert not world.read(has_unplayed, row) and not world.read(runs_low, season_id)
    assert world.read(forecasts.forecast, row).ladder_matches is None
    world.clock.turn(HOUR)
    world.play(world.tick(), lower_wins)
    assert world.read(runs_low, season_id)
    world.play_all(lower_wins)
    (played,) = evaluations(world)
    assert played.state is states.ContestState.DONE
    world.set_state(season_id, states.SeasonState.FINALS)
    world.settle_rankings()
    world.settle()
    assert set(world.rows(select(Series.purpose))) == {states.Purpose.EVALUATION, states.Purpose.RATED_EVALUATION}
    assert world.row(Season, season_id).state is states.SeasonState.CLOSED


def test_a_season_that_closes_ends_its_evaluation(world: World) -> None:
    season_id = due(world, 4)
    world.tick()
    world.set_state(season_id, states.SeasonState.CLOSED, force=True)
    (row,) = evaluations(world)
    assert (row.state, row.reason) == (states.ContestState.CANCELLED, "The season is closed.")
    with world.db.reading() as session:
        assert not session.exec(select(Match.id).where(Match.state == states.MatchState.SCHEDULED)).first()


@pytest.mark.databases
def test_a_cancelled_one_is_resumed_and_every_match_of_it_is_played(world: World) -> None:
    due(world, 4)
    first = world.tick()[0]
    world.play([first], lower_wins)
    row = evaluations(world)[0]
    world.refused(WrongState, beginning.resume_evaluation, world.boss, row.id)
    world.write(beginning.cancel_evaluation, world.boss, row.id)
    world.refused(NotAllowed, beginning.resume_evaluation, world.author(), row.id)
    world.write(beginning.resume_evaluation, world.boss, row.id)
    world.play_all(lower_wins)
    (row,) = evaluations(world)
    assert (row.state, row.reason) == (states.ContestState.DONE, "")
    assert {(one.first_points or 0) + (one.second_points or 0) for one in pairings(world)} == {2.0}, (
        "none is worth less"
    )


def test_one_that_had_no_field_or_whose_ladder_is_over_is_not_resumed(world: World) -> None:
    season_id = due(world, 1)
    world.tick()
    world.refused(WrongState, beginning.resume_evaluation, world.boss, evaluations(world)[0].id)
    world.set_state(season_id, states.SeasonState.CLOSED, force=True)
    world.refused(WrongState, beginning.resume_evaluation, world.boss, evaluations(world)[0].id)


DATES = {"finals_at": START + timedelta(hours=2), "finals": states.FinalsFormat.STAGES, "stages": ["round-robin"]}


def at_its_date(world: World, *, failed: bool, **dates: Any) -> int:
    """Let the date that ends the ladder come while an evaluation is played, after the service failed at it or not."""
    season_id = due(world, 4, **dates)
    first = world.tick()[0]
    if failed:
        world.write(release_series, world.claimed(first), "w1", Failure("blobs-away", "no space left"))
    world.clock.turn(HOUR + 60)
    world.tick()
    return season_id


@pytest.mark.databases
@pytest.mark.parametrize("dates", [DATES, {"closes_at": START + timedelta(hours=2)}], ids=["finals", "close"])
def test_a_date_waits_for_an_evaluation_that_the_service_delayed(world: World, dates: dict[str, Any]) -> None:
    season_id = at_its_date(world, failed=True, **dates)
    assert evaluations(world)[0].state is states.ContestState.RUNNING
    assert world.row(Season, season_id).state is states.SeasonState.FROZEN, "nobody enters after the date"
    shown = world.read(season_info, season_id)
    (waits,) = world.read(decisions, world.boss, [shown]).seasons
    assert "the service delayed" in waits.why
    world.play(world.rows(select(Series.id).where(Series.state == states.JobState.QUEUED)), lower_wins)
    world.play_all(lower_wins)
    world.tick()
    first = evaluations(world)[0]
    assert first.state is states.ContestState.DONE
    if "closes_at" in dates:
        assert world.row(Season, season_id).state is states.SeasonState.CLOSED
    else:
        world.write(refit, season_id)
        world.tick()
        _, stage = evaluations(world)
        seeded = [one.bot_id for one in players(world, stage.id, col(ContestPlayer.seed))]
        assert seeded == [one.bot_id for one in players(world, first.id, col(ContestPlayer.place))]


def test_who_will_not_wait_cancels_it(world: World) -> None:
    season_id = at_its_date(world, failed=True, **DATES)
    world.write(beginning.cancel_evaluation, world.boss, evaluations(world)[0].id)
    world.tick()
    assert world.row(Season, season_id).state is states.SeasonState.FINALS


def test_a_date_ends_an_evaluation_that_only_takes_long(world: World) -> None:
    season_id = at_its_date(world, failed=False, **DATES)
    assert evaluations(world)[0].state is states.ContestState.CANCELLED
    assert world.row(Season, season_id).state is states.SeasonState.FINALS


@pytest.mark.parametrize(("beside", "played"), [(True, {"evaluation", "ladder"}), (False, {"evaluation"})])
def test_the_ladder_goes_on_beside_one_or_waits(world: World, beside: bool, played: set[str]) -> None:
    world.write(beginning.begin_now, world.boss, world.season(4, ladder_during_evaluations=beside), line())
    assert {world.row(Series, series_id).purpose.value for series_id in world.tick()} == played


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": None},
        {"format": ROUND_ROBIN},
        {"at": []},
        {"every_minutes": 5},
        {"every_minutes": 5, "first_at": START, "last_at": START - timedelta(hours=1)},
    ],
)
def test_a_timetable_that_cannot_be_is_refused(world: World, wrong: dict[str, Any]) -> None:
    world.refused(BadSetting, beginning.set_timetable, world.boss, world.season(0), [line(**wrong)])


def test_a_round_robin_plays_every_pair_once_with_both_sides(world: World) -> None:
    due(world, 4, line(format=ROUND_ROBIN, rounds=None, matches=2, counts=True))
    for _ in range(40):
        for series_id in world.tick():
            if world.row(Series, series_id).purpose in states.OF_EVALUATIONS:
                world.play([series_id], lower_wins)
        if evaluations(world)[0].state is states.ContestState.DONE:
            break
    met = {frozenset({one.first_id, one.second_id}) for one in pairings(world)}
    assert len(pairings(world)) == len(met) == 6
    assert places(world, 1) == [1, 2, 3, 4]
    rated = select(Match.rated).join(Series, col(Series.id) == Match.series_id)
    assert set(world.rows(rated.where(col(Series.purpose).in_(states.OF_EVALUATIONS)))) == {True}


def test_an_own_failure_is_worth_nothing_even_if_both_fail(world: World) -> None:
    due(world, 2, line(rounds=1, matches=2))
    job = world.claimed()
    world.finish(job, [forfeited(job.matches[0], 0, 1), forfeited(job.matches[1], 0)])
    world.tick()
    (pairing,) = pairings(world)
    winner = job.matches[1].seats[1]
    points = {pairing.first_id: pairing.first_points, pairing.second_id: pairing.second_points}
    assert points == {winner: 1.0, job.matches[1].seats[0]: 0.0}


def test_a_bot_that_is_taken_out_is_drawn_no_more_and_its_opponent_wins(world: World) -> None:
    played_without_the_first(world, due(world, 4, line(rounds=2)))
    first, _ = pairings(world, number=1)
    assert {first.first_id: first.first_points, first.second_id: first.second_points} == {1: 0.0, 2: 2.0}
    assert 1 not in {version for one in pairings(world, number=2) for version in (one.first_id, one.second_id)}


def test_an_organiser_begins_and_cancels_one(world: World) -> None:
    season_id = season(world, 2)
    world.refused(NotAllowed, beginning.begin_now, world.author(), season_id, line())
    row = world.write(beginning.begin_now, world.boss, season_id, line())
    world.refused(WrongState, beginning.begin_now, world.boss, season_id, line())
    (series_id,) = world.tick()
    world.write(beginning.cancel_evaluation, world.boss, row.id)
    world.refused(WrongState, beginning.cancel_evaluation, world.boss, row.id)
    assert world.claim(series_id) is None
    (ended,) = evaluations(world)
    assert (ended.state, ended.reason) == (states.ContestState.CANCELLED, "An organiser cancelled it.")
