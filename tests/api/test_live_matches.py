"""The API's account of a match in progress."""

import pytest

from deadheat.api.services import FRESH_SECONDS
from deadheat.engine.core import Reply
from deadheat.engine.games import variants
from deadheat.league.jobs import SeriesJob
from deadheat.league.service.series import live
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.outcomes import void

READY = {0: Reply("OK", 5), 1: Reply("OK", 6)}


def running(site: Site) -> SeriesJob:
    site.world.season()
    return site.world.claimed(site.world.tick()[0])


def a_second_passes(site: Site) -> None:
    bodies = site.app.state.services.bodies
    later = bodies._seconds() + FRESH_SECONDS + 1
    bodies._seconds = lambda: later


def show(site: Site, job: SeriesJob, *replies: dict[int, Reply]) -> None:
    assert site.world.write(live.show, job, job.matches[0].match_id, replies)
    a_second_passes(site)


def test_a_running_match_is_told_from_its_first_second_to_its_end(site: Site) -> None:
    job = running(site)
    path = f"/v1/matches/{job.matches[0].match_id}/live"
    nothing = site.ok(200, site.client.get(path))
    assert nothing["match"] is None and not nothing["ends"]
    show(site, job, READY)
    answer = site.client.get(path)
    found = site.ok(200, answer)
    assert found["told"].startswith("Being played now")
    assert (found["match"]["game"], found["match"]["ranks"]) == ("yacht-auction", None)
    assert [scene["round"] for scene in found["match"]["scenes"]] == [1]
    assert found["match"]["scenes"][0]["state"]["bids"] is None, "nobody has bid, so the second round is not rolled"
    assert job.matches[0].seed.hex() not in answer.text.lower()
    assert site.client.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    show(site, job, READY, {0: Reply("BID A 1", 7), 1: Reply("BID B 2", 8)})
    more = site.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert len(site.ok(200, more)["match"]["scenes"]) == 3
    assert site.world.finish(job, [void(job.matches[0])])
    second = site.world.claim(job.series_id)
    assert second is not None
    show(site, second, READY)
    assert "which costs no bot anything" in site.ok(200, site.client.get(path))["told"]
    assert site.world.finish(second)
    a_second_passes(site)
    ended = site.ok(200, site.client.get(path))
    assert ended["ends"] and ended["match"] is None


def test_however_many_watch_from_one_address_nothing_is_worked_out_again(site: Site) -> None:
    path = f"/v1/matches/{running(site).matches[0].match_id}/live"
    a_second_passes(site)
    first = site.client.get(path)
    site.app.state.services.rates.read = lambda _: 1 / 0  # requests answered from memory are not counted
    assert site.client.get(path).content == first.content


def test_what_the_viewer_draws_is_told_in_the_language_that_its_address_names(site: Site) -> None:
    job = running(site)
    show(site, job, READY)
    path = f"/v1/matches/{job.matches[0].match_id}/live"
    english, korean, other = [site.client.get(path + ask) for ask in ("", "?language=ko", "?language=xx")]
    assert english.content == other.content and english.headers["etag"] == other.headers["etag"]
    assert korean.headers["etag"] != english.headers["etag"]
    assert [one.json()["match"]["scenes"][0]["words"][:2] for one in (english, korean)] == ["Bu", "묶음"]
    page = site.client.get(f"/matches/{job.matches[0].match_id}", headers={"Accept-Language": "ko"})
    assert f"{path}?language=ko" in page.text


def test_the_match_page_says_what_is_going_on(site: Site) -> None:
    job = running(site)
    browser = Browser(site)
    path = f"/matches/{job.matches[0].match_id}"
    assert "series is being played now" in browser.get(path).text
    show(site, job, READY)
    page = browser.get(path)
    assert "Being played now" in page.text and "Bundle A is" in page.text
    assert "running" in page.text and "scheduled" not in page.text
    assert "watch live" in browser.get("/").text


def test_a_match_of_a_game_that_is_no_longer_installed_is_told_without_its_scenes(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = running(site)
    path = f"/matches/{job.matches[0].match_id}"
    monkeypatch.setattr(variants, "GAMES", {})
    assert "series is being played now" in Browser(site).get(path).text
    found = site.ok(200, site.client.get(f"/v1{path}/live"))
    assert not found["ends"] and found["match"] is None
    assert site.world.finish(job)
    a_second_passes(site)
    found = site.ok(200, site.client.get(f"/v1{path}/live"))
    assert (found["told"], found["ends"], found["match"]) == ("It is over.", True, None)
