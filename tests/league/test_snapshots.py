"""Which standings are kept, and in which pieces."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, col, select, update

from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.rankings import history, publishing, recount, standings
from deadheat.league.service.rankings.standings import leaderboard, stored_ranking
from deadheat.league.service.rankings.stored import PARTS, Rows, standings_in
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
    assert world.read(recount.recount, season_id).same
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
            for over in publishing.seasons_to_publish(session):
                publishing.publish(session, over)
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


names = st.text('}]{[", :\\rankbot_id1é\u2028', max_size=30) | st.sampled_from(
    ['}, {"rank": 1', '"}, {"rank": ', '}], "unranked": [', '"bot_id": 7, ', '\\"}, {\\"rank\\": ', '"}], "totals": ']
)
rows = st.builds(
    lambda *values: dict(zip(("rank", "bot_id", "bot", "team", "elo"), values, strict=True)),
    st.none() | st.integers(1, 9),
    st.integers(1, 9),
    names,
    st.none() | names,
    st.floats(allow_nan=False, allow_infinity=False),
)
times = st.dictionaries(
    st.integers(1, 99).map(str),
    st.fixed_dictionaries({"p99": st.none() | st.floats(0, 1), "bars": st.lists(st.integers(0, 9), max_size=3)}),
)


def whole(found: dict[str, Any]) -> dict[str, Any]:
    """Decode everything in a document that was cut into pieces."""
    rows = {name: found[name][:] for name in ("rows", "unranked")}
    times = found["latency"].of([{"version_id": number} for number in range(100)])
    return found | rows | {"latency": {str(number): one for number, one in times.items()}}


@given(st.lists(rows, max_size=4), st.lists(rows, max_size=4), times, st.booleans())
def test_the_pieces_are_those_of_the_whole(
    ranked: list[Any], unranked: list[Any], latency: dict[str, Any], compact: bool
) -> None:
    """Only a document in the league's own, compact form is cut without decoding all of it."""
    seats = [{"seats": 2, "elo": [1.5, -1.5]}]
    values = (ranked, unranked, {"rated": 3, "causes": {}}, None, seats, {"games": [[0]]}, [1], latency)
    standings = dict(zip(PARTS, values, strict=True))
    text = json.dumps(standings, separators=(",", ":"), sort_keys=True) if compact else json.dumps(standings)
    found = standings_in(text)
    assert whole(found) == standings
    lazy: Rows = found["rows"]
    assert [lazy[place] for place in range(len(lazy))] == [*lazy] == ranked
    assert [lazy[-place] for place in range(1, len(lazy) + 1)] == ranked[::-1]
    assert lazy.bots == [row["bot_id"] for row in ranked]
    assert lazy.ranked == sum(row["rank"] is not None for row in ranked)
    own, above, below = lazy.around(2)
    place = lazy.bots.index(2) if 2 in lazy.bots else None
    assert ([*above][::-1], own, [*below]) == (
        ([], None, []) if place is None else (ranked[:place], ranked[place], ranked[place + 1 :])
    )
    for chosen in (("rank",), ("bot", "team"), ("team", "elo"), ("elo", "rank")):  # the last two are not side by side
        cut = lazy.cut(*chosen)
        assert [[row[name] for name in chosen] for row in cut] == [[row[name] for name in chosen] for row in ranked]
    assert lazy.of({2, 3}) == [row for row in ranked if row["bot_id"] in (2, 3)]
    older = {name: value for name, value in standings.items() if name not in ("rules", "latency")}
    assert whole(standings_in(json.dumps(older))) == older | {"latency": {}}
    later = {name: value for name, value in standings.items() if name != "latency"} | {"new": [1], "latency": latency}
    assert whole(standings_in(json.dumps(later))) == standings


def test_a_ranking_is_stored_in_the_form_that_is_cut(world: World) -> None:
    """The parts and their order are those of `PARTS`, with or without a ranking."""
    for season_id in (world.season(0), world.ranked(3)):
        board = world.read(leaderboard, season_id)
        stored = world.read(stored_ranking, season_id, board.snapshot_id)
        assert whole(stored.standings) == board.standings
        assert (stored.log_sha256, stored.config, stored.final) == (board.log_sha256, board.config, board.final)
        assert [*board.standings] == [*PARTS]
        beside = ("bot", "author", "team", "part", "elo")
        assert all((*row,) == beside for row in stored.standings["rows"].cut(*beside))
