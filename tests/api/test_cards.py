"""A match on other sites: its picture beside a link, and its board in a frame where an operator allows it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from starlette.routing import Route

from deadheat.api.edge.rates import PICTURES_PER_MINUTE
from deadheat.api.pages import match
from deadheat.api.pages.pictures import card
from deadheat.engine.language import language
from deadheat.league.config import Settings
from deadheat.league.states import TranscriptsFrom
from deadheat.league.tables import Season
from tests.api.site import Site
from tests.site.leagues import play


@pytest.fixture
def match_id(site: Site) -> int:
    """A finished match."""
    return play(site, "betris-large", "betris-large")


@pytest.mark.parametrize("name", ["betris-large", "liars-dice-six", "yacht-auction-forfeit"])
def test_a_match_has_a_picture_for_other_sites(site: Site, name: str) -> None:
    match_id = play(site, name, name.removesuffix("-six").removesuffix("-forfeit"))
    text = site.client.get(f"/matches/{match_id}").text
    tags = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', text))
    assert tags["image"] == f"http://league/matches/{match_id}/card.png"
    assert tags["url"] == f"http://league/matches/{match_id}"
    assert "expert" in tags["title"] and "won." in tags["description"]
    found = site.client.get(tags["image"])
    assert (found.status_code, found.headers["content-type"]) == (200, "image/png")
    assert found.headers["cache-control"].startswith("public")
    picture = Image.open(io.BytesIO(found.content)).convert("RGB")
    assert picture.size == (1200, 630)
    colours = {colour for _, colour in picture.getcolors(1 << 20) or []}
    assert {tuple(bytes.fromhex(card.colour(f"seat{seat}")[1:])) for seat in (0, 1)} <= colours
    assert len(found.content) < 40_000


def test_a_picture_is_drawn_once(site: Site, match_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first = site.client.get(f"/matches/{match_id}/card.png")
    monkeypatch.setattr(card, "draw", None)
    assert site.client.get(f"/matches/{match_id}/card.png").content == first.content
    unchanged = site.client.get(f"/matches/{match_id}/card.png", headers={"if-none-match": first.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_only_so_many_pictures_are_drawn_for_one_address(
    site: Site, match_id: int, monkeypatch: pytest.MonkeyPatch, one_window: None
) -> None:
    kept = site.client.get(f"/matches/{match_id}/card.png")
    drawn: list[object] = []

    def draw(*what: object) -> bytes:
        drawn.append(what)
        return b""

    monkeypatch.setattr(card, "draw", draw)
    answer = kept
    for version in range(100):  # each is drawn anew, as the pictures of so many matches are
        monkeypatch.setattr(card, "VERSION", f"another {version}")
        answer = site.client.get(f"/matches/{match_id}/card.png")
    assert (answer.status_code, len(drawn)) == (429, PICTURES_PER_MINUTE - 1)
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    monkeypatch.setattr(card, "VERSION", f"another {PICTURES_PER_MINUTE - 2}")
    assert site.client.get(f"/matches/{match_id}/card.png").status_code == 200, "it is kept"
    assert kept.status_code == 200


def test_a_page_that_names_the_host_of_its_request_is_not_kept(site: Site, match_id: int) -> None:
    known = site.beside(site_url="http://league.example")
    play(known, "betris-large", "betris-large")
    paths = {route.path for route in site.app.routes if isinstance(route, Route) and "GET" in (route.methods or ())}
    paths = {re.sub("{[^}]*}", "1", path) for path in paths if not path.endswith("/events")}
    echoing = set[str]()
    for path in sorted(paths | {f"/matches/{match_id}"}):
        answer = site.client.get(path, headers={"Host": "planted.example", "Accept": "text/html"})
        if "planted.example" in answer.text + answer.headers.get("location", ""):
            echoing.add(path)
            assert answer.headers["cache-control"] == "no-store", path
            told = known.client.get(path, headers={"Host": "planted.example", "Accept": "text/html"})
            assert "planted.example" not in told.text and told.headers.get("cache-control") != "no-store"
    assert echoing >= {f"/matches/{match_id}", "/download"}


def test_the_moves_of_a_match_are_told_once(site: Site, match_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first = site.client.get(f"/matches/{match_id}").text
    korean = site.client.get(f"/matches/{match_id}", headers={"accept-language": "ko"}).text
    monkeypatch.setattr(match, "scenes", None)
    assert site.client.get(f"/matches/{match_id}").text == first
    assert site.client.get(f"/matches/{match_id}", headers={"accept-language": "ko"}).text == korean != first
    assert 'id="move-1"' in first


def test_kept_moves_are_withheld_with_the_match(site: Site, match_id: int) -> None:
    path = f"/matches/{match_id}"
    assert 'id="move-1"' in site.client.get(path).text
    site.world.change(Season, 1, transcripts=TranscriptsFrom.CLOSED)
    assert 'id="move-1"' not in site.client.get(path).text


def test_a_picture_is_in_english_whoever_asks_first(site: Site, match_id: int, monkeypatch) -> None:
    monkeypatch.setattr(card, "VERSION", card.VERSION + 1)
    monkeypatch.setattr(card, "draw", lambda *_: language().encode())
    assert site.client.get(f"/matches/{match_id}/card.png", headers={"accept-language": "ko"}).content == b"en"


def test_a_match_that_is_not_over_has_none(site: Site) -> None:
    site.world.season(2)
    waiting = site.world.claimed(site.world.tick()[0]).matches[0].match_id
    assert site.client.get(f"/matches/{waiting}/card.png").status_code == 409
    assert "og:image" not in site.client.get(f"/matches/{waiting}").text
    assert site.client.get(f"/matches/{waiting}/embed").status_code == 200


@pytest.mark.parametrize("origins", ["", "https://blog.example https://*.example.org:8443", "*"])
def test_only_the_frame_is_shown_elsewhere_and_only_where_the_operator_allows_it(site: Site, origins: str) -> None:
    site = site.beside(embed_origins=origins)
    match_id = play(site, "betris-large", "betris-large")
    page, frame = (site.client.get(f"/matches/{match_id}{part}") for part in ("", "/embed"))
    assert page.headers["content-security-policy"].endswith("frame-ancestors 'none'")
    assert frame.headers["content-security-policy"].endswith(f"frame-ancestors {origins or chr(39) + 'none' + chr(39)}")
    assert len(frame.headers.get_list("content-security-policy")) == 1
    assert ("&lt;iframe" in page.text) == bool(origins)


@pytest.mark.parametrize("origins", ["https://a.example; script-src *", "blog.example", "https://a.example\n", "none"])
def test_what_is_no_list_of_sites_is_refused(tmp_path: Path, origins: str) -> None:
    with pytest.raises(ValueError, match="embed_origins"):
        Settings(data_dir=tmp_path, embed_origins=origins)
