"""A ranking is computed from the whole log, and only when the log has changed."""

import json
from typing import Any

import numpy as np
import pytest
from sqlmodel import col, select

from deadheat.league import errors
from deadheat.league.config import REFIT_SECONDS
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.ratings import RatingConfig
from deadheat.league.ratings.log import read
from deadheat.league.service.ground.steps import touch_log
from deadheat.league.service.rankings import history, ranking
from deadheat.league.service.rankings import standings as recount
from deadheat.league.service.rankings.standings import leaderboard, newest_snapshot, refit, seasons_to_refit
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.states import JobState, Ranks
from deadheat.league.tables import Match, Participant, Series
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.world import World


def standings(world: World, season_id: int) -> dict[str, Any]:
    return world.read(leaderboard, season_id).standings


def play(world: World, *outcomes: object) -> None:
    """Play one series; an outcome is the version that wins, a tuple of those that forfeit, or "abandoned"."""
    world.tick()
    job = world.claimed(world.one(select(Series.id).where(Series.state == JobState.QUEUED).limit(1)))
    assert world.finish(job, [ending(match, outcome) for match, outcome in zip(job.matches, outcomes, strict=True)])


def ending(match: MatchJob, outcome: object) -> MatchOutcome:
    if outcome == "abandoned":
        return abandoned(match)
    if isinstance(outcome, tuple):
        return forfeited(match, *(match.seats.index(version) for version in outcome))
    assert isinstance(outcome, int)
    return won(match, match.seats.index(outcome))


def test_a_ranking_has_places_and_figures_beside_them(world: World) -> None:
    season_id = world.season(2, series_length=4, games_per_pair=4)
    play(world, 2, 2, 2, 1)
    assert world.write(refit, season_id)
    first, second = world.ranking(season_id)
    assert (first["version_id"], first["rank"], first["wins"], first["losses"], first["games"]) == (2, 1, 3, 1, 4)
    assert (second["version_id"], second["rank"]) == (1, 2)
    assert first["low"] < first["elo"] < first["high"]
    assert first["elo"] + second["elo"] == pytest.approx(2 * RatingConfig().centre_elo)
    found = standings(world, season_id)
    assert found["pairs"] == {"version_ids": [2, 1], "games": [[0, 4], [4, 0]], "points": [[0, 3], [1, 0]]}
    assert (found["fit"]["degrees"], found["fit"]["triads"]) == (0, 0)
    assert [(effect["seats"], effect["tables"]) for effect in found["seats"]] == [(2, 4)]
    assert [(row["plackett_luce"], row["gap_se"] is None) for row in found["rows"]] == [(None, False), (None, True)]


def test_a_ranking_is_stored_once_for_each_log(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=6)
    play(world, 1, 2)
    assert world.write(seasons_to_refit) == [season_id]
    assert world.write(refit, season_id)
    assert world.write(seasons_to_refit) == []
    assert not world.write(refit, season_id)
    play(world, 1, 1)
    assert world.write(seasons_to_refit) == []  # too early, because more will be played
    world.clock.turn(REFIT_SECONDS)
    assert world.write(seasons_to_refit) == [season_id]
    assert world.write(refit, season_id)
    board = world.read(leaderboard, season_id)
    assert board.snapshot_id == 2
    assert board.log_sha256 is not None
    assert board.config == RatingConfig().as_json()
    play(world, 2, 2)
    assert world.write(seasons_to_refit) == [season_id]  # at once, because nothing is left to play


def test_matches_that_both_spoiled_or_nobody_played_are_not_rated(world: World) -> None:
    season_id = world.season(2, series_length=4, games_per_pair=4)
    play(world, 1, (1, 2), "abandoned", (2,))
    assert world.write(refit, season_id)
    found = {row["version_id"]: row for row in world.ranking(season_id)}
    assert (found[1]["games"], found[1]["wins"], found[1]["timeouts"]) == (2, 2, 1)
    assert (found[2]["losses"], found[2]["timeouts"]) == (2, 2)
    assert (found[1]["finished"], found[2]["finished"]) == (3, 3), "faults are counted in unrated matches, too"
    assert standings(world, season_id)["totals"] == {
        "rated": 2,
        "matches": 3,
        "abandoned": 1,
        "voids": 5,
        "causes": {"host-unknown": 3, "referee-late": 2},
        "timeouts": 3,
        "other_faults": 0,
    }


def test_a_bot_is_listed_as_soon_as_it_enters_but_has_no_place_before_it_plays(world: World) -> None:
    season_id = world.season(1)
    assert world.write(seasons_to_refit) == [season_id]
    assert world.write(refit, season_id)
    (row,) = world.ranking(season_id)
    assert (row["elo"], row["games"], row["rank"], row["tied"]) == (1500, 0, None, False)
    assert (row["rank_low"], row["rank_high"], row["gap_se"]) == (None, None, None)


def test_a_bot_that_has_not_played_comes_last(world: World) -> None:
    """Bot 2 has lost all its games and is rated below bots 3 and 4, which have none and are rated 1500."""
    season_id = world.season(2, series_length=20, games_per_pair=20)
    play(world, *[1] * 20)
    world.entrant(season_id)
    world.entrant(season_id)
    assert world.write(refit, season_id)
    found = world.ranking(season_id)
    assert [(row["bot_id"], row["rank"]) for row in found] == [(1, 1), (2, 2), (3, None), (4, None)]
    assert found[1]["elo"] < found[2]["elo"] == 1500
    assert found[2]["se"] == pytest.approx(350)
    assert found[1]["rank_high"] == 2  # bots without games cannot push it down
    assert world.read(recount.recount, season_id).same and world.read(history.history, season_id, 2)
    assert world.read(history.history, season_id, 3) == []


def resubmit(world: World, season_id: int, *outcomes: int) -> None:
    """Let bot 2 join bot 1, play one series with these winners, and get a second version."""
    owner, bot_id = world.entrant(season_id)
    play(world, *outcomes)
    assert world.write(refit, season_id)
    world.version(owner, bot_id)
    assert world.write(refit, season_id)


def test_a_bot_is_one_row_by_its_active_version(world: World) -> None:
    season_id = world.season(1, series_length=2, games_per_pair=2)
    resubmit(world, season_id, 2, 2)
    found = standings(world, season_id)
    assert [(row["version_id"], row["rank"], row["games"], row["bot_games"]) for row in found["rows"]] == [
        (3, 1, 0, 2),
        (1, 2, 2, 2),
    ]
    (earlier,) = found["unranked"]
    assert (earlier["version_id"], earlier["games"], "rank" in earlier) == (2, 2, False)


def test_matches_that_share_their_dice_are_a_group_of_the_log(world: World) -> None:
    season_id = world.season(2, series_length=4, games_per_pair=4)
    play(world, 1, 2, 2, 1)
    with world.db.transaction() as session:
        first, second, *_ = session.exec(select(Match).order_by(col(Match.id))).all()
        second.seed, second.commitment = first.seed, first.commitment
    log = world.read(ranking.season_log, season_id)
    assert log.groups == (first.commitment,)
    (tables,) = log.tables
    assert sorted(tables.groups.repeat(tables.counts).tolist()) == [-1, -1, 0, 0]


@pytest.mark.parametrize("ranks", Ranks)
def test_tables_of_three_have_a_second_column_and_their_deals_are_groups(world: World, ranks: Ranks) -> None:
    """All rotations of a deal share a seed; the first seat wins every match."""
    season_id = world.season(4, game="liars-dice", seats=3, series_length=6, games_per_pair=12, ranks=ranks)
    assert world.play_all() > 12
    assert world.write(refit, season_id)
    found = standings(world, season_id)
    assert all(isinstance(row["plackett_luce"], float) for row in found["rows"])
    assert [effect["seats"] for effect in found["seats"]] == [3]
    assert found["seats"][0]["elo"][0] > 100
    first = found["rows"][0]
    assert first["wins"] + first["draws"] + first["losses"] == first["games"] * (2 if ranks is Ranks.PLACEMENT else 1)
    assert world.read(leaderboard, season_id).config["ranks"] == ranks.value
    assert world.read(recount.recount, season_id).same
    log = world.read(ranking.season_log, season_id)
    (tables,) = log.tables
    assert np.bincount(tables.groups, tables.counts).tolist() == [3] * (log.games // 3)


def test_a_season_that_continues_another_starts_from_its_ratings(world: World) -> None:
    first = world.season(2, series_length=40, games_per_pair=40)
    play(world, *[1] * 30, *[2] * 10)
    world.publish(first)
    before = {row["bot_id"]: row for row in world.ranking(first)}
    second = world.write(create_season, world.boss, name="the next", previous_id=first).id
    world.write(touch_log, second)
    assert world.write(refit, second)
    assert not world.write(refit, second), "nothing has changed since"
    after = {row["bot_id"]: row for row in world.ranking(second)}
    assert after.keys() == before.keys()
    for bot_id, row in after.items():
        assert row["elo"] == pytest.approx(before[bot_id]["elo"])
        assert row["prior_elo"] == before[bot_id]["elo"]
        assert row["se"] == pytest.approx((before[bot_id]["se"] ** 2 + RatingConfig().season_sd_elo ** 2) ** 0.5)


def test_a_season_without_a_ranking_has_an_empty_leaderboard(world: World) -> None:
    season_id = world.season(0)
    assert world.read(ranking.season_log, season_id).games == 0
    found = standings(world, season_id)
    assert (found["rows"], found["unranked"], found["totals"], found["pairs"]) == ([], [], None, None)


def test_an_unknown_season_has_no_leaderboard(world: World) -> None:
    for look in (leaderboard, newest_snapshot):
        with pytest.raises(errors.NotFound):
            world.read(look, 99)


def test_a_resubmission_starts_from_its_parents_rating_and_less_sure(world: World) -> None:
    season_id = world.season(1, series_length=50, games_per_pair=50)
    resubmit(world, season_id, *[2] * 30, *[1] * 20)
    found = standings(world, season_id)
    (new,) = (row for row in found["rows"] if row["version_id"] == 3)
    (parent,) = found["unranked"]
    assert (new["parent_id"], parent["parent_id"]) == (2, None)
    assert new["elo"] == pytest.approx(parent["elo"])
    assert new["se"] == pytest.approx((parent["se"] ** 2 + RatingConfig().version_sd_elo ** 2) ** 0.5, rel=0.02)
    assert (new["rank_low"], new["rank_high"]) == (1, 2)


def test_bots_with_equal_results_share_a_place(world: World) -> None:
    season_id = world.season(2, series_length=2, games_per_pair=2)
    play(world, 1, 2)
    assert world.write(refit, season_id)
    rows = world.ranking(season_id)
    assert [(row["rank"], row["tied"], row["rank_low"], row["rank_high"]) for row in rows] == [(1, True, 1, 2)] * 2


def test_the_log_of_a_season_is_that_of_its_lines(world: World) -> None:
    """The log's players are the ids of versions, and its ranks are in order of seat."""
    season_id = world.season(3, series_length=3, games_per_pair=3)
    world.play_all()
    log = world.read(ranking.season_log, season_id)
    seats: dict[int, list[tuple[str, int]]] = {}
    seated = select(Participant.match_id, Participant.version_id, Participant.rank).order_by(col(Participant.seat))
    for match_id, version_id, rank in world.rows(seated):
        seats.setdefault(match_id, []).append((str(version_id), rank or 0))
    lines = [json.dumps({"players": [p for p, _ in row], "ranks": [r for _, r in row]}) for row in seats.values()]
    assert (len(lines), read(line.encode() for line in lines).sha256) == (9, log.sha256)
