"""Finals lead from the frozen ladder to published standings."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.league.ratings import Prior, RatingConfig, rate
from deadheat.league.service.course.finals import divisions as fields
from deadheat.league.service.course.finals import finals_progress
from deadheat.league.service.ground import audit, steps
from deadheat.league.service.rankings import ranking, standings
from deadheat.league.service.rulings.rulings import rejudge_match
from deadheat.league.service.seasons import absence, divisions, seasons
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.service.views.matches import matches
from deadheat.league.states import FinalsFormat, FinalsLog, Purpose, SeasonState
from deadheat.league.tables import Entry, Match, Participant, RatingSnapshot, Season, Series
from tests.league.outcomes import Outcome, abandoned, won
from tests.league.people import GAME
from tests.league.world import World

ROUNDS = 200
"""More steps than any season here needs."""


def season(world: World, bots: int, game: str = GAME, **settings: Any) -> int:
    chosen: dict[str, Any] = {"finals": FinalsFormat.ROUND_ROBIN, "finals_games": 2, "games_per_pair": 2}
    chosen.update(settings)
    return world.season(bots, game=game, **chosen)


def in_finals(world: World, season_id: int) -> int:
    world.set_state(season_id, SeasonState.FINALS)
    world.rank(season_id)
    return season_id


def by(strength: Sequence[int]) -> Outcome:
    """Let the strongest version at each table win; of equals, the one in the earlier seat."""
    return lambda match: won(match, max(range(len(match.seats)), key=lambda seat: strength[match.seats[seat] - 1]))


def play(world: World, season_id: int, strength: Sequence[int]) -> None:
    """Play and rank until two ticks in a row plan nothing."""
    quiet = 0
    for _ in range(ROUNDS):
        made = world.tick()
        quiet = 0 if made else quiet + 1
        if quiet == 2:
            return
        world.play(made, by(strength))
        world.rank(season_id)
    pytest.fail("it never came to an end")


def play_finals(world: World, season_id: int, strength: Sequence[int]) -> None:
    world.set_state(season_id, SeasonState.FINALS)
    play(world, season_id, strength)


def seeds(world: World, season_id: int) -> dict[int, int | None]:
    return {one.version_id: one.finals_seed for one in world.rows(select(Entry).where(Entry.season_id == season_id))}


def pairings(world: World, season_id: int) -> list[tuple[int | None, frozenset[int]]]:
    """Return the round and the versions of every series of the finals."""
    found = world.rows(
        select(Series.id, Series.round, Participant.version_id)
        .join(Match, col(Match.series_id) == Series.id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(Series.season_id == season_id, Series.purpose == Purpose.FINALS)
        .order_by(col(Series.id))
    )
    series: dict[int, tuple[int | None, set[int]]] = {}
    for series_id, number, version in found:
        series.setdefault(series_id, (number, set()))[1].add(version)
    return [(number, frozenset(versions)) for number, versions in series.values()]


def test_a_season_from_its_ladder_to_its_published_standings(world: World) -> None:
    season_id = season(world, 5, finals_top=3)
    strength = (3, 1, 5, 2, 4)
    play(world, season_id, strength)
    play_finals(world, season_id, strength)
    assert world.row(Season, season_id).state is SeasonState.CLOSED
    assert seeds(world, season_id) == {3: 1, 5: 2, 1: 3, 2: None, 4: None}
    met = pairings(world, season_id)
    assert Counter(pair for _, pair in met) == {frozenset({1, 3}): 1, frozenset({1, 5}): 1, frozenset({3, 5}): 1}
    assert {number for number, _ in met} == {1, 2, 3}
    assert world.write(standings.seasons_to_publish) == [season_id]
    assert world.write(standings.publish, season_id)
    board = world.read(standings.leaderboard, season_id)
    assert world.read(seasons.season_info, season_id).log_sha256 == board.log_sha256
    assert world.read(audit.first_broken) is None
    assert board.final
    found = [(row["version_id"], row["rank"], row["finalist"]) for row in board.standings["rows"]]
    assert found == [(3, 1, True), (5, 2, True), (1, 3, True), (4, 4, False), (2, 5, False)]


def test_finals_wait_for_the_ladders_last_series_and_drop_what_nobody_began(world: World) -> None:
    season_id = season(world, 3)
    first, *waiting = world.tick()
    job = world.claimed(first)
    in_finals(world, season_id)
    assert world.tick() == []
    assert set(seeds(world, season_id).values()) == {None}
    assert world.finish(job, by((1, 2, 3)))
    assert world.tick() == []  # no ranking includes the last result yet
    world.rank(season_id)
    assert len(world.tick()) == 3
    assert sorted(seed for seed in seeds(world, season_id).values() if seed) == [1, 2, 3]
    assert all(world.claim(series_id) is None for series_id in waiting)


def test_only_so_many_series_of_a_round_robin_are_open_at_a_time(world: World) -> None:
    in_finals(world, season(world, 8))
    assert len(world.tick()) == OPEN_SERIES
    assert world.tick() == []


def test_a_swiss_round_begins_when_the_one_before_has_ended(world: World) -> None:
    season_id = in_finals(world, season(world, 8, finals=FinalsFormat.SWISS))
    sizes = []
    for number in range(1, 4):
        made = world.tick()
        sizes.append(len(made))
        assert world.tick() == []
        (told,) = world.read(finals_progress, season_id)
        assert (told.round, told.rounds, told.finished, told.series) == (number, 3, 4 * (number - 1), 12)
        world.play(made, by(range(8)))
    assert sizes == [4, 4, 4]
    met = pairings(world, season_id)
    assert (Counter(number for number, _ in met), len({pair for _, pair in met})) == ({1: 4, 2: 4, 3: 4}, 12)
    assert frozenset({7, 8}) in {pair for _, pair in met}  # the winners of all rounds so far meet
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_neighbours_play_on_until_they_are_told_apart(world: World) -> None:
    season_id = season(world, 3, finals_extra_games=2000, finals_games=2)
    play_finals(world, season_id, (1, 3, 2))
    assert world.row(Season, season_id).state is SeasonState.CLOSED
    first, second, third = world.ranking(season_id)
    assert [row["version_id"] for row in (first, second, third)] == [2, 3, 1], "finals of all need no ladder"
    for above, below in ((first, second), (second, third)):
        assert above["elo"] - below["elo"] > 1.959 * above["gap_se"]
    extra = [pair for number, pair in pairings(world, season_id) if number is None]
    assert 0 < len(extra) < 200
    assert set(extra) <= {frozenset({2, 3}), frozenset({1, 3})}


def test_neighbours_whose_ratings_differ_by_rounding_alone_stand_in_the_rankings_order(world: World) -> None:
    """The last digits of two tied ratings contradict their places."""
    season_id = in_finals(world, season(world, 2, finals_extra_games=7, finals_games=2))
    world.play(world.tick(), by((1, 1)))
    world.rank(season_id)
    with world.db.transaction() as session:
        newest = session.exec(select(RatingSnapshot).order_by(col(RatingSnapshot.id).desc()).limit(1)).one()
        first, last = newest.standings["rows"]
        assert last["gap_se"] is None
        noisy = [first, {**last, "rank": first["rank"], "elo": first["elo"] + 1e-9}]
        newest.standings = {**newest.standings, "rows": noisy}
    assert len(world.tick()) == 1


def test_finals_that_do_not_close_the_season_wait_for_the_organiser(world: World) -> None:
    season_id = season(world, 2, closes_when_done=False)
    play_finals(world, season_id, (1, 2))
    assert world.row(Season, season_id).state is SeasonState.FINALS
    assert world.read(seasons.season_info, season_id).finals_done_at is not None
    assert world.tick() == []


def test_a_bot_that_has_not_played_does_not_take_a_finalists_place(world: World) -> None:
    season_id = season(world, 2, finals_top=2, games_per_pair=20, series_length=20)
    play(world, season_id, (2, 1))
    _, late = world.entrant(season_id)
    in_finals(world, season_id)
    world.tick()
    assert seeds(world, season_id) == {1: 1, 2: 2, late: None}


def test_finalists_whose_matches_we_failed_to_play_come_after_those_who_played(world: World) -> None:
    season_id = season(
        world, 3, finals_log=FinalsLog.FINALS, finals_top=3, finals_games=2, games_per_pair=20, series_length=20
    )
    play(world, season_id, (3, 2, 1))
    in_finals(world, season_id)
    for series_id in world.tick():
        job = world.claimed(series_id)
        if 1 in job.matches[0].seats:
            assert world.finish(job, abandoned)
        else:
            assert world.finish(job, by((1, 2, 3)))
    world.rank(season_id)
    found = world.ranking(season_id)
    assert [(row["version_id"], row["rank"], row["games"]) for row in found] == [(3, 1, 2), (2, 2, 2), (1, 3, 40)]
    assert world.read(standings.recount, season_id).same


def test_what_finals_of_their_own_say_is_not_carried_into_the_next_season(world: World) -> None:
    """The next season starts from ratings of the whole season."""
    season_id = season(
        world, 3, finals_log=FinalsLog.FINALS, finals_top=2, finals_games=10, games_per_pair=60, series_length=20
    )
    play(world, season_id, (3, 2, 1))
    play_finals(world, season_id, (2, 3, 1))
    assert world.write(standings.publish, season_id)
    before = {row["bot_id"]: row for row in world.ranking(season_id)}
    alike = world.read(ranking.ranking, season_id)
    everything = rate(world.read(ranking.season_log, season_id), RatingConfig(), dict.fromkeys("123", Prior()))
    assert {row["bot_id"]: row for row in alike.standings["rows"]} == before
    expected = {int(entry.player): (entry.elo, entry.se) for entry in everything.entries}
    following = world.write(seasons.create_season, world.boss, name="next", previous_id=season_id).id
    world.write(steps.touch_log, following)
    world.rank(following)
    carried = {row["bot_id"]: (row["prior_elo"], row["prior_sd"]) for row in world.ranking(following)}
    for bot_id, (elo, sd) in carried.items():
        assert elo == pytest.approx(expected[bot_id][0])
        assert sd == pytest.approx(math.hypot(expected[bot_id][1], RatingConfig().season_sd_elo))
    assert before[2]["elo"] > before[1]["elo"]  # rated by the finals alone
    assert carried[1][0] > carried[2][0] > carried[3][0]


def test_each_division_has_finals_of_its_own(world: World) -> None:
    two = [("First", None), ("Second", None)]
    season_id = season(world, 6, divisions=two, finals_top=2)
    with world.db.transaction() as session:
        for bot_id in (1, 2, 3):
            divisions.assign_division(session, world.boss, season_id, bot_id, 1)
    play(world, season_id, (1, 2, 3, 4, 5, 6))
    play_finals(world, season_id, (1, 2, 3, 4, 5, 6))
    assert {pair for _, pair in pairings(world, season_id)} == {frozenset({2, 3}), frozenset({5, 6})}
    placed = [(row["division"], row["rank"], row["version_id"]) for row in world.ranking(season_id)]
    assert placed == [(1, 1, 3), (1, 2, 2), (1, 3, 1), (2, 1, 6), (2, 2, 5), (2, 3, 4)]


def test_a_finalist_that_is_disqualified_is_not_paired_any_more_and_progress_is_told(world: World) -> None:
    season_id = season(world, 4, finals_extra_games=4, closes_when_done=False)

    def told() -> list[tuple[int, ...]]:
        found = world.read(finals_progress, season_id)
        return [(one.finalists, one.round, one.rounds, one.finished, one.series, one.extra_left) for one in found]

    play(world, season_id, range(4))
    assert told() == []
    in_finals(world, season_id)
    made = world.tick()
    assert told() == [(4, 3, 3, 0, 6, 4)]
    world.play(made[:2], by(range(4)))
    assert told() == [(4, 3, 3, 2, 6, 4)]
    world.write(absence.disqualify, world.boss, season_id, 4, "caught")
    world.play_left(made[2:], by(range(4)))
    play(world, season_id, range(4))
    ((finalists, _, rounds, finished, series, _),) = told()
    assert (finalists, rounds, finished) == (3, 3, series)
    assert [row["version_id"] for row in world.ranking(season_id)] == [3, 2, 1]


def test_what_carries_no_information_is_struck(world: World) -> None:
    """Our failure, and a disqualified opponent."""
    season_id = in_finals(world, season(world, 8, finals=FinalsFormat.SWISS))
    one, other, failed, running = world.tick()
    world.play([one, other], by(range(8)))
    assert world.finish(world.claimed(failed), abandoned)
    job = world.claimed(running)
    out = world.rows(select(Participant.version_id).join(Match).where(Match.series_id == one))[0]
    world.write(absence.disqualify, world.boss, season_id, out, "caught")
    (division,) = world.read(lambda session: fields(session, session.get_one(Season, season_id)))
    told = {series.versions: (series.finished, series.struck, series.lost) for series in division.played}
    assert sorted(told.values()) == [(False, False, 0), (True, False, 0), (True, True, 0), (True, True, 2)]
    assert not told[frozenset(job.matches[0].seats)][0]
    assert all(struck for versions, (_, struck, _) in told.items() if out in versions)


def test_a_host_that_fails_for_ever_does_not_keep_finals_going_for_ever(world: World) -> None:
    season_id = season(world, 2, finals_extra_games=6, finals_games=2)
    world.set_state(season_id, SeasonState.FINALS)
    planned = 0
    for _ in range(ROUNDS):
        world.rank(season_id)
        for series_id in world.tick():
            job = world.claimed(series_id)
            planned += len(job.matches)
            assert world.finish(job, abandoned)
        if world.row(Season, season_id).state is SeasonState.CLOSED:
            break
    assert planned <= 2 + 2 * 6
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_a_season_without_enough_finalists_is_over_at_once(world: World) -> None:
    season_id = in_finals(world, season(world, 1))
    assert world.tick() == []
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_finals_at_larger_tables(world: World) -> None:
    season_id = world.season(
        9, game="liars-dice", seats=4, series_length=4, finals=FinalsFormat.SWISS, finals_games=4, finals_rounds=2,
        games_per_pair=None, finals_extra_games=8,
    )  # fmt: skip
    play_finals(world, season_id, range(9))
    rounds = Counter(number for number, versions in pairings(world, season_id) if len(versions) == 4)
    assert (rounds[1], rounds[2]) == (8, 8), "two tables, and of each deal a rotation in every one of four series"
    assert world.row(Season, season_id).state is SeasonState.CLOSED


@pytest.mark.parametrize(("game", "played"), [(GAME, 7), ("liars-dice", 6)])
def test_equals_play_on_until_the_budget_is_spent(world: World, game: str, played: int) -> None:
    """Whole deals are played, as far as the budget allows."""
    season_id = season(world, 2, game, finals_extra_games=7, finals_games=2)
    play_finals(world, season_id, (1, 1))  # the first seat wins, and the bots change seats
    counted = world.rows(
        select(Match.id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(Series.purpose == Purpose.FINALS, col(Series.round).is_(None))
    )
    assert len(counted) == played
    assert world.row(Season, season_id).state is SeasonState.CLOSED


def test_finalists_may_be_ranked_by_the_finals_alone(world: World) -> None:
    whole = finals_after_an_upset(world, FinalsLog.SEASON)
    alone = finals_after_an_upset(world, FinalsLog.FINALS)
    assert [row["rank"] for row in whole] == [row["rank"] for row in alone] == [1, 2, 3]
    assert whole[0]["bot_id"] % 3 == 1  # 60 games won on the ladder outweigh 10 lost in the finals
    assert (alone[0]["bot_id"] % 3, alone[0]["games"], alone[2]["finalist"]) == (2, 10, False)


def finals_after_an_upset(world: World, finals_log: FinalsLog) -> list[dict[str, Any]]:
    """Let the first bot win the ladder and the second the finals; return the ranking."""
    season_id = season(
        world, 3, finals_log=finals_log, finals_top=2, finals_games=10, games_per_pair=60, series_length=20
    )
    before = [0] * (min(version for version in seeds(world, season_id)) - 1)
    play(world, season_id, [*before, 3, 2, 1])
    play_finals(world, season_id, [*before, 2, 3, 1])
    return world.ranking(season_id)


def test_a_finals_match_that_is_rejudged_counts_for_its_round(world: World) -> None:
    season_id = season(world, 3, closes_when_done=False)
    play_finals(world, season_id, (3, 2, 1))
    match = world.write(matches, season_id=season_id)[0]
    again = world.write(rejudge_match, world.boss, match.id, "the host was overloaded")
    before, after = (world.row(Match, match_id).series_id for match_id in (match.id, again))
    one, other = world.row(Series, before), world.row(Series, after)
    assert (one.purpose, one.round) == (other.purpose, other.round)
    assert one.purpose is Purpose.FINALS


def test_a_swiss_with_a_disqualified_bot_is_played_to_its_end(world: World) -> None:
    """One bot leaves during the second round. No two meet twice, and all planned rounds are played."""
    season_id = in_finals(world, season(world, 6, finals=FinalsFormat.SWISS, finals_rounds=3))
    world.play(world.tick(), by(range(6)))
    first, *others = world.tick()
    running = world.claimed(first)
    out = running.matches[0].seats[0]
    world.write(absence.disqualify, world.boss, season_id, out, "caught")
    assert world.finish(running, by(range(6)))
    world.play(others, by(range(6)))
    play(world, season_id, range(6))
    assert world.row(Season, season_id).state is SeasonState.CLOSED
    met = [(number, pair) for number, pair in pairings(world, season_id) if number is not None]
    assert max(Counter(pair for _, pair in met).values()) == 1
    assert {number for number, _ in met} == {1, 2, 3}
    assert out not in {version for number, pair in met if number > 2 for version in pair}
    assert out not in {row["version_id"] for row in world.ranking(season_id)}
