"""Which standings are kept, and what is read from them."""

from datetime import timedelta

import pytest
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, col, select, update

from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.rankings import history, standings
from deadheat.league.service.rankings.standings import Rows, leaderboard, newest_snapshot
from deadheat.league.service.seasons.entries import entries
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import RatingSnapshot
from tests.league.clock import START
from tests.league.outcomes import won
from tests.league.world import World

DAY = timedelta(days=1)


def test_the_newest_the_last_of_each_hour_and_the_last_of_each_day_are_kept() -> None:
    at = START + 10 * DAY  # noon
    rankings = [(number, at - timedelta(minutes=10) * (2000 - number)) for number in range(1, 2001)]
    found = standings.kept(rankings, at, 10)
    newest = set(range(1991, 2001))
    hours = {number for number, made in rankings if at - made < DAY and made.minute == 50}
    assert found == newest | hours | {number for number, made in rankings if (made.hour, made.minute) == (23, 50)}
    assert len(hours) == 24


def test_what_was_kept_once_is_all_that_is_needed_later() -> None:
    """Thinning at every step leaves the same rankings as thinning once at the end."""
    rankings = [(number, START + timedelta(minutes=7) * number) for number in range(600)]
    left: list[tuple[int, object]] = []
    for number, made in rankings:
        left.append((number, made))
        keep = standings.kept(left, made, 5)  # type: ignore[arg-type]
        left = [one for one in left if one[0] in keep]
    assert {number for number, _ in left} == standings.kept(rankings, rankings[-1][1], 5)


def stored(session: Session, season_id: int) -> list[RatingSnapshot]:
    statement = select(RatingSnapshot).where(RatingSnapshot.season_id == season_id)
    return list(session.exec(statement.order_by(col(RatingSnapshot.id))))


def test_a_season_that_is_ranked_often_keeps_few_standings_and_every_hash(world: World, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.league.service.rankings.standings.WHOLE", 3)
    season_id = world.season(2, series_length=1, games_per_pair=40, finals=FinalsFormat.ROUND_ROBIN)
    names = {entry.bot_id for entry in world.read(entries, season_id)}
    for number, series_id in enumerate(world.tick() + world.tick()):
        job = world.claimed(series_id)
        assert world.finish(job, [won(match, number % 2) for match in job.matches])
        world.clock.turn(60)
        assert world.write(standings.refit, season_id)
    rankings = world.read(stored, season_id)
    assert (len(rankings), [ranking.whole for ranking in rankings]) == (16, [False] * 13 + [True] * 3)
    assert all(ranking.standings == {} for ranking in rankings[:13])
    assert all(ranking.standings["rows"] for ranking in rankings[13:])
    assert len({ranking.log_sha256 for ranking in rankings}) == 16
    assert all(ranking.config["method"] for ranking in rankings)
    for bot_id in names:
        assert len(world.read(history.history, season_id, bot_id)) == 16
    assert world.read(standings.recount, season_id).same
    assert len(world.ranking(season_id)) == 2


def test_published_standings_and_those_that_chose_the_finalists_are_kept_for_ever(world: World, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.league.service.rankings.standings.WHOLE", 1)
    season_id = world.season(2, finals=FinalsFormat.ROUND_ROBIN, finals_extra_games=16, finals_games=2)
    world.play_all()
    world.set_state(season_id, SeasonState.FINALS)
    for _ in range(12):
        world.clock.turn(5)
        with world.db.transaction() as session:
            standings.refit(session, season_id)
            for over in standings.seasons_to_publish(session):
                standings.publish(session, over)
        world.play_all()
    rankings = world.read(stored, season_id)
    chosen = world.read(audit_log, subject=f"season/{season_id}", limit=50)
    (finalists,) = [entry.data for entry in chosen if entry.action == "finalists"]
    assert len(rankings) > 5
    assert rankings[-1].final
    assert f'"ranking":{rankings[0].id}' in finalists
    assert rankings[0].whole
    assert sum(ranking.whole for ranking in rankings) <= 3
    with pytest.raises(DBAPIError), world.db.transaction() as session:
        session.exec(update(RatingSnapshot).where(col(RatingSnapshot.final).is_(True)).values(whole=False))


def test_rows_are_found_by_their_bots() -> None:
    rows = Rows({"bot_id": bot_id, "rank": rank} for bot_id, rank in ((3, 1), (1, 2), (2, None)))
    assert rows.around(1) == (rows[1], [rows[0]], [rows[2]]) and rows.around(4) == (None, [], [])
    assert (rows.of({2, 3}), rows.ranked) == ([rows[0], rows[2]], 2)


def test_what_an_older_ranking_lacks_is_empty(world: World) -> None:
    season_id = world.ranked(3)
    with world.db.transaction() as session:
        snapshot = session.get_one(RatingSnapshot, newest_snapshot(session, season_id))
        snapshot.standings = {name: part for name, part in snapshot.standings.items() if name != "latency"}
    board = world.read(leaderboard, season_id)
    assert board.standings["latency"].of(board.standings["rows"]) == {}
