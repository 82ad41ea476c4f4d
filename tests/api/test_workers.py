"""What organisers and authors are told about the machines, the languages on them, and late answers."""

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from deadheat.league.jobs import Host, Latency
from deadheat.league.service.bots.bots import record_environment
from deadheat.league.service.rulings.closing import ensure_organiser
from deadheat.league.service.series.hosts import host_arrives, host_seen, record_check
from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import Image
from deadheat.sandbox.languages import LANGUAGES
from deadheat.workers.environment import _building, _language, _running
from tests.api.browser import Browser
from tests.api.site import Site
from tests.api.test_operation import metric
from tests.api.test_pages import page
from tests.conftest import JUDGE_IMAGE
from tests.league.test_timeouts import late

REMARK = {"level": "remark", "text": "This host swaps.", "mend": "swapoff --all"}
NOISY = {"findings": [REMARK, {"level": "good", "text": "Time passes.", "mend": ""}]}
SECOND = Host("second", "boot")


def workers(site: Site) -> dict[str, dict[str, Any]]:
    found = site.ok(200, site.client.get("/v1/workers", headers=organiser(site)))
    return {worker["name"]: worker for worker in found["items"]}


def organiser(site: Site) -> dict[str, str]:
    return {"Authorization": f"Bearer {site.world.write(ensure_organiser, 'boss')}"}


def test_an_organiser_sees_who_is_there_and_why_somebody_may_not_judge(site: Site) -> None:
    site.world.write(host_arrives, SECOND, "deadheat/judge:core")
    site.world.write(record_check, SECOND, NOISY, ["No clock."], 60)
    site.world.write(host_seen, SECOND, 0.25)
    found = workers(site)
    assert found["machine"]["judges"] and found["machine"]["reasons"] == []
    second = found["second"]
    assert (found["machine"]["number"], second["number"]) == (1, 2)
    assert (second["fitness"], second["judges"]) == ("unfit", False)
    assert second["reasons"] == ["No clock."] and second["remarks"] == ["This host swaps."]
    assert second["steal_share"] == 0.25 and second["report"] == NOISY
    site.world.clock.turn(site.world.settings.lease_seconds + 1)  # only the first one's keeper is still there
    assert [worker["judges"] for worker in workers(site).values()] == [True, False]


def test_fitness_is_measured_by_machine(site: Site) -> None:
    assert metric(site, 'deadheat_host_fit{host="machine"}') == 1
    assert metric(site, 'deadheat_host_judges{host="machine"}') == 1
    site.world.write(record_check, site.world.host, {}, ["Too much noise."], 60)
    site.world.write(host_seen, site.world.host, 0.125)
    assert metric(site, 'deadheat_host_fit{host="machine"}') == 0
    assert metric(site, 'deadheat_host_judges{host="machine"}') == 0
    assert metric(site, 'deadheat_host_steal_ratio{host="machine"}') == 0.125
    assert metric(site, 'deadheat_host_seen_timestamp_seconds{host="machine"}') == site.world.clock.now.timestamp()


IMAGE = Image(JUDGE_IMAGE, "sha256:" + "1" * 64, "2" * 64, "2026-11-20T16:34:01.001435662Z", 383_091_345)
CORE = {
    "image": asdict(IMAGE),
    "cpu": "A Processor",
    "languages": [_language(LANGUAGES[name], f"{name} 1.2.3") for name in ("python", "c", "cpp")],
    "missing": ["Java", "Rust"],
    "running": _running(Limits()),
    "building": _building(),
}


def describe(site: Site, found: Mapping[str, Any] = CORE) -> None:
    site.world.write(record_environment, "f1", IMAGE.name, found, "w1")


def test_before_any_worker_has_looked_that_is_what_is_said(site: Site) -> None:
    site.problem(404, site.client.get("/v1/environment"), "not-found")
    assert f"No worker has described the image {JUDGE_IMAGE} yet" in page(site, "/environment").text


def test_languages_commands_and_limits_are_told(site: Site) -> None:
    describe(site)
    found = site.ok(200, site.client.get("/v1/environment"))
    assert [language["name"] for language in found["languages"]] == ["python", "c", "cpp"]
    assert found["languages"][1]["build"] == LANGUAGES["c"].build and found["missing"] == ["Java", "Rust"]
    assert found["running"]["memory_bytes"] == Limits().memory_bytes and found["building"]["seconds"] == 60
    assert found["uploads"]["unpacked_files"] == 2000 and found["described_at"].startswith("2026-")


def test_the_page_says_the_same(site: Site) -> None:
    describe(site)
    text = " ".join(page(site, "/environment").text.split())
    for said in (
        "cpp 1.2.3",
        LANGUAGES["cpp"].build,
        "lacks Java, Rust;",
        "512 MiB, /tmp included",
        "A Processor",
        "60 s",
    ):
        assert said in text
    assert "/environment" in page(site, "/").links


def test_a_games_page_offers_only_programs_that_this_server_takes(site: Site) -> None:
    describe(site)
    text = " ".join(page(site, "/games/yacht-auction").text.split())
    assert "random Python 3 starter C The smallest bot, in each language. hello-c C hello-cpp C++ 20" in text
    assert "learn from. counter C expert Python 3 greedy Python 3" in text
    assert "hello-java" not in text


def test_an_upload_in_a_language_that_is_not_there_is_refused(site: Site) -> None:
    author = site.author()
    bot = site.bot(author)
    site.ok(202, site.upload(author, bot, b"class Main {}", "Bot.java"))  # unknown so far; the build will show
    describe(site)
    refused = site.problem(422, site.upload(author, bot, b"class Main {}", "Bot.java"), "bad-upload")
    assert "no Java" in refused["detail"]
    site.ok(202, site.upload(author, bot, b"print()", "bot.py"))


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
