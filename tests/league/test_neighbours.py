"""The matches before and after a match are its neighbours in lists."""

from __future__ import annotations

from typing import Any

import pytest

from deadheat.league.service.views import matches, neighbours
from deadheat.league.service.views.neighbours import Neighbours
from deadheat.league.states import Asked, MatchState
from deadheat.league.tables import Match
from tests.league.world import World


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
    return {item.of: item for item in world.read(neighbours.neighbours, world.read(matches.match_detail, match_id))}


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


def test_a_match_that_is_not_over_has_those_of_its_series_alone(world: World) -> None:
    world.season(2)
    assert [*around(world, world.claimed(world.tick()[0]).matches[0].match_id)] == ["of the series"]


def test_nobody_is_led_to_a_private_match(played: World) -> None:
    newest = [one.id for one in played.read(matches.matches, state=MatchState.DONE, bot_id=1, limit=50)]
    played.change(Match, newest[1], asked=Asked.PRIVATE, rated=False)
    (name,) = [seat.bot for seat in played.read(matches.match_detail, newest[0]).seats if seat.bot_id == 1]
    found = around(played, newest[0])[f"of {name}"]
    assert (found.before, found.after) == (newest[2], None)


def test_the_search_for_neighbours_is_bounded(played: World, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = played.read(matches.matches, state=MatchState.DONE, limit=50)[0]
    assert around(played, newest.id)["of both"].before is not None
    monkeypatch.setattr(neighbours, "WINDOW", 0)
    assert [*around(played, newest.id)] in (["of the series"], [])
