"""Documentation, searches and home, and how answers are sent: in the reader's language and packed."""

import base64
import gzip
import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest

from deadheat.api.pages.game import NAME
from deadheat.api.pages.texts.markdown import MERGED, MOVED, PAGES, PICTURES, neighbours, source
from deadheat.api.pages.texts.search import matching
from deadheat.engine.games.folder import folders, web_address
from deadheat.league.service.bots.bots import record_environment
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.tables import Channel
from tests.api.browser import Browser
from tests.api.site import PASSWORD, Site
from tests.api.test_matches import Played
from tests.api.test_pages import page
from tests.league.people import GAME


def test_a_search_finds_pages_bots_and_people(site: Site) -> None:
    site.world.bot("timely", owner=site.world.author("timothy"))
    assert {"/bots/1", "/authors/timothy"} <= set(page(site, "/search?q=TIM").links)
    assert any(link.startswith("/docs/reference/verdicts#") for link in page(site, "/search?q=timeout").links)


def test_a_search_leads_to_headings_that_are_there_and_whose_words_come_first(site: Site) -> None:
    hits = matching("limit")[:5]
    assert hits
    for hit in hits:
        path, _, name = hit.section.address.partition("#")
        assert f'id="{name}"' in site.client.get(path).text
    assert "verdict" in matching("verdicts")[0].section.heading.casefold()


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


def test_a_search_finds_seasons_by_name(site: Site) -> None:
    season = site.world.write(create_season, site.world.boss, game=GAME, name="Winter of the Yacht").id
    for asked, there in (("winter", True), ("the YACHT", True), ("summer", False)):
        assert (f"/seasons/{season}" in page(site, f"/search?q={asked}").links) is there


@pytest.mark.parametrize("asked", ["Timeout", "timothy/timeout"])
def test_a_bot_named_exactly_comes_before_pages(site: Site, asked: str) -> None:
    site.world.bot("timeout", owner=site.world.author("timothy"))
    site.world.bot("timeout", owner=site.world.author("other"))
    found = page(site, f"/search?q={asked}").links
    before = found[: next((number for number, link in enumerate(found) if link.startswith("/docs/r")), None)]
    assert "/bots/1" in before and ("/bots/2" in before) is ("/" not in asked)


@pytest.mark.parametrize("asked", ["qqxyzzy", "<script>alert(77777)</script>"])
def test_a_search_without_results_says_so(site: Site, asked: str) -> None:
    found = site.client.get("/search", params={"q": asked})
    assert "Nothing matches." in found.text and "<script>alert" not in found.text


def test_a_percent_sign_finds_no_other_names(site: Site) -> None:
    site.world.bot()
    assert "/bots/1" not in page(site, "/search?q=%25").links


def test_the_reference_has_every_call_and_shape_of_the_document(site: Site) -> None:
    document = site.client.get("/v1/openapi.json").json()
    shown = site.client.get("/docs/api").text
    ids, links = set(re.findall(' id="([^"]+)"', shown)), set(re.findall('href="#([^"]+)"', shown))
    calls = {method + path.replace("/", "-") for path, methods in document["paths"].items() for method in methods}
    assert {re.sub("[{}]", "", call) for call in calls} | document["components"]["schemas"].keys() | links <= ids
    assert len(gzip.compress(shown.encode())) < 200_000


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
    waiting = [("", "/"), *(("", f"/about/{name}") for name in MOVED), *(("", f"/docs/{name}") for name in MERGED)]
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
    assert {page for page in PAGES if not visited[f"/docs/{page}"]} == set(), "every page can be reached"


NO_PAGE = re.compile(r"/bots|decisions|examples|CONTRIBUTING|SECURITY|LICENSE|deploy/|:")
"""Links to files that are no pages, and to other sites."""


@pytest.mark.parametrize("name", PAGES)
def test_no_link_between_texts_is_cut(site: Site, name: str) -> None:
    """Only links to files that are no pages become plain text."""
    text = re.sub(r"^```.*?^```$", "", source(name), flags=re.MULTILINE | re.DOTALL)
    written = [link for link in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", text) if not NO_PAGE.search(link)]
    found = Links(shown(site, name)).links[2:]  # after those to the index and to the contents
    found = found[: len(found) - sum(other is not None for other in neighbours(name))]
    assert len(found) == len(written)
    assert [link.partition("#")[2] for link in found] == [link.partition("#")[2] for link in written]


def shown(site: Site, name: str) -> str:
    """Return the text of a page, with the links to its neighbours."""
    article = re.search(r'<article class="text".*?</article>', site.client.get(f"/docs/{name}").text, re.DOTALL)
    assert article is not None
    return article[0]


def test_pages_lead_to_their_neighbours_and_show_where_they_stand(site: Site) -> None:
    before, text = None, ""
    for name in PAGES:
        text = site.client.get(f"/docs/{name}").text
        assert neighbours(name)[0] == before
        assert before is None or f'<a rel="prev" href="/docs/{before}">' in text
        assert f'<a href="/docs/{name}" aria-current="page">' in text
        before = name
    assert 'rel="next"' not in text


def test_a_former_guide_leads_to_the_page_that_took_its_place(site: Site) -> None:
    for name, successor in MOVED.items():
        answer = site.client.get(f"/about/{name}")
        assert (answer.status_code, answer.headers["location"]) == (308, f"/docs/{successor}")


def test_a_page_that_became_part_of_another_leads_there(site: Site) -> None:
    for name, successor in MERGED.items():
        answer = site.client.get(f"/docs/{name}")
        assert (answer.status_code, answer.headers["location"]) == (308, f"/docs/{successor}")


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_of_a_page_is_served_with_words_for_those_who_do_not_see_it(site: Site, name: str) -> None:
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", source(name))
    served = re.findall(r'<img src="([^"]+)" alt="([^"]+)"', shown(site, name))
    assert [(f"/static/docs/{Path(file).name}", words) for words, file in pictures] == served
    for _words, file in pictures:
        assert file == f"../{PICTURES}/{Path(file).name}"
        assert site.client.get(f"/static/docs/{Path(file).name}").status_code == 200


KOREAN = {"Accept-Language": "ko-KR,ko;q=0.9,en;q=0.8"}


def test_a_page_is_in_the_language_that_the_browser_asks_for(site: Site) -> None:
    korean = site.client.get("/games", headers=KOREAN)
    assert '<html lang="ko">' in korean.text and "순위표" not in korean.text and "게임" in korean.text
    assert korean.headers["content-language"] == "ko"
    english = site.client.get("/games")
    assert '<html lang="en">' in english.text and "게임" not in english.text


def test_a_page_kept_in_memory_is_kept_for_each_language(site: Site) -> None:
    made = [site.client.get("/", headers=headers) for headers in ({}, KOREAN, {}, KOREAN)]
    assert [answer.headers["content-language"] for answer in made] == ["en", "ko", "en", "ko"]
    assert made[0].content == made[2].content != made[1].content == made[3].content
    for answer in made:
        assert {"accept-language", "cookie"} <= set(answer.headers["vary"].lower().split(", "))
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
    assert "/docs/reference/verdicts#void-attempts" in site.client.get("/search?q=무효가 된", headers=KOREAN).text
    assert 'id="void-attempts"' in site.client.get("/docs/reference/verdicts", headers=KOREAN).text
    assert "/games/betris-large#rules-the-clock" in site.client.get("/search?q=a bank of 10 seconds").text


def test_the_api_is_english_and_the_same_for_all(site: Site) -> None:
    told = [site.client.get("/v1/bots/7", headers=headers) for headers in ({}, KOREAN)]
    assert told[0].json() == told[1].json() and "vary" not in told[1].headers


PLAIN = {"Accept-Encoding": "identity"}


@pytest.mark.parametrize("path", ["/", "/static/site.css", "/docs/api"])
def test_what_everyone_sees_is_smaller_and_says_the_same(site: Site, path: str) -> None:
    site.world.ranked(3)
    plain = site.client.get(path, headers=PLAIN)
    packed = site.client.get(path, headers={"Accept-Encoding": "br, gzip"})
    assert plain.headers.get("content-encoding") is None
    assert packed.headers["content-encoding"] == "gzip"
    assert all("accept-encoding" in one.headers["vary"].lower() for one in (plain, packed))
    assert packed.content == plain.content and int(packed.headers["content-length"]) < len(plain.content) / 2
    for tag in (plain.headers["etag"], packed.headers["etag"]):
        for accepted in ("gzip", "identity"):
            again = site.client.get(path, headers={"If-None-Match": tag, "Accept-Encoding": accepted})
            assert (again.status_code, again.content) == (304, b"")
            assert "content-encoding" not in again.headers


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0", "br, gzip; q=0.0", "xgzip"])
def test_nobody_is_sent_what_they_do_not_read(site: Site, accepted: str) -> None:
    for path in ("/", "/static/site.css"):
        assert "content-encoding" not in site.client.get(path, headers={"Accept-Encoding": accepted}).headers


def test_what_has_a_secret_of_its_reader_or_is_small_is_sent_as_it_is(site: Site) -> None:
    for path in ("/sign-up", "/static/icon.svg"):
        assert "content-encoding" not in site.client.get(path, headers={"Accept-Encoding": "gzip"}).headers


def test_a_games_picture_has_an_address_for_ever(site: Site) -> None:
    address = web_address(GAME, "picture.svg")
    assert address is not None
    answer = site.client.get(address)
    assert answer.status_code == 200 and answer.content == (folders()[GAME].path / "web" / "picture.svg").read_bytes()
    assert answer.headers["Content-Type"].startswith("image/svg+xml") and "immutable" in answer.headers["Cache-Control"]
    assert "default-src" in answer.headers["Content-Security-Policy"]
    assert address in site.client.get(f"/games/{GAME}", headers={"Accept": "text/html"}).text


def test_nothing_else_of_the_folder_is_served(site: Site) -> None:
    address = web_address(GAME, "picture.svg")
    assert address is not None
    start = address.removesuffix("picture.svg")
    other = start.replace(start.split("/")[4], "0" * 12)
    inside = ("../rules.py", "%2e%2e/rules.py", "..%2frules.py", "/etc/passwd", "nothing.js", "")
    outside = (f"{other}picture.svg", "/static/games/unheard-of/0/picture.svg", f"/static/games/{GAME}")
    for path in (*(f"{start}{path}" for path in inside), *outside):
        assert site.client.get(path).status_code == 404, path


def test_the_page_leads_to_a_wheel_that_holds_what_authors_need(site: Site) -> None:
    page = site.client.get("/download")
    assert page.status_code == 200 and f"pipx install http://league/download/{NAME}" in page.text
    wheel = site.client.get(f"/download/{NAME}")
    assert wheel.status_code == 200
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        inside = set(archive.namelist())
    games = {"games/yacht_auction/bots/starter/main.c", "games/liars_dice/protocol.md"}
    needed = games | {"__init__.py", "cli/main.py", "dashboards/site/static/replay.js"}
    assert {f"deadheat/{name}" for name in needed | {"league/migrations/script.py.mako"}} <= inside
    assert site.client.get("/download/deadheat-0.0.1-py3-none-any.whl").status_code == 404, "there is no other version"
    assert "deadheat/league.json" in inside
    assert not [name for name in inside if "__pycache__" in name or "/tests/" in name]


def test_the_wheel_knows_the_league_that_offers_it(tmp_path: Path) -> None:
    with closing(Site(tmp_path, site_url="https://league.example")) as site:
        document = {"languages": [{"name": "python"}, {"name": "c"}]}
        site.world.write(record_environment, "f1", site.world.settings.image, document, "w1")
        wheels = [site.client.get(f"/download/{NAME}").content for _ in range(2)]
    assert wheels[0] == wheels[1]
    with zipfile.ZipFile(io.BytesIO(wheels[0])) as archive:
        content = archive.read("deadheat/league.json")
        (record,) = (archive.read(name) for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        files = {line.split(",")[0] for line in record.decode().splitlines()}
        assert files == set(archive.namelist()), "pip and others install what RECORD lists"
    assert json.loads(content) == {"server": "https://league.example", "languages": ["c", "python"]}
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert f"deadheat/league.json,sha256={digest},{len(content)}" in record.decode().splitlines()
