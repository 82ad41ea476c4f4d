"""Docs: the search for texts, bots and people, and the reference's own policy."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin

import pytest

from deadheat.api.pages.texts import docs
from deadheat.api.pages.texts.markdown import ABOUT
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


def test_a_search_finds_seasons_and_matches_by_number(played: Played) -> None:
    season, match = f"/seasons/{played.season}", f"/matches/{played.ids[0]}"
    for asked, found in (
        (f"{played.ids[0]}", match),
        (f"match {played.ids[0]}", match),
        (f"%23{played.season}", season),
    ):
        assert found in page(played.site, f"/search?q={asked}").links
    assert season not in page(played.site, f"/search?q=match {played.season}").links
    assert "Nothing matches." in page(played.site, "/search?q=season 77777").text


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


class Links(HTMLParser):
    """Gathers a page's ids, and the links to pages of the same site."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        link = found.get("href") or ""
        if tag == "a" and link.startswith(("/", "#")) and "download" not in found:
            self.links.append(link)


BY_SCRIPT = re.compile("move-[0-9]+")
"""Fragments that name no element: the viewer reads them."""

EACH = 3
"""How many pages of a kind, such as those of matches, are visited."""


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_link_leads_to_a_page_and_its_fragment_to_a_part_of_it(played: Played, language: str) -> None:
    played.site.world.write(refit, played.season)
    headers = {"Accept": "text/html", "Accept-Language": language}
    seen: dict[str, Links | None] = {}
    closed: set[str] = set()
    visited, wrong = Counter[str](), []
    waiting = [("", "/"), *(("", f"/about/{name}") for name in docs.TITLES)]
    while waiting:
        where, link = waiting.pop()
        address, _, fragment = urljoin(where, link).partition("#")
        kind = re.sub(r"\d+", "N", address)
        if address.startswith(("/language/", "/v1/")) or (address not in seen and visited[kind] == EACH):
            continue
        if address not in seen:
            visited[kind] += 1
            answer = played.site.client.get(address, headers=headers, follow_redirects=True)
            if answer.status_code != 200:
                wrong.append(f"{where}: {link}: {answer.status_code}")
            page = "text/html" in answer.headers["content-type"]
            closed |= {address} if answer.url.path == "/sign-in" else set()
            seen[address] = read = Links(answer.text) if page else None
            waiting += [(address, each) for each in read.links] if read else []
        if not fragment or address in closed or BY_SCRIPT.fullmatch(fragment):
            continue
        there = seen[address]
        if there is None or unquote(fragment) not in there.ids | {"top"}:
            wrong.append(f"{where}: {link}")
    assert wrong == []
    assert visited["/about/security"] and visited["/about/adding-a-game"] and visited["/about/architecture"]


NO_PAGE = re.compile("/bots|decisions/|examples|:")
"""Links to files that are no pages, and to other sites."""


@pytest.mark.parametrize("name", ABOUT)
def test_no_link_between_texts_is_cut(site: Site, name: str) -> None:
    """Only links to files that are no pages become plain text."""
    text = (docs.DOCS / f"{name}.md").read_text(encoding="utf-8")
    written = [link for link in re.findall(r"(?<!!)\]\(([^)\s]+)\)", text) if not NO_PAGE.search(link)]
    shown = re.search(r'<article class="text".*?</article>', site.client.get(f"/about/{name}").text, re.DOTALL)
    assert shown is not None
    found = Links(shown[0]).links
    assert len(found) == len(written)
    assert [link.partition("#")[2] for link in found] == [link.partition("#")[2] for link in written]
