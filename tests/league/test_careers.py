"""What pages tell of bots and seasons: careers, histories, neighbouring matches and overviews."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select as columns
from sqlmodel import Session, col, select, update

from deadheat.api.pages.bot import near
from deadheat.api.pages.pictures.charts import trend
from deadheat.api.pages.render import to_come
from deadheat.api.pages.season import cycles
from deadheat.engine.core import Fault, Result
from deadheat.league.errors import NotFound
from deadheat.league.jobs import Latency, MatchJob, MatchOutcome, SeriesJob
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.ground.steps import insert_rows
from deadheat.league.service.rankings import history, standings
from deadheat.league.service.rulings.rulings import void_match
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import COUNTED, season_info, season_waiting
from deadheat.league.service.series.response_times import command_times, latency_by_version
from deadheat.league.service.views import careers, matches, overview
from deadheat.league.service.views.matches import Neighbours
from deadheat.league.service.views.overview import highlights, leaders, worth, worth_watching
from deadheat.league.states import Asked, MatchState, SeasonState, TranscriptsFrom, VersionState
from deadheat.league.tables import Match, Participant, RatingPoint, RatingSnapshot, Series
from deadheat.league.time_buckets import DOUBLINGS, LAST, PER_DOUBLING, bars, bucket, edge, late_share, percentile
from tests.league.outcomes import forfeited, won
from tests.league.people import GAME
from tests.league.world import World


def seated(world: World, match_id: int) -> list[int]:
    chosen = select(Participant.bot_id).where(Participant.match_id == match_id)
    return world.rows(chosen.order_by(Participant.seat))  # type: ignore[arg-type]  # a column


def test_opponents_are_counted_from_the_bots_own_side(world: World) -> None:
    season_id = world.season(2, series_length=3, games_per_pair=3)
    job = world.claimed()
    outcomes = [won(job.matches[0], 0), won(job.matches[1], 0), won(job.matches[2], 1)]
    assert world.finish(job, outcomes)
    wins = dict.fromkeys(seated(world, job.matches[0].match_id), 0)
    for match, winner in zip(job.matches, (0, 0, 1), strict=True):
        wins[seated(world, match.match_id)[winner]] += 1
    one, other = wins
    [met] = world.read(careers.opponents, season_id, one)
    assert (met.bot_id, met.matches, met.won, met.drawn, met.lost) == (other, 3, wins[one], 0, wins[other])
    assert (met.bot, met.author) == next((row.name, row.author) for row in [world.read(bot_info, other)])
    faced = world.read(careers.opponents, season_id, other)
    assert [(row.won, row.lost) for row in faced] == [(wins[other], wins[one])]


def test_failures_are_told_by_cause_and_version(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job, [forfeited(job.matches[0], 0), won(job.matches[1])])
    loser, other = seated(world, job.matches[0].match_id)
    [failure] = world.read(careers.failures, season_id, loser)
    assert (failure.match_id, failure.version, failure.fault) == (job.matches[0].match_id, 1, Fault.TIMEOUT)
    assert world.read(careers.failure_counts, season_id, loser) == {(1, Fault.TIMEOUT): 1}
    for season, bot in ((season_id, other), (season_id + 1, loser)):
        assert world.read(careers.failures, season, bot) == []


def test_versions_and_seasons_of_a_bot_and_bots_of_an_author(world: World) -> None:
    season_id = world.season(0)
    owner, bot_id = world.bot("deep")
    world.version(owner, bot_id, "it does not compile")
    world.write(enter, owner, season_id, bot_id)
    with world.db.reading() as session:
        broken, ready = VersionState.BROKEN, VersionState.READY
        shown = careers.public_versions(session, bot_id)
        assert [(row.number, row.state) for row in shown] == [(2, broken), (1, ready)]
        [part] = careers.parts_of(session, [bot_id])[bot_id]
        assert (part.season_id, part.state, part.version) == (season_id, SeasonState.OPEN, 1)
        name, [bot], _ = careers.author_bots(session, owner.name.upper())
        assert (name, bot.id) == (owner.name, bot_id)
        with pytest.raises(NotFound):
            careers.author_bots(session, "nobody")
        assert overview.newest_versions(session, 1, game=GAME)[0].number == 2
        assert overview.newest_versions(session, 1, game="liars-dice") == []
        counts = careers.game_counts(session, GAME)
        assert (counts.bots, counts.authors, counts.versions) == (1, 1, 2)


def test_series_that_are_played_are_told_until_they_end(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    assert world.read(overview.running_series, 5) == []
    job = world.claimed()
    [running] = world.read(overview.running_series, 5)
    assert (running.id, running.season_id, running.matches) == (job.series_id, season_id, 2)
    assert [bot_id for bot_id, _ in running.bots] == seated(world, running.first_match_id)
    assert world.finish(job)
    assert world.read(overview.running_series, 5) == []


MS = 1_000_000


def rank_again(world: World, season_id: int, seconds: float) -> None:
    assert world.finish(world.claimed(world.tick()[0]))
    world.clock.turn(seconds)
    assert world.write(standings.refit, season_id)


def test_each_ranking_is_a_point_of_each_bots_history(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    for _ in range(3):
        rank_again(world, season_id, 5)
    with world.db.reading() as session:
        bot_id = session.exec(select(RatingPoint.bot_id)).first()
        assert bot_id is not None
        points = history.history(session, season_id, bot_id)
        newest = session.exec(select(RatingSnapshot).order_by(col(RatingSnapshot.id).desc())).first()
    assert newest is not None
    [row] = [row for row in newest.standings["rows"] if row["bot_id"] == bot_id]
    assert [(point.at - points[0].at).total_seconds() for point in points] == [0, 5, 10]
    last = points[-1]
    shown = ("elo", "low", "high", "rank", "version")
    assert [getattr(last, name) for name in shown] == [row[name] for name in shown]


def test_two_rankings_of_one_second_are_one_point(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    for _ in range(2):
        rank_again(world, season_id, 0)
    assert len(set(world.rows(select(RatingPoint.second)))) == 1


@pytest.mark.all
def test_histories_stay_bounded_and_keep_the_last_of_each_span(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    pauses = [1] * 10 + [3] * 80 + [50] * 60
    for pause in pauses:
        rank_again(world, season_id, pause)
    bots = len(set(world.rows(select(RatingPoint.bot_id))))
    seconds = sorted(set(world.rows(select(RatingPoint.second))))
    assert len(world.rows(select(RatingPoint.second))) == bots * len(seconds), "whole rankings, not parts"
    assert len(seconds) <= 1 + history.MOST_POINTS
    assert len(seconds) >= history.MOST_POINTS // 4
    width = history.span(seconds[-1])
    assert seconds[0] == 1, "the season's first"
    assert len({second // width for second in seconds[1:]}) == len(seconds) - 1, "and one of each span"
    assert seconds[-1] == sum(pauses)


def test_shares_of_the_limit_are_read_from_buckets_within_nine_per_cent() -> None:
    for share in (0.002, 0.03, 0.25, 0.62, 0.99, 1.0):
        assert share * 0.999999 <= edge(bucket(round(share * 500 * MS), 500 * MS)) <= share * 1.0906
    assert (bucket(0, 500), bucket(10**12, 500)) == (0, LAST)
    assert bucket(500, 500) == DOUBLINGS * PER_DOUBLING, "in time is not above the limit"


def test_percentiles_and_bars_of_counts() -> None:
    half, all_of_it = bucket(1, 2), bucket(1, 1)
    counts = {half: 98, all_of_it: 2}
    assert (percentile(counts, 0.5), percentile(counts, 0.99)) == (0.5, 1.0)
    assert percentile({}, 0.99) is None
    assert bars(counts) == [0] * (DOUBLINGS - 1) + [9, 1, 0]


def test_response_times_add_up_over_series(world: World) -> None:
    season_id = world.season(games_per_pair=None)
    versions: set[int] = set()
    for used in (10 * MS, 310 * MS):
        job = world.claimed(world.tick()[0])
        versions |= set(job.programs)
        counts = {bucket(used, 500 * MS): 12}
        timed = (Latency(0, "ROLL", 500 * MS, 12, 12 * used, used, counts),)
        assert world.finish(job, [replace(won(match), latencies=timed) for match in job.matches])
    [both] = world.read(command_times, season_id, versions)
    shown = world.read(latency_by_version, season_id)
    assert (both.command, both.prompts, both.worst_ns, both.mean_ns) == ("ROLL", 48, 310 * MS, 160 * MS)
    assert both.p50 == pytest.approx(0.02, rel=0.1)
    assert both.p99 == pytest.approx(0.62, rel=0.1)
    assert {int(version_id) for version_id in shown} <= versions


@pytest.fixture
def played(world: World) -> World:
    """Let three bots play each other four times; each series ends at its own time, the last planned first."""
    world.season(3)
    while series_ids := world.tick():
        for series_id in reversed(series_ids):
            world.clock.turn(1)
            assert world.finish(world.claimed(series_id))
    return world


def around(world: World, match_id: int) -> dict[str, Neighbours]:
    return {item.of: item for item in world.read(matches.neighbours, world.read(matches.match_detail, match_id))}


def test_neighbours_are_the_next_matches_in_the_lists_of_bots_and_pairs(played: World) -> None:
    everything = played.read(matches.matches, state=MatchState.DONE, limit=50)
    assert len(everything) == 12
    for match in everything:
        found = around(played, match.id)
        bots = {seat.bot_id: seat.bot for seat in match.seats}
        first, second = bots
        lists: dict[str, dict[str, Any]] = {f"of {name}": {"bot_id": bot_id} for bot_id, name in bots.items()}
        lists["of both"] = {"bot_id": first, "opponent_id": second}
        for of, chosen in lists.items():
            newest = [one.id for one in played.read(matches.matches, state=MatchState.DONE, limit=50, **chosen)]
            place = newest.index(match.id)
            before = newest[place + 1] if place + 1 < len(newest) else None
            after = newest[place - 1] if place else None
            assert found[of] == Neighbours(of, before, after)
        number = played.row(Match, match.id).number
        mates = [one.id for one in everything if one.series_id == match.series_id]
        (other,) = [mate for mate in mates if mate != match.id]
        assert found["of the series"] == Neighbours("of the series", *((None, other), (other, None))[number])


def test_nobody_is_led_to_a_private_match(played: World) -> None:
    newest = [one.id for one in played.read(matches.matches, state=MatchState.DONE, bot_id=1, limit=50)]
    played.change(Match, newest[1], asked=Asked.PRIVATE, rated=False)
    (name,) = [seat.bot for seat in played.read(matches.match_detail, newest[0]).seats if seat.bot_id == 1]
    found = around(played, newest[0])[f"of {name}"]
    assert (found.before, found.after) == (newest[2], None)


def test_the_search_for_neighbours_is_bounded(played: World, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = played.read(matches.matches, state=MatchState.DONE, limit=50)[0]
    assert around(played, newest.id)["of both"].before is not None
    monkeypatch.setattr(matches, "WINDOW", 0)
    assert [*around(played, newest.id)] in (["of the series"], [])


def test_the_leader_is_first_in_the_newest_ranking(world: World) -> None:
    season, empty = world.ranked(3), world.season(0)
    first = world.ranking(season)[0]
    found = world.read(leaders, [season, empty])
    assert {number: leader.bot_id for number, leader in found.items()} == {season: first["bot_id"]}
    assert [world.read(season_info, number).entries for number in (season, empty)] == [3, 0]


def test_a_first_place_may_be_shared(world: World) -> None:
    season = world.ranked(3)
    first = world.read(leaders, [season])[season]
    world.write(lambda session: session.exec(update(RatingPoint).where(col(RatingPoint.rank) > 1).values(rank=1)))
    assert world.read(leaders, [season])[season] == replace(first, others=2)


def test_a_trend_has_few_points_however_long_the_history(world: World) -> None:
    season = world.season(2, series_length=2, games_per_pair=40)
    for _ in range(2 * history.TREND_POINTS):
        for series_id in world.tick()[:1]:
            assert world.finish(world.claimed(series_id))
        world.clock.turn(60)
        world.write(standings.refit, season)
    found = world.read(history.trends, season, [1])
    rows = {row["bot_id"]: row["elo"] for row in world.ranking(season)}
    assert set(found) == {1}
    assert 1 < len(found[1]) <= history.TREND_POINTS
    assert found[1][-1] == rows[1]


def met(*points: str | None) -> Any:
    return SimpleNamespace(seats=[SimpleNamespace(points=each) for each in points])


def test_the_best_players_with_the_closest_result_are_worth_watching(world: World) -> None:
    world.ranked(3)
    assert len(world.read(worth_watching)) > 0
    close, clear, fault = met("100", "99"), met("100", "9"), met("100", None)
    assert worth(close, [1, 2]) > worth(clear, [1, 2]) > worth(clear, [9, 8])
    assert worth(fault, [1, 2]) < 0 <= worth(met(str(Fraction(1, 2)), "0"), [None, None])


def test_the_closest_the_biggest_turn_around_and_a_fault_of_the_newest_week_are_highlights(world: World) -> None:
    def ends(job: SeriesJob, *outcomes: MatchOutcome) -> None:
        assert world.finish(job, [*outcomes, *map(won, job.matches[len(outcomes) :])])

    season_id = world.season(2, series_length=6, games_per_pair=12)
    job, later = (world.claimed(series) for series in world.tick())
    old = [by_points(job.matches[0], 10_000, 9_999), replace(won(job.matches[1]), comeback=999)]
    ends(job, *old, forfeited(job.matches[2], 0))
    told = world.read(highlights, season_id)
    assert [(why, each.id) for why, each in told.items()] == [
        ("closest", job.matches[0].match_id),
        ("comeback", job.matches[1].match_id),
        ("fault", job.matches[2].match_id),
    ]
    world.write(void_match, world.boss, job.matches[0].match_id, "it was arranged")
    assert "closest" not in world.read(highlights), "twice as many points are not close"
    world.clock.turn(8 * 24 * 3600)
    ends(later, forfeited(later.matches[0], 0, 1), by_points(later.matches[1], 10, 8))
    told = world.read(highlights, season_id)
    assert [(why, each.id) for why, each in told.items()] == [("closest", later.matches[1].match_id)]
    assert world.read(highlights, world.season(0)) == {}
    dice = world.season(2, game="liars-dice", series_length=6, games_per_pair=6)
    series_id, *_ = (number for number in world.tick() if world.row(Series, number).season_id == dice)
    job = world.claimed(series_id)
    ends(job, by_points(job.matches[0], 10, 9))
    assert world.read(highlights, dice) == {}, "dice are no points"


def test_newer_matches_that_nobody_may_watch_leave_something_to_watch(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    season_id = world.season(2, series_length=6, games_per_pair=6)
    (series_id,) = world.tick()
    job = world.claimed(series_id)
    assert world.finish(job, [by_points(job.matches[0], 100, 99), *map(won, job.matches[1:])])
    world.write(standings.refit, season_id)
    monkeypatch.setattr(overview, "LOOKED_AT", 6)

    def shown() -> tuple[list[int], dict[str, int]]:
        return world.read(worth_watching), {why: each.id for why, each in world.read(highlights).items()}

    before = shown()
    assert before[0] and before[1] == {"closest": job.matches[0].match_id}
    world.season(2, series_length=6, games_per_pair=6, transcripts=TranscriptsFrom.CLOSED)
    world.clock.turn(1)
    (series_id,) = world.tick()
    assert world.finish(world.claimed(series_id), won)
    assert shown() == before


def by_points(match: MatchJob, *points: int) -> MatchOutcome:
    return replace(won(match), result=Result((1, 2), tuple(map(Fraction, points))))


def test_of_very_many_matches_to_come_only_some_are_counted(world: World) -> None:
    season = world.season(2, series_length=2, games_per_pair=2)
    world.tick()
    assert world.read(season_waiting, season) == (2, 0)

    def plan(session: Session) -> None:
        match = dict(session.connection().execute(columns(*Match.__table__.c)).mappings().first() or {})  # type: ignore[attr-defined]
        insert_rows(session, Match, [{**match, "id": 100 + n, "number": 100 + n} for n in range(COUNTED)])

    world.write(plan)
    assert world.read(season_waiting, season) == (COUNTED + 1, 0)
    assert [to_come(matches) for matches in (0, COUNTED, COUNTED + 1)] == ["0", "10000", "10,000+"]


@pytest.mark.parametrize(("part", "late"), [(1.0, 0.0), (0.5, 0.5), (0.25, 1.0)])
def test_what_would_be_late_follows_from_the_buckets(part: float, late: float) -> None:
    counts = {bucket(300, 1000): 5, bucket(900, 1000): 5}
    assert late_share(counts, part) == late


def test_neighbours_are_within_reach_where_the_intervals_of_places_overlap() -> None:
    rows = [
        {"bot_id": bot, "division": 1, "rank": bot, "rank_low": best, "rank_high": worst}
        | {"elo": 1500.0, "low": 1400.0, "high": 1600.0}  # wide, but places decide
        for bot, best, worst in ((1, 1, 1), (2, 2, 3), (3, 2, 3), (4, 4, 4))
    ]
    assert [row["bot_id"] for row, _ in near(rows[2], rows[1::-1], rows[3:])] == [2, 3]
    assert near(rows[0], [], rows[1:]) == []
    assert near(None, [], []) == []


def test_a_cycle_is_three_bots_that_beat_each_other() -> None:
    rows = [{"bot": name, "bot_id": 1} for name in "abc"]
    games = [[0, 4, 4], [4, 0, 4], [4, 4, 0]]
    points = [[0, 3, 1], [1, 0, 3], [3, 1, 0]]
    [beats] = cycles({"rows": rows, "pairs": {"version_ids": [1, 2, 3], "points": points, "games": games}})
    assert [(beat.winner["bot"], beat.loser["bot"]) for beat in beats] == [("a", "b"), ("b", "c"), ("c", "a")]
    straight = [[0, 3, 3], [1, 0, 3], [1, 1, 0]]
    assert cycles({"rows": rows, "pairs": {"version_ids": [1, 2, 3], "points": straight, "games": games}}) == []


def test_no_trend_is_drawn_of_one_point() -> None:
    assert trend([1500.0]) is None
    way = trend([1500.0, 1530.0])
    assert way is not None and way.change == 30


def test_a_voided_match_is_no_meeting(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    job = world.claimed()
    assert world.finish(job)
    bot_id = seated(world, job.matches[0].match_id)[0]
    world.write(void_match, world.boss, job.matches[0].match_id, "a mistake")
    [met] = world.write(careers.opponents, season_id, bot_id)
    assert met.matches == 1


@pytest.mark.parametrize("second", [0, 1, 127, 128, 1000, 86_400, 40_000_000])
def test_a_seasons_age_has_few_spans(second: int) -> None:
    assert second // history.span(second) < history.MOST_POINTS


def test_a_match_that_is_not_over_has_those_of_its_series_alone(world: World) -> None:
    world.season(2)
    assert [*around(world, world.claimed(world.tick()[0]).matches[0].match_id)] == ["of the series"]
