"""What other sites show of a league: pictures, frames and feeds."""

import io
import re
from datetime import datetime
from pathlib import Path
from uuid import UUID
from xml.etree.ElementTree import Element, fromstring

import pytest
from PIL import Image
from starlette.routing import Route

from deadheat.api.edge.rates import PICTURES_PER_MINUTE
from deadheat.api.pages import match
from deadheat.engine.language import language
from deadheat.league.config import Settings
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.notices import announce, take_down
from deadheat.league.service.seasons.entries import enter
from deadheat.league.states import SeasonState, TranscriptsFrom
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
    assert {tuple(bytes.fromhex(match.colour(f"seat{seat}")[1:])) for seat in (0, 1)} <= colours
    assert len(found.content) < 40_000


def test_a_picture_is_drawn_once(site: Site, match_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first = site.client.get(f"/matches/{match_id}/card.png")
    monkeypatch.setattr(match, "draw", None)
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

    monkeypatch.setattr(match, "draw", draw)
    answer = kept
    for version in range(100):  # each is drawn anew, as the pictures of so many matches are
        monkeypatch.setattr(match, "CARD_VERSION", f"another {version}")
        answer = site.client.get(f"/matches/{match_id}/card.png")
    assert (answer.status_code, len(drawn)) == (429, PICTURES_PER_MINUTE - 1)
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    monkeypatch.setattr(match, "CARD_VERSION", f"another {PICTURES_PER_MINUTE - 2}")
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
    monkeypatch.setattr(match, "CARD_VERSION", match.CARD_VERSION + 1)
    monkeypatch.setattr(match, "draw", lambda *_: language().encode())
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


ATOM = "{http://www.w3.org/2005/Atom}"


def read(site: Site, path: str) -> Element:
    """Read a feed, and check what RFC 4287 demands of it and of its entries."""
    answer = site.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/atom+xml")
    feed = fromstring(answer.content)
    assert feed.tag == f"{ATOM}feed" and feed.find(f"{ATOM}author/{ATOM}name") is not None
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links["self"] == path and site.client.get(str(links["alternate"])).status_code == 200
    entries = feed.findall(f"{ATOM}entry")
    for part in (feed, *entries):
        assert UUID(text(part, "id")).version == 5 and text(part, "title")
        assert datetime.fromisoformat(text(part, "updated")).tzinfo is not None
    assert len({text(entry, "id") for entry in entries}) == len(entries)
    dates = [text(entry, "updated") for entry in entries]
    assert dates == sorted(dates, reverse=True) and (not dates or text(feed, "updated") == dates[0])
    return feed


def text(part: Element, name: str) -> str:
    found = part.find(f"{ATOM}{name}")
    assert found is not None and found.text
    return found.text


def titles(feed: Element) -> list[str]:
    return [text(entry, "title") for entry in feed.findall(f"{ATOM}entry")]


def ids(feed: Element) -> list[str]:
    return [text(entry, "id") for entry in feed.findall(f"{ATOM}entry")]


def test_a_season_tells_of_itself_from_its_opening_to_its_standings(site: Site) -> None:
    world = site.world
    season_id = world.season(0)
    _, other = world.bot("elsewhere")
    owner, bot_id = world.bot("swift")
    world.write(enter, owner, season_id, bot_id)
    world.clock.turn(60)
    world.write(
        announce,
        world.boss,
        season_id,
        "Fish & <chips>",
        "For \u202ella\u202c.\ufffe\x85\x0c\r\nBye,\u3000\U0001f468\u200d\U0001f469.",
    )
    name = world.read(lambda session: session.get_one(Season, season_id)).name
    path = f"/seasons/{season_id}/feed"
    before = read(site, path)
    assert titles(before)[0] == "Fish & <chips>"
    told = text(before.findall(f"{ATOM}entry")[0], "content")
    assert told == "For \\u202ella\\u202c.\\ufffe\\x85\\x0c\nBye,\u3000\U0001f468\u200d\U0001f469."
    assert set(titles(before)) == {"Fish & <chips>", f"{name} is opened", f"Version 1 of {owner.name}/swift is ready"}
    world.clock.turn(60)
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED, force=True)
    world.settle()
    forget(site)
    after = read(site, path)
    assert set(titles(after)[:2]) == {f"{name} is closed", f"The final standings of {name} are published"}
    assert ids(after)[2:] == ids(before), "what was read stays the same"
    assert titles(read(site, f"/bots/{other}/feed"))[0].endswith("/elsewhere is ready")
    assert set(titles(after)) - {"Fish & <chips>"} <= {*titles(read(site, f"/bots/{bot_id}/feed"))}
    assert {*titles(after)} < {*titles(read(site, "/games/yacht-auction/feed"))}
    world.write(take_down, world.boss, 1)
    forget(site)
    assert len(ids(read(site, path))) == len(ids(after)) - 1


def test_a_feed_is_kept_as_pages_are_and_found_from_them(site: Site) -> None:
    season_id = site.world.season(1)
    for page in (f"/seasons/{season_id}", "/bots/1", "/games/yacht-auction"):
        link = '<link rel="alternate" type="application/atom+xml"'
        assert link in site.client.get(page).text and f'href="{page}/feed"' in site.client.get(page).text
        tag = site.client.get(f"{page}/feed").headers["etag"]
        assert site.client.get(f"{page}/feed", headers={"If-None-Match": tag}).status_code == 304
    assert titles(read(site, "/games/betris-large/feed")) == []
    for nothing in ("/seasons/9/feed", "/bots/9/feed", "/games/chess/feed"):
        assert site.client.get(nothing).status_code == 404


def forget(site: Site) -> None:
    """Forget all rendered pages, as after a second."""
    site.app.state.services.bodies._kept.clear()
