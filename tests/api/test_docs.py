"""Docs: the search for texts, bots and people, and the reference's own policy."""

from __future__ import annotations

import pytest

from deadheat.api.pages.texts import docs
from deadheat.league.service.rankings.standings import refit
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.api.test_pages import page


def test_a_search_finds_pages_bots_and_people(site: Site) -> None:
    site.world.bot("timely", owner=site.world.author("timothy"))
    assert {"/bots/1", "/authors/timothy"} <= set(page(site, "/search?q=TIM").links)
    assert any(link.startswith("/about/authors#") for link in page(site, "/search?q=timeout").links)


def test_a_search_leads_to_headings_that_are_there_and_whose_words_come_first(site: Site) -> None:
    hits = docs.matching("limit")[:5]
    assert hits
    for hit in hits:
        path, _, name = hit.section.address.partition("#")
        assert f'id="{name}"' in site.client.get(path).text
    assert "verdict" in docs.matching("verdicts")[0].section.heading.casefold()


@pytest.mark.parametrize("asked", ["qqxyzzy", "<script>alert(1)</script>"])
def test_a_search_without_results_says_so(site: Site, asked: str) -> None:
    found = site.client.get("/search", params={"q": asked})
    assert "Nothing matches." in found.text and "<script>alert" not in found.text


def test_a_percent_sign_finds_no_other_names(site: Site) -> None:
    site.world.bot()
    assert "/bots/1" not in page(site, "/search?q=%25").links


def test_the_reference_is_served_by_ourselves(site: Site) -> None:
    policy = site.client.get("/docs/api").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert site.client.get("/static/reference/swagger-ui-bundle.js").status_code == 200
    assert site.client.get("/docs").headers["content-security-policy"] != policy


def test_the_old_address_of_the_statistics_leads_to_them(site: Site) -> None:
    answer = site.client.get("/seasons/7/matrix")
    assert (answer.status_code, answer.headers["location"]) == (308, "/seasons/7/statistics")


def test_home_shows_no_match_whose_transcript_is_not_stored(site: Site) -> None:
    season = site.world.season(2)
    site.world.play_all()
    site.world.write(refit, season)
    assert "data-document" not in site.client.get("/").text


def test_home_shows_a_match_that_can_be_played(played: Played) -> None:
    played.site.world.write(refit, played.season)
    assert f'data-document="/v1/matches/{played.ids[0]}/replay' in played.site.client.get("/").text
