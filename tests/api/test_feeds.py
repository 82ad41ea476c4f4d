"""Atom feeds: documents that readers accept, with stable items."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID
from xml.etree.ElementTree import Element, fromstring

from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.announcements import announce, take_down
from deadheat.league.service.seasons.entries import enter
from deadheat.league.states import SeasonState
from deadheat.league.tables import Season
from tests.api.site import Site

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
