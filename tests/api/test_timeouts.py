"""`/timeouts`, `/v1/timeouts` and `deadheat timeouts`: the same figures, and the matches behind each."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from deadheat.league.jobs import Latency
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.test_timeouts import late

AMISS = r'href="(/timeouts/matches\?[^"]*command=ROLL[^"]*over={}[^"]*)">(.*?)</a>'


@pytest.fixture
def season_id(site: Site) -> int:
    """Return a season of two matches, each with a time-out and an answer that was given back."""
    season_id = site.world.season(2, games_per_pair=2, series_length=2)
    world = site.world
    assert world.finish(world.claimed(), late, f"{world.host.name}:7")
    site.world.settle_rankings()
    return season_id


def test_a_page_and_its_json_count_the_same_and_lead_to_the_matches(site: Site, season_id: int) -> None:
    told = site.ok(200, site.client.get(f"/v1/timeouts?season={season_id}&over=hour"))
    (cell,) = (late for late in told["commands"] if late["over"] == "hour")
    assert (cell["prompts"], cell["timeouts"], cell["given_back"]) == (12, 2, 2) and len(cell["used"]) == 3
    assert [late["timeouts"] for late in told["bots"]] == [1, 1]
    for path in ("/timeouts", f"/seasons/{season_id}/timeouts?over=hour"):
        page = site.client.get(path)
        assert page.status_code == 200 and "2 of 12" in page.text and "Bots with the most timeouts" in page.text
        (found,) = re.findall(AMISS.format("hour"), page.text)
        assert found[1] == "17 %"
        listed = site.client.get(found[0].replace("&amp;", "&")).text
        assert {f'"/matches/{number}"' for number in (1, 2)} <= set(re.findall(r'"/matches/\d+"', listed))
        links = re.findall(r'href="(/timeouts/matches\?[^"]*late=[^"]*)"', page.text)
        assert links and all("/matches/1" in site.client.get(link.replace("&amp;", "&")).text for link in links[:2])
    found = site.ok(200, site.client.get(f"/v1/matches?season={season_id}&late=bot&command=ROLL"))["items"]
    assert [match["id"] for match in found] == [2, 1]
    assert site.client.get("/v1/matches?command=ROLL").status_code == 422
    assert site.client.get("/v1/timeouts?season=9999").status_code == 404


def test_an_empty_league_has_an_empty_page(site: Site) -> None:
    assert "No matches yet." in site.client.get("/timeouts").text
    assert site.client.get("/timeouts/matches").status_code == 200


def test_the_operators_page_begins_with_time_outs(boss: Browser, site: Site, season_id: int) -> None:
    page = boss.get("/operator")
    assert season_id and page.text.index("2 of 12") < page.text.index("judging slots")
    assert "timeouts, of 12 prompts in the last hour" in page.text


def test_a_list_says_whose_matches_it_has_by_name(site: Site, season_id: int) -> None:
    season = site.ok(200, site.client.get(f"/v1/seasons/{season_id}"))["name"]
    bot = site.ok(200, site.client.get(f"/v1/timeouts?season={season_id}"))["bots"][0]
    query = f"season={season_id}&bot={bot['bot_id']}"
    page = site.client.get(f"/timeouts/matches?{query}&over=hour").text
    assert f">{season} · {bot['author']}/{bot['bot']} · the last hour</p>" in page
    nothing = site.client.get("/timeouts/matches?season=9999&bot=9999&command=SCORE")
    assert nothing.status_code == 200 and "No match had a late answer." in nothing.text


def test_commands_without_late_answers_lead_nowhere_and_the_operators_page_leaves_them_out(
    boss: Browser, site: Site
) -> None:
    site.world.season(2, games_per_pair=2, series_length=2)
    score = Latency(0, "SCORE", 10**9, 3, 30, 10, {8: 3}, 0, 0)
    site.world.finish(
        site.world.claimed(), lambda match: replace(late(match), latencies=(*late(match).latencies, score))
    )
    page = site.client.get("/timeouts").text
    assert "<code>SCORE</code>" in page and "0 of 6" in page and "command=SCORE" not in page
    page = boss.get("/operator").text
    assert "ROLL" in page and "SCORE" not in page
    assert "others: none in the last day." in page and "Late answers, last hour" in page
    site.world.clock.turn(3 * 24 * 3600)
    page = boss.get("/operator").text
    assert "late answers in the last day." in page and "ROLL" not in page
