"""Evaluations over HTTP, on the site, at the desk and in the export."""

import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from deadheat.api.pages import contests as contest_page
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.beginning import set_timetable
from deadheat.league.service.views import contests as views
from deadheat.league.service.views.forecasts import season_forecast
from deadheat.league.states import ContestState, FinalsFormat, SeasonState
from deadheat.league.tables import Contest, Season
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.clock import START
from tests.league.outcomes import lower_wins, won
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
    assert "it waits for number 1" in page
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
    assert "Semifinals" in site.client.get(f"/seasons/{staged}/projector").text


def test_a_projector_shows_what_is_played_and_then_who_has_won(site: Site, staged: int) -> None:
    world: World = site.world
    world.tick()
    playing = site.client.get(f"/seasons/{staged}/projector").text
    assert "The first 4 advance." in playing and "live.js" in playing and playing.count("<table") == 2
    world.play_all(lower_wins)
    world.set_state(staged, SeasonState.CLOSED, force=True)
    world.settle_rankings()
    korean = {"Accept-Language": "ko"}  # not the page that is kept in memory
    over = site.client.get(f"/seasons/{staged}/projector", headers=korean).text
    assert "최종 순위" in over and "live.js" not in over and over.count("<table") == 1


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
    assert "<h1>Stage 2 <span" in page, "a stage has its own number, not one among the evaluations"


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
