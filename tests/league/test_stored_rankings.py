"""Stored rankings are read in pieces, which agree with the whole document."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.service.rankings.standings import leaderboard, stored_ranking
from deadheat.league.service.rankings.stored import PARTS, Rows, standings_in
from tests.league.world import World

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
