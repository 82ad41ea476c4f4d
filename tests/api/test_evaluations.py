"""Evaluations over HTTP, on the site, at the desk and in the export."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from deadheat.api.pages import contests as contest_page
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.views import contests as views
from deadheat.league.states import ContestState
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.clock import START
from tests.league.outcomes import won
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
    assert pair["settled"] and len(pair["match_ids"]) == 2
    assert bye["second"] is None
    assert site.ok(200, site.client.get(f"/v1/evaluations/{listed['id']}/rounds/3"))["items"] == []
    page = site.client.get(f"/contests/{listed['id']}?round=1").text
    assert f'href="/matches/{pair["match_ids"][0]}"' in page and "bye" in page
    assert f'href="/contests/{listed["id"]}"' in site.client.get(f"/seasons/{played}/contests").text
    assert f'href="/seasons/{played}/contests"' in site.client.get(f"/seasons/{played}").text


def test_the_course_of_a_persons_and_a_teams_bots_through_evaluations_is_drawn(site: Site, played: int) -> None:
    world = site.world
    author = site.ok(200, site.client.get("/v1/bots/1"))["author"]
    path = f"/authors/{author}"
    first = site.client.get(path.upper().replace("AUTHORS", "authors")).text  # pages are cached by address
    assert "Places in the" not in first, "one evaluation is no course"
    site.ok(
        201,
        site.client.post(f"/v1/seasons/{played}/evaluations", json={"format": "round-robin"}, headers=site.organiser()),
    )
    world.play_all()
    numbers = {one["number"] for one in site.client.get(f"/v1/seasons/{played}/evaluations").json()["items"]}
    assert numbers == {1, 2}
    page = site.client.get(path).text
    assert f'<a href="/seasons/{played}/contests">' in page and page.count("<polyline") == 1


def test_a_visitor_finds_a_team_and_all_its_boards_on_a_page_of_few(site: Site, played: int, monkeypatch) -> None:
    monkeypatch.setattr(contest_page, "ROWS_OF_ONE", 1)
    path = "/contests/1"
    listed = site.ok(200, site.client.get(f"/v1{path}"))["standings"]
    assert site.client.get(f"{path}?round=1").text.count('<td class="players">') == 1
    assert "bye" in site.client.get(f"{path}?boards=2&round=1").text
    monkeypatch.undo()
    found = site.client.get(f"{path}?q={listed[0]['bot'].upper()}").text
    assert f">{listed[0]['bot']}</a>" in found and found.count('<td class="players">') == 2, "one board of each round"
    assert found.count('<th scope="row">') == 1
    assert site.client.get(f"{path}?q=nobody").text.count('<td class="players">') == 0


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


def test_an_organiser_begins_and_cancels_one_at_the_desk(site: Site, boss: Browser) -> None:
    season_id = site.world.season(2)
    form = f"/desk/seasons/{season_id}/contests"
    boss.submit(form, 422, at=f"/desk/seasons/{season_id}", format="swiss", rounds="")
    assert "a Swiss needs rounds" in boss.page.text
    boss.submit(form, format="swiss", rounds="1", matches="2")
    assert boss.answer.url.path == "/contests/1"
    site.world.tick()
    boss.submit("/contests/1/cancel", at=f"/desk/seasons/{season_id}")
    assert site.ok(200, site.client.get("/v1/evaluations/1"))["state"] == "cancelled"
    boss.submit("/contests/1/resume", at=f"/desk/seasons/{season_id}")
    assert site.ok(200, site.client.get("/v1/evaluations/1"))["state"] == "running"
    boss.submit("/contests/1/cancel", at=f"/desk/seasons/{season_id}")


def test_the_list_says_what_comes_next(site: Site) -> None:
    season_id = site.world.season(0)
    line = DeclaredEvaluation(name="Noon", format=EvaluationFormat.SWISS, rounds=3, at=[START + timedelta(days=1)])
    assert "Next" not in site.client.get(f"/seasons/{season_id}/contests").text
    site.world.write(set_timetable, site.world.boss, season_id, [line])
    page = site.client.get(f"/seasons/{season_id}/contests?before=9").text  # an address that is not cached
    assert "Noon: Swiss, 3 rounds, 2 matches per meeting" in page
    assert "next evaluation" in site.client.get(f"/seasons/{season_id}").text


def test_a_late_one_says_since_when_it_waits_and_how_late_it_began(site: Site) -> None:
    world, season_id = site.world, site.world.season(2, ladder_during_evaluations=False)
    first, second = START + timedelta(hours=1), START + timedelta(hours=2)
    line = DeclaredEvaluation(name="Hourly", format=EvaluationFormat.ROUND_ROBIN, at=[first, second])
    world.write(set_timetable, world.boss, season_id, [line])
    world.clock.turn((first - world.clock.now).total_seconds())
    (series,) = world.tick()
    assert "was due" not in site.client.get(f"/seasons/{season_id}/contests?before=8").text
    world.clock.turn((second - first).total_seconds() + 600)
    page = site.client.get(f"/seasons/{season_id}/contests?before=9").text  # an address that is not cached
    assert f'One was due <time datetime="{second:%Y-%m-%dT%H:%M:%SZ}">' in page
    assert "and has not begun: it waits for number 1." in page
    assert world.finish(world.claimed(series))
    world.tick()  # settles it,
    world.tick()  # and begins the next one
    assert "began 10 minutes late" in site.client.get("/contests/2").text
    assert "late" not in site.client.get("/contests/1").text


@pytest.mark.parametrize(("format_", "rounds"), [("swiss", 3), ("round-robin", None)])
def test_standings_that_are_kept_are_those_that_would_be_computed(site: Site, format_: str, rounds: int | None) -> None:
    world, chance = site.world, random.Random(7)
    season_id = world.season(5, ladder_during_evaluations=False)
    body = {"format": format_, "rounds": rounds}
    site.ok(201, site.client.post(f"/v1/seasons/{season_id}/evaluations", json=body, headers=site.organiser()))
    keep, made = site.app.state.services.boards.newest_part, Counter[str]()

    def counting(key: Any, version: object, make: Callable[[], Any]) -> Any:
        def counted() -> Any:
            made[key[0]] += 1
            return make()

        return keep(key, version, counted)

    waiting, seen = world.tick(), 0
    while waiting and world.read(views.contest, 1).state is ContestState.RUNNING:
        job = world.claimed(waiting.pop(0))
        world.finish(job, [won(match, chance.randrange(2)) for match in job.matches])
        waiting += world.tick()
        assert world.read(views.contest, 1, keep=counting) == world.read(views.contest, 1, keep=counting)
        assert world.read(views.contest, 1, keep=counting) == world.read(views.contest, 1)
        seen += 1
    assert 4 < made["standings"] <= seen
    assert made["met"] <= (rounds or 1) and made.keys() == {"standings", "met"}
