"""Docs: an index, pages of docs/ rendered from the same Markdown, the API's reference, and a search over everything."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated

from fastapi import APIRouter, Query, Response
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from markupsafe import Markup, escape
from sqlmodel import Session

from deadheat.api.deps import Shared
from deadheat.api.edge.caching import Files
from deadheat.api.edge.middleware import POLICY
from deadheat.api.pages.render import everyones, render
from deadheat.api.services import SITE
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import folders, protocol_of
from deadheat.engine.language import N_, _, gettext, language
from deadheat.league.errors import NotFound
from deadheat.league.records.bots import Bot
from deadheat.league.service.bots.bots import bots_named
from deadheat.league.service.people.users import users_beginning
from deadheat.league.service.seasons.seasons import season_info, seasons
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import SeasonState

_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^## ([^\n]+)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_RULINGS = re.compile(r" ?\([A-Z]-\d+\)|(?<=\()[A-Z]-\d+: ")
_TEXT = re.compile(r"(?:\.\./)*(?:docs/)?([a-z-]+)\.md")
_PROTOCOL = re.compile(r"(?:\.\./)*games/([a-z0-9_]+)/protocol\.md")
ABOUT = {
    "ratings": N_("How the ratings are made"),
    "matchmaking": N_("Who plays whom"),
    "authors": N_("For authors"),
    "client": N_("The command-line tool"),
    "training": N_("Training in Python"),
    "players": N_("For people who play"),
    "organisers": N_("For organisers"),
    "operators": N_("For operators"),
    "audit": N_("The audit log"),
    "export": N_("A season as files"),
    "security": N_("Security"),
    "adding-a-game": N_("Adding a game"),
    "architecture": N_("Architecture"),
}
"""The texts of docs/ that are pages, with their titles."""


def anchor(heading: str) -> str:
    """Return a heading's name for addresses, as GitHub makes it: links between texts must fit both."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def rules_address(game: str) -> str:
    """Return the address of a game's rules for people: the first section of its page for bot authors, if any."""
    section = _rules(game, language())
    return f"/games/{game}#rules{'-' + anchor(section[1]) if section else ''}"


@cache
def rules_for_people(game: str, reader: str) -> Markup | None:
    """Render that section without the ids of rulings, which only authors of bots look up; None if there is none."""
    section = _rules(game, reader)
    if section is None:
        return None
    return rendered(_RULINGS.sub("", section[0]), titled=True)  # a section of its own, below the page's title


def _rules(game: str, reader: str) -> re.Match[str] | None:
    path = protocol_of(game, reader) if game in folders() else None
    return None if path is None else _SECTION.search(path.read_text(encoding="utf-8"))


def rendered(text: str, *, titled: bool = False, prefix: str = "") -> Markup:
    """Return the text as HTML. `titled`: it begins with the page's title; otherwise every heading is lowered by one
    level, because a page has one title. Each heading's id is made of its words, after `prefix`. Raw HTML in the text
    stays text; links lead only to pages of this site.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("table_open", _open_table)
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = markdown.parse(_COMMENT.sub("", text))
    _name_tables(tokens)
    named = Counter[str]()
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type in {"heading_open", "heading_close"} and not titled:
            token.tag = f"h{int(token.tag[1]) + 1}"
        if token.type == "heading_open" and inner is not None:
            name = prefix + anchor(inner.content)
            named[name] += 1
            token.attrSet("id", name if named[name] == 1 else f"{name}-{named[name] - 1}")
        if token.children:
            token.children = _linked(token.children, prefix)
    html = str(markdown.renderer.render(tokens, markdown.options, {}))
    return Markup(html.replace("<pre>", '<pre tabindex="0">'))  # noqa: S704  ours, escaped by its renderer


def _name_tables(tokens: Sequence[Token]) -> None:
    """Name each table after the heading above it. An empty corner cell is not a header."""
    named = Counter[str]()
    heading = ""
    for token, inner in pairwise(tokens):
        if token.type == "heading_open":
            heading = inner.content.replace("`", "")
        elif token.type == "table_open":
            named[heading] += 1
            number = f", table {named[heading]}" if named[heading] > 1 else ""
            token.attrSet("aria-label", heading + number)
        elif token.type == "th_open" and not inner.content:
            token.tag = "td"
        elif inner.type == "th_close" and not token.content:
            inner.tag = "td"


def _open_table(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    label = escapeHtml(str(tokens[index].attrGet("aria-label")))
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>\n'


def _linked(tokens: Sequence[Token], prefix: str) -> list[Token]:
    kept, dropped = [], False
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrGet("href")), prefix)
            dropped = address is None
            if address is not None:
                token.attrSet("href", address)
        if not (dropped and token.type in {"link_open", "link_close"}):
            kept.append(token)
    return kept


def _address(link: str, prefix: str) -> str | None:
    """Return the address of our page for a link between texts, or None if there is no such page. `prefix`: of the ids
    on the page with the link.
    """
    file, mark, name = link.partition("#")
    if not file:
        return f"#{prefix}{name}"
    if (match := _PROTOCOL.fullmatch(file)) is not None:
        games = (game for game, folder in folders().items() if folder.path.name == match[1])
        return next((f"/games/{game}{mark}{mark and 'rules-'}{name}" for game in games), None)
    match = _TEXT.fullmatch(file)
    return f"/about/{match[1]}{mark}{name}" if match is not None and match[1] in ABOUT else None


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

LOOKED_AT = 24
"""The number of newest seasons among which the index looks for an open one."""

MOST_FOUND = 20
REFERENCE_POLICY = POLICY.format(framed_by="'none'").replace("img-src 'self'", "img-src 'self' data:")
"""The policy of all pages, extended for pictures: Swagger UI's style sheet has its icons in data: addresses."""

assets = Files(directory=str(files("fastapi_offline") / "static"))
"""Swagger UI's files, from its package."""


@router.get("/docs")
@everyones
def index(shared: Shared) -> str:
    """Show a first bot's steps, in the newest open season's game, and all pages by the reader's purpose."""
    newest = shared.read(seasons, limit=LOOKED_AT)
    season = next((each for each in newest if each.state is SeasonState.OPEN and each.game in GAMES), None)
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
            bots, count = bots_named(session, wanted, limit=MOST_FOUND)
            people = users_beginning(session, wanted, MOST_FOUND)
            numbered = list(_numbered(session, wanted))
    pages = matching(wanted)[:MOST_FOUND] if wanted else []
    return render(shared, "search.html", q=q, pages=pages, bots=bots, bot_count=count, people=people, numbered=numbered)


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
    hits = []
    for section in _sections(language()):
        heading, text = f"{section.page} {section.heading}".casefold(), section.text.casefold()
        if all(word in heading or word in text for word in words):
            hits.append((sum(word in heading for word in words), sum(map(text.count, words)), section))
    hits.sort(key=lambda hit: hit[:2], reverse=True)
    return [Hit(section, _around(section.text, words)) for _, _, section in hits]


AROUND_CHARACTERS = 90


def _around(text: str, words: Sequence[str]) -> Markup:
    pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    first = pattern.search(text)
    at = first.start() if first else 0
    part = text[text.rfind(" ", 0, max(0, at - AROUND_CHARACTERS)) + 1 : at + AROUND_CHARACTERS].rpartition(" ")[0]
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
