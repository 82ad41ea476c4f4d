"""Docs: an index, the pages of docs/ on their shelves, the API's reference, and a search over everything."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from deadheat.api.deps import Shared
from deadheat.api.edge.caching import Files
from deadheat.api.pages.render import everyones, render
from deadheat.api.pages.texts.markdown import (
    DOCS,
    MERGED,
    MOVED,
    PAGES,
    PICTURES,
    SHELVES,
    anchors,
    headings,
    neighbours,
    rendered,
    source,
    translation,
)
from deadheat.api.pages.texts.search import matching
from deadheat.engine.games import GAMES
from deadheat.engine.language import _, language
from deadheat.league.errors import NotFound
from deadheat.league.records.bots import Bot
from deadheat.league.service.bots.bots import bots_named
from deadheat.league.service.people.users import users_beginning
from deadheat.league.service.seasons.seasons import season_info, seasons
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import SeasonState

router = APIRouter()

LOOKED_AT = 24
"""Among so many newest seasons the index looks for an open one, and the search for a name."""

MOST_FOUND = 20

pictures = Files(directory=DOCS / PICTURES)


@router.get("/docs")
@everyones
def index(shared: Shared) -> str:
    """Show a first bot's steps, in the newest open season's game, and all shelves."""
    newest = shared.read(seasons, limit=LOOKED_AT)
    season = next((each for each in newest if each.state is SeasonState.OPEN and each.game in GAMES), None)
    game = next(iter(GAMES)) if season is None else season.game
    shown = {"games": list(GAMES.values()), "game": game, "season": season}
    return render(shared, "docs.html", shelves=SHELVES, pages=PAGES, **shown)


def _document(request: Request) -> Callable[[], dict[str, Any]]:
    document: Callable[[], dict[str, Any]] = request.app.openapi
    return document


@router.get("/docs/api")
@everyones
def reference(shared: Shared, document: Annotated[Callable[[], dict[str, Any]], Depends(_document)]) -> str:
    tags = defaultdict[str, list[dict[str, Any]]](list)
    for path, calls in document()["paths"].items():
        for method, call in calls.items():
            tags[call["tags"][0]].append({**call, "method": method, "path": path})
    return render(shared, "reference.html", **document(), tags=tags, base=shared.settings.site_url)


@router.get("/docs/{folder}/{name}")
async def page(shared: Shared, request: Request, folder: str, name: str) -> Response:
    """Show a page beside the contents of all shelves, or lead from a former one to the page that has its text now."""
    wanted = f"{folder}/{name}"
    if wanted in MERGED:
        return RedirectResponse(f"/docs/{MERGED[wanted]}", 308)
    return await _page(shared=shared, request=request, wanted=wanted)


@everyones
def _page(shared: Shared, wanted: str) -> str:
    if wanted not in PAGES:
        raise NotFound("page", wanted)
    reader = language() if translation(wanted, language()) is not None else "en"
    text = source(wanted, reader)
    ids = anchors([words for _level, words in headings(source(wanted))])  # one address for all languages
    parts = [(name, words) for name, (level, words) in zip(ids, headings(text), strict=True) if level == "h2"]
    body = rendered(text, f"docs/{wanted.partition('/')[0]}", titled=True, ids=ids)
    before, after = neighbours(wanted)
    context = {"open": wanted, "before": before, "after": after, "reader": reader, "text": body, "parts": parts}
    return render(shared, "text.html", shelves=SHELVES, pages=PAGES, **context)


@router.get("/about/{name}")
def moved(name: str) -> Response:
    if name not in MOVED:
        raise NotFound("page", name)
    return RedirectResponse(f"/docs/{MOVED[name]}", 308)


@router.get("/search")
@everyones
def search(shared: Shared, q: Annotated[str, Query(max_length=64)] = "") -> str:
    """Search pages, rules, bots, people, the newest seasons, and numbers of seasons and matches. What is named exactly
    comes first; AUTHOR/BOT names one bot.
    """
    wanted = q.strip()
    bots: list[Bot] = []
    people: list[str] = []
    direct: list[tuple[str, str]] = []
    count = 0
    if wanted:
        with shared.db.reading() as session:
            author, _slash, name = wanted.casefold().rpartition("/")
            bots, count = bots_named(session, name, limit=MOST_FOUND)
            if author:
                bots = [bot for bot in bots if bot.author.casefold() == author]
                count = len(bots)
            people = users_beginning(session, wanted, MOST_FOUND)
            named = [each for each in seasons(session, LOOKED_AT) if wanted.casefold() in each.name.casefold()]
            exact = [bot for bot in bots if bot.name.casefold() == name]
            direct = [
                *_numbered(session, wanted),
                *((f"/bots/{bot.id}", f"{bot.author}/{bot.name}") for bot in exact),
                *((f"/seasons/{each.id}", each.name) for each in named),
            ]
    pages = matching(wanted, MOST_FOUND) if wanted else []
    return render(shared, "search.html", q=q, pages=pages, bots=bots, bot_count=count, people=people, direct=direct)


def _numbered(session: Session, wanted: str) -> Iterator[tuple[str, str]]:
    """Yield the address and name of the season and the match with a number such as "12", "#12" or "match 12"."""
    if (match := re.fullmatch(r"(season|match|#)? *([1-9]\d{0,8})", wanted, re.ASCII | re.IGNORECASE)) is None:
        return
    kind, number = (match[1] or "").lower(), int(match[2])
    with suppress(NotFound):
        if kind != "match":
            yield (
                f"/seasons/{number}",
                _("Season %(number)s: %(name)s", number=number, name=season_info(session, number).name),
            )
    with suppress(NotFound):
        if kind != "season":
            names = " \u2013 ".join(match_detail(session, number).names)
            yield f"/matches/{number}", _("Match %(number)s: %(names)s", number=number, names=names)
