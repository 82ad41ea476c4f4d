"""Atom feeds (RFC 4287) of a season, a bot and a game, for people who do not visit the pages every day."""

from datetime import UTC, datetime
from functools import partial
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.render import everyones
from deadheat.api.services import Services
from deadheat.engine.figures import visible
from deadheat.engine.games import GAMES
from deadheat.league.errors import NotFound
from deadheat.league.service.views import overview
from deadheat.league.service.views.overview import Feed

router = APIRouter()

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The date of the last change in a game's feed if nothing has happened."""

KEPT = "\t\n\r\xa0\u200c\u200d\u3000"
"""Beside what is visible: spaces, and the joiners of Persian and of emoji. XML allows all of it."""

everyones_feed = partial(everyones, media_type=MEDIA_TYPE)


@router.get("/seasons/{season_id}/feed")
@everyones_feed
def season(shared: Shared, season_id: Id) -> str:
    return atom(shared, shared.read(overview.season_feed, season_id))


@router.get("/bots/{bot_id}/feed")
@everyones_feed
def bot(shared: Shared, bot_id: Id) -> str:
    return atom(shared, shared.read(overview.bot_feed, bot_id))


@router.get("/games/{name}/feed")
@everyones_feed
def game(shared: Shared, name: str) -> str:
    if name not in GAMES:
        raise NotFound("game", name)
    return atom(shared, shared.read(overview.game_feed, name, GAMES[name].title, BEGINNING))


def atom(shared: Services, feed: Feed) -> str:
    """Render the feed. Unless the site's own address is set, links are relative to the feed's address."""
    site = shared.settings.site_url
    root = Element("feed", xmlns=ATOM)
    _add(root, "id", feed.id.urn)
    _add(root, "title", f"{feed.title}, Deadheat")
    _add(root, "updated", feed.at.isoformat())
    _link(root, "self", f"{site}{feed.path}/feed", MEDIA_TYPE)
    _link(root, "alternate", f"{site}{feed.path}", "text/html")
    _add(SubElement(root, "author"), "name", "Deadheat")
    for item in feed.items:
        entry = SubElement(root, "entry")
        _add(entry, "id", item.id.urn)
        _add(entry, "title", item.title)
        _add(entry, "updated", item.at.isoformat())
        _link(entry, "alternate", f"{site}{item.path}", "text/html")
        _add(entry, "content", item.text)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = visible(text, KEPT)


def _link(parent: Element, rel: str, href: str, media_type: str) -> None:
    SubElement(parent, "link", rel=rel, href=href, type=media_type)
