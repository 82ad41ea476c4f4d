"""Stages over HTTP, in a season's file, on the site and at the desk."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.views.forecasts import season_forecast
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import Contest, Season
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.clock import START
from tests.league.outcomes import lower_wins
from tests.league.world import World

STAGES = ["round-robin matches=2 keep=4 further=4", "knockout matches=2 further=2 third-place"]


@pytest.fixture
def staged(site: Site) -> int:
    """A season of five bots that is in the first stage of its finals."""
    world: World = site.world
    season_id = world.season(5, games_per_pair=2, finals=FinalsFormat.STAGES, stages=STAGES)
    world.play_all(lower_wins)
    world.settle_rankings()
    world.write(set_season_state, world.boss, season_id, SeasonState.FINALS)
    world.settle_rankings()
    return season_id


def test_stages_and_their_bracket_are_told_while_they_play_and_afterwards(site: Site, staged: int) -> None:
    world: World = site.world
    made = world.tick()
    first, second = site.ok(200, site.client.get(f"/v1/seasons/{staged}"))["stage_progress"]
    assert (first["state"], first["players"], first["left"], second["evaluation_id"]) == ("running", 5, 0, None)
    for series_id in made:
        job = world.claimed(series_id)
        assert world.finish(job, lower_wins)
    while site.ok(200, site.client.get(f"/v1/seasons/{staged}"))["stage_progress"][1]["state"] is None:
        for series_id in (made := world.tick()):
            if len(made) == 1:  # a further round of the first stage
                job = world.claimed(series_id)
                assert world.finish(job, lower_wins)
    first, second = site.ok(200, site.client.get(f"/v1/seasons/{staged}"))["stage_progress"]
    assert (first["state"], first["left"], len(first["first"]), second["state"]) == ("done", 4, 4, "running")
    bracket = site.ok(200, site.client.get(f"/v1/evaluations/{second['evaluation_id']}"))["bracket"]
    assert [(tie["round"], tie["slot"]) for tie in bracket] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert all(tie["winner"] is None for tie in bracket)
    assert "are being played." in site.client.get("/").text
    page = site.client.get(f"/contests/{second['evaluation_id']}").text
    assert "<svg" in page and "Semifinals" in page and "Third place" in page
    assert "data-live" in page
    shown = site.client.get(f"/seasons/{staged}").text
    assert f'href="/contests/{first["evaluation_id"]}"' in shown and "4 advance" in shown


def test_a_knock_out_of_tables_shows_its_rounds_from_the_first_table_to_the_last(site: Site) -> None:
    world: World = site.world
    about: dict[str, Any] = {"game": "liars-dice", "seats": 3, "series_length": 3, "games_per_pair": 3}
    stages = ["round-robin matches=3 keep=7", "knockout matches=3"]
    season_id = world.season(8, finals=FinalsFormat.STAGES, stages=stages, **about)
    world.play_all(lower_wins)
    world.settle_rankings()
    world.write(set_season_state, world.boss, season_id, SeasonState.FINALS)
    world.settle_rankings()
    made = world.tick()
    assert "round 8 of 8" in site.client.get("/contests/1").text
    assert world.read(season_forecast, world.boss, season_id).finals_matches == (16 + 3) * 3
    while len(world.rows(select(Contest))) == 1:
        world.play(made, lower_wins)
        made = world.tick()
    bracket = site.ok(200, site.client.get("/v1/evaluations/2"))["bracket"]
    seated = [(tie["round"], tie["slot"], len(tie["seats"])) for tie in bracket]
    assert seated == [(1, 1, 3), (1, 2, 3), (1, 3, 1), (2, 1, 0)]
    assert site.client.get("/contests/2").text.count("<rect") == 4
    world.play(made, lower_wins)
    world.play_all(lower_wins)
    told = site.ok(200, site.client.get("/v1/evaluations/2"))
    assert [tie["advancing"] for tie in told["bracket"]] == [[3], [2], [1], [1]]
    assert [row["version_id"] for row in told["standings"]][:3] == [1, 3, 2]
    page = site.client.get("/contests/2").text
    assert "Final" in page and "Semifinals" in page and "Third place" not in page and "share of the opponents" in page


def test_nobody_is_offered_to_cancel_a_stage(site: Site, boss: Browser, staged: int) -> None:
    site.world.tick()
    page = boss.get(f"/desk/seasons/{staged}").text
    assert "round 5 of 5" in page and "to end them, close the season" in page and "/cancel" not in page
    with site.world.db.transaction() as session:
        session.get_one(Contest, 1).rounds = 3
        session.get_one(Season, staged).closes_at = site.world.clock.now + timedelta(seconds=1)
    page = boss.get(f"/desk/seasons/{staged}").text
    assert "further round 2 at the cut" in page and "5 of 3" not in page
    warnings = site.world.read(season_forecast, site.world.boss, staged).warnings
    assert warnings
    assert not any("ladder" in warning for warning in warnings), "it is over"


def test_stages_are_a_table_once_the_finals_have_begun(site: Site) -> None:
    site.world.bot("rex", owner=site.world.boss)
    season_id = site.world.season(
        2, finals=FinalsFormat.STAGES, stages=STAGES, panel=["boss/rex"], panel_minimum=2, rest_faults=4
    )
    line = DeclaredEvaluation(name="Noon", format=EvaluationFormat.SWISS, rounds=3, at=[START + timedelta(days=1)])
    site.world.write(set_timetable, site.world.boss, season_id, [line])
    page = " ".join(site.client.get(f"/seasons/{season_id}").text.split())
    assert 'id="stages"' not in page
    for said in (
        "<dt>Stage 1 of the finals</dt><dd>round robin",
        "Each version first plays 2 matches against each of boss/rex. It needs 2 points to play for its bot.",
        "After 4 faults in its last 20 matches, a bot rests",
        "Noon: Swiss, 3 rounds",
        f'<a href="/seasons/{season_id}/contests">Contests</a>',
    ):
        assert said in page
    site.world.write(set_season_state, site.world.boss, season_id, SeasonState.FINALS)
    page = site.client.get(f"/seasons/{season_id}?page=9").text  # an address that is not cached
    assert 'id="stages"' in page and "<dt>Stage 1" not in page


def test_a_file_declares_stages_and_its_preview_shows_them(site: Site) -> None:
    lines = json.dumps(STAGES)
    text = f"""
    [season]
    name = "Contest"
    game = "yacht-auction"
    [dates]
    finals_at = 2027-08-11T09:00:00+09:00
    [finals]
    finals = "stages"
    stages = {lines}
    """
    body = {"document": text, "preview": True}
    told = site.ok(200, site.client.post("/v1/season-files", json=body, headers=site.organiser()))
    stages = [date for date in told["timetable"] if date["path"] == "finals.stages"]
    assert [date["label"].partition(":")[0] for date in stages] == ["Stage 1", "Stage 2"]
    assert stages[1]["otherwise"] == "when the one before is over"
    assert [date["at"] for date in stages] == ["2027-08-11T09:00:00+09:00", None]


def test_the_desk_declares_stages_and_refuses_what_cannot_be(site: Site, boss: Browser) -> None:
    season_id = site.world.season(0)
    form = f"/desk/seasons/{season_id}/settings"
    wrong = boss.submit(form, 422, at=f"/desk/seasons/{season_id}", finals="stages", stages="round-robin keep=2")
    assert "the last stage has a winner" in wrong.text
    boss.submit(form, finals="stages", stages="\r\n".join(STAGES))
    settings = site.ok(200, site.client.get(f"/v1/seasons/{season_id}"))
    assert (settings["finals"], settings["stages"]) == ("stages", STAGES)
