"""Docs: an index, pages of docs/ rendered from the same Markdown, the API's reference, and a search over everything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Query, Response
from markupsafe import Markup, escape
from sqlmodel import Session

from deadheat.api.deps import Shared
from deadheat.api.edge.files import Files
from deadheat.api.edge.middleware import POLICY
from deadheat.api.pages.render import everyones, render
from deadheat.api.pages.texts.markdown import ABOUT, anchor, rendered
from deadheat.api.services import SITE
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import protocol_of
from deadheat.engine.language import N_, _, gettext, language
from deadheat.league.errors import NotFound
from deadheat.league.records.bots import Bot
from deadheat.league.service.bots.bots import bots_named
from deadheat.league.service.people.users import users_beginning
from deadheat.league.service.seasons.seasons import season_info, seasons
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import SeasonState

router = APIRouter()

DOCS = SITE.parents[1] / "docs"
VERDICTS = "## Verdicts and their cures\n"
"""The section of docs/authors.md that becomes a page."""

TITLES = ABOUT | {"verdicts": N_("Verdicts and their cures")}
"""The pages with their titles. Each is docs/NAME.md, except the verdicts."""

READERS = {
    N_("Write a bot"): ("authors", "verdicts", "client", "training"),
    N_("Understand the league"): ("ratings", "matchmaking", "players", "audit", "security"),
    N_("Run a league"): ("organisers", "operators", "export", "adding-a-game", "architecture"),
}
"""The index: pages by the reader's purpose."""

LOOKED_AT = 24
"""The number of newest seasons among which the index looks for an open one."""

FOUND = 20
"""The most results of each kind in a search."""

REFERENCE_POLICY = POLICY.format(framed_by="'none'").replace("img-src 'self'", "img-src 'self' data:")
"""The policy of all pages, extended for pictures: Swagger UI's style sheet has its icons in data: addresses."""

assets = Files(directory=str(files("fastapi_offline") / "static"))
"""Swagger UI's files, from its package."""


@router.get("/docs")
@everyones
def index(shared: Shared) -> str:
    """Show a first bot's steps, in the newest open season's game, and all pages by the reader's purpose."""
    newest = shared.read(seasons, limit=LOOKED_AT)
    season = next((one for one in newest if one.state is SeasonState.OPEN and one.game in GAMES), None)
    readers = {gettext(title): [(name, gettext(TITLES[name])) for name in names] for title, names in READERS.items()}
    game = next(iter(GAMES)) if season is None else season.game
    return render(shared, "docs.html", readers=readers, games=list(GAMES.values()), game=game, season=season)


@router.get("/docs/api")
def reference(shared: Shared) -> Response:
    """Show the API's reference, which can send requests."""
    content = render(shared, "reference.html")
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": REFERENCE_POLICY})


@router.get("/about/{name}")
@everyones
def about(shared: Shared, name: str) -> str:
    if name not in TITLES:
        raise NotFound("page", name)
    return render(shared, "text.html", title=gettext(TITLES[name]), text=rendered(_source(name), titled=True))


@router.get("/search")
@everyones
def search(shared: Shared, q: Annotated[str, Query(max_length=64)] = "") -> str:
    """Search pages, rules, bots, people, and numbers of seasons and matches."""
    wanted = q.strip()
    bots: list[Bot] = []
    people: list[str] = []
    numbered: list[tuple[str, str]] = []
    count = 0
    if wanted:
        with shared.db.reading() as session:
            bots, count = bots_named(session, wanted, limit=FOUND)
            people = users_beginning(session, wanted, FOUND)
            numbered = list(_numbered(session, wanted))
    pages = matching(wanted)[:FOUND] if wanted else []
    return render(shared, "search.html", q=q, pages=pages, bots=bots, bot_count=count, people=people, numbered=numbered)


def _numbered(session: Session, wanted: str) -> Iterator[tuple[str, str]]:
    """Yield the address and name of the season and the match with a number such as "12", "#12" or "match 12"."""
    if (asked := re.fullmatch(r"(season|match|#)? *([1-9]\d{0,8})", wanted, re.ASCII | re.IGNORECASE)) is None:
        return
    kind, number = (asked[1] or "").lower(), int(asked[2])
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


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a page below one heading, for the search."""

    page: str
    heading: str
    address: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that a search found, with the words around the first match."""

    section: Section
    words: Markup


def matching(wanted: str) -> list[Hit]:
    """Return the sections with all the words, first those with the words in their headings."""
    words = wanted.casefold().split()
    found = []
    for section in _sections(language()):
        heading, text = f"{section.page} {section.heading}".casefold(), section.text.casefold()
        if all(word in heading or word in text for word in words):
            found.append((sum(word in heading for word in words), sum(map(text.count, words)), section))
    found.sort(key=lambda hit: hit[:2], reverse=True)
    return [Hit(section, _around(section.text, words)) for _, _, section in found]


AROUND = 90
"""The number of characters shown on either side of a match."""


def _around(text: str, words: Sequence[str]) -> Markup:
    pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    first = pattern.search(text)
    at = first.start() if first else 0
    part = text[text.rfind(" ", 0, max(0, at - AROUND)) + 1 : at + AROUND].rpartition(" ")[0]
    pieces, last = [], 0
    for match in pattern.finditer(part):
        pieces += [escape(part[last : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        last = match.end()
    return Markup("").join([*pieces, escape(part[last:])])


@cache
def _sections(reader: str) -> tuple[Section, ...]:
    """Return all texts, divided at their headings, once for each language."""
    pages = [(gettext(TITLES[name]), f"/about/{name}", "", _source(name)) for name in ABOUT]
    for name, game in GAMES.items():
        path = protocol_of(name, reader)
        if path is not None:
            title = _("Rules of %(game)s", game=gettext(game.title))
            pages.append((title, f"/games/{name}", "rules-", path.read_text(encoding="utf-8")))
    return tuple(part for page in pages for part in _cut(*page))


def _cut(page: str, address: str, prefix: str, text: str) -> Iterator[Section]:
    for piece in re.split(r"^(?=#{1,4} )", text, flags=re.MULTILINE):
        heading, _, body = piece.partition("\n")
        heading = heading.lstrip("# ").replace("`", "")
        plain = " ".join(re.sub(r"\]\([^)]*\)|-{3,}|```\w*|[`*|\[]", " ", body).split())
        if heading:
            yield Section(page, heading, f"{address}#{prefix}{anchor(heading)}", plain)


@cache
def _source(name: str) -> str:
    if name != "verdicts":
        return (DOCS / f"{name}.md").read_text(encoding="utf-8")
    before, heading, after = (DOCS / "authors.md").read_text(encoding="utf-8").partition(VERDICTS)
    assert heading, f"after {len(before)} characters docs/authors.md has no verdicts"
    section = after.partition("\n## ")[0].replace("\n### ", "\n## ")  # skip no level of headings
    return f"{heading.removeprefix('#')}{section}".replace("](#", "](authors.md#")
