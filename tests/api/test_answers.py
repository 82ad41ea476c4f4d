"""How answers are sent: in the reader's language and packed; and files: pictures of games, the authors' wheel."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.api.pages.download import NAME
from deadheat.engine.games.folder import folders, web_address
from deadheat.league.service.bots.environments import record_environment
from deadheat.league.tables import Channel
from tests.api.browser import Browser
from tests.api.site import PASSWORD, Site
from tests.league.people import GAME

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


PLAIN = {"Accept-Encoding": "identity"}


@pytest.mark.parametrize("path", ["/", "/static/site.css", "/static/reference/swagger-ui.css"])
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
