"""Pages in the reader's language: the browser's preference, or the reader's choice."""

from __future__ import annotations

import pytest

from deadheat.league.tables import Channel
from tests.api.browser import Browser
from tests.api.site import PASSWORD, Site

KOREAN = {"Accept-Language": "ko-KR,ko;q=0.9,en;q=0.8"}


def test_a_page_is_in_the_language_that_the_browser_asks_for(site: Site) -> None:
    korean = site.client.get("/games", headers=KOREAN)
    assert '<html lang="ko">' in korean.text and "순위표" not in korean.text and "게임" in korean.text
    assert korean.headers["content-language"] == "ko"
    english = site.client.get("/games")
    assert '<html lang="en">' in english.text and "게임" not in english.text


def test_a_page_kept_in_memory_is_kept_for_each_language(site: Site) -> None:
    made = [site.client.get("/", headers=headers) for headers in ({}, KOREAN, {}, KOREAN)]
    assert [page.headers["content-language"] for page in made] == ["en", "ko", "en", "ko"]
    assert made[0].content == made[2].content != made[1].content == made[3].content
    for page in made:
        assert {"accept-language", "cookie"} <= set(page.headers["vary"].lower().split(", "))
    english, korean = made[0].headers["etag"], made[1].headers["etag"]
    assert english != korean
    assert site.client.get("/", headers=KOREAN | {"If-None-Match": english}).status_code == 200
    assert site.client.get("/", headers=KOREAN | {"If-None-Match": korean}).status_code == 304


def test_a_choice_outweighs_the_browser_and_leads_back(site: Site) -> None:
    chosen = site.client.get("/language/en", headers=KOREAN | {"Referer": "http://league/games?a=b"})
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/games?a=b")
    assert '<html lang="en">' in site.client.get("/games", headers=KOREAN).text
    site.client.get("/language/ko")
    assert '<html lang="ko">' in site.client.get("/games").text
    unknown = site.client.get("/language/xx")
    assert unknown.status_code == 404 and "set-cookie" not in unknown.headers


@pytest.mark.parametrize("referer", ["", "https://elsewhere.example/games", "http://league/sign-out", "nonsense"])
def test_a_choice_leads_to_no_other_site_and_to_no_form(site: Site, referer: str) -> None:
    assert site.client.get("/language/ko", headers={"Referer": referer}).headers["location"] == "/"


def test_a_choice_holds_for_what_is_sent_too_unless_another_site_made_it(site: Site) -> None:
    browser = Browser(site).sign_up("ada")
    browser.submit(
        "/account/webhooks", at="/account/webhooks", status=200, url="https://hooks.example/a", password=PASSWORD
    )
    for referer, language in (("https://elsewhere.example/", "en"), ("http://league/games", "ko")):
        browser.client.get("/language/ko", headers={"Referer": referer})
        assert site.world.row(Channel, 1).language == language


def test_the_rules_are_in_the_readers_language_and_so_are_their_results(site: Site) -> None:
    assert 'id="rules-주고받는-줄"' in site.client.get("/games/yacht-auction", headers=KOREAN).text
    found = site.client.get("/search?q=시간 은행", headers=KOREAN).text
    assert "/games/betris-large#rules-시계" in found
    assert "/games/betris-large#rules-the-clock" in site.client.get("/search?q=a bank of 10 seconds").text


def test_the_api_is_english_and_the_same_for_all(site: Site) -> None:
    told = [site.client.get("/v1/bots/7", headers=headers) for headers in ({}, KOREAN)]
    assert told[0].json() == told[1].json() and "vary" not in told[1].headers
