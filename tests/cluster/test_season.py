"""A season on eight machines, from the uploads to the published standings, in real containers."""

import pytest

from tests.cluster.chaos import BOTS
from tests.cluster.cluster import Cluster
from tests.cluster.leftovers import leftovers
from tests.cluster.servers import until
from tests.invariants import given_up, unfinished

pytestmark = pytest.mark.containers

GAMES, SERIES = 60, 2  # so many short series that no machine can miss all of them


def test_three_machines_play_a_season_and_every_invariant_holds(cluster: Cluster, bots: list[tuple[str, int]]) -> None:
    began_at = cluster.now()
    season_id = cluster.season(bots, games_per_pair=GAMES, series_length=SERIES)
    wanted = GAMES * BOTS * (BOTS - 1) // 2
    with cluster.api(name="api2") as client:
        cluster.until("every match is done", lambda: client.season(season_id).progress.done == wanted, 180)
    cluster.close(season_id)

    assert cluster.broken() == []
    with cluster.database.reading() as session:
        assert unfinished(session) == [] and given_up(session) == []
    finished = cluster.finished_by(began_at)
    assert sum(finished.values()) == wanted / SERIES
    assert all(finished.values()), f"one of the machines played nothing: {finished}"
    with cluster.api() as one, cluster.api(name="api2") as other:
        board = one.leaderboard(season_id)
        assert board == other.leaderboard(season_id)
        assert sum(row.games for row in board.rows) == 2 * wanted
        assert all(one.transcript(match.id) for match in one.matches(season=season_id, limit=3))
    until("nothing is left of the matches", lambda: leftovers(cluster) == [])
