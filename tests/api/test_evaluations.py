"""Evaluations over HTTP, on the site, at the desk and for both clients' command."""

from __future__ import annotations

import pytest

from tests.api.site import Site
from tests.league.world import World


@pytest.fixture
def played(site: Site) -> int:
    """A season of three bots with an evaluation of two Swiss rounds that is over."""
    world: World = site.world
    season_id = world.season(3, games_per_pair=2)
    world.play_all()
    begun = site.client.post(
        f"/v1/seasons/{season_id}/evaluations", json={"format": "swiss", "rounds": 2}, headers=site.organiser()
    )
    site.ok(201, begun)
    world.play_all()
    return season_id


def test_its_standings_and_rounds_are_told(site: Site, played: int) -> None:
    (listed,) = site.ok(200, site.client.get(f"/v1/seasons/{played}/evaluations"))["items"]
    assert (listed["state"], listed["round"], listed["players"], listed["rated"]) == ("done", 2, 3, False)
    told = site.ok(200, site.client.get(f"/v1/evaluations/{listed['id']}"))
    assert [row["place"] for row in told["standings"]] == [1, 2, 3]
    assert told["standings"][0]["sonneborn_berger"] is None
    (pair, bye) = site.ok(200, site.client.get(f"/v1/evaluations/{listed['id']}/rounds/1"))["items"]
    assert pair["settled"]
    assert len(pair["match_ids"]) == 2
    assert bye["second"] is None
    assert site.ok(200, site.client.get(f"/v1/evaluations/{listed['id']}/rounds/3"))["items"] == []
    page = site.client.get(f"/evaluations/{listed['id']}?round=1").text
    assert f'href="/matches/{pair["match_ids"][0]}"' in page
    assert "bye" in page
    assert f'href="/evaluations/{listed["id"]}"' in site.client.get(f"/seasons/{played}/evaluations").text
    assert f'href="/seasons/{played}/evaluations"' in site.client.get(f"/seasons/{played}").text


def test_one_that_cannot_be_is_refused_and_one_that_is_over_is_not_cancelled(site: Site, played: int) -> None:
    path = f"/v1/seasons/{played}/evaluations"
    site.problem(422, site.client.post(path, json={"format": "swiss"}, headers=site.organiser()), "bad-setting")
    begun = site.ok(201, site.client.post(path, json={"format": "round-robin"}, headers=site.organiser()))
    site.problem(409, site.client.post(path, json={"format": "round-robin"}, headers=site.organiser()), "wrong-state")
    cancelled = site.client.post(f"/v1/evaluations/{begun['id']}/cancel", headers=site.organiser())
    assert site.ok(200, cancelled)["state"] == "cancelled"
    again = site.client.post(f"/v1/evaluations/{begun['id']}/cancel", headers=site.organiser())
    site.problem(409, again, "wrong-state")
    site.problem(404, site.client.get("/v1/evaluations/999"), "not-found")
