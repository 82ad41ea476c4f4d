"""Texts as HTML: pages of docs/ and games' protocols, from the same Markdown that people read in the
sources; and the shelves of the documentation, as docs/shelves.toml lists them.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from posixpath import join, normpath

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from markupsafe import Markup

from deadheat.api.services import SITE
from deadheat.engine.games.folder import folders, protocol_of
from deadheat.engine.language import language

DOCS = SITE.parents[1] / "docs"
PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class _Shelf:
    """Pages of one purpose. `pages` are names such as "start/author", in order."""

    title: str
    pages: tuple[str, ...]


_TABLE = tomllib.loads((DOCS / "shelves.toml").read_text(encoding="utf-8"))
SHELVES = [
    _Shelf(each["title"], tuple(f"{each['folder']}/{name}" for name in each["pages"])) for each in _TABLE["shelf"]
]
MOVED: dict[str, str] = _TABLE["moved"]
"""Where a guide of earlier versions went: its name at /about/NAME, and the page that took its place."""

MERGED: dict[str, str] = _TABLE["merged"]
"""Pages that became part of another: the former name, and the page that has their text, perhaps with its section."""


def translation(page: str, reader: str) -> Path | None:
    """Return the file of the page in the reader's language, if there is one besides the English one."""
    path = DOCS / f"{page}.{reader}.md"
    return path if path.is_file() else None


@cache
def source(page: str, reader: str = "en") -> str:
    return (translation(page, reader) or DOCS / f"{page}.md").read_text(encoding="utf-8")


PAGES = {page: source(page).partition("\n")[0].removeprefix("# ") for shelf in SHELVES for page in shelf.pages}
"""Title by page, in the order of reading."""


def neighbours(page: str) -> tuple[str | None, str | None]:
    order = list(PAGES)
    at = order.index(page)
    return (order[at - 1] if at else None), (order[at + 1] if at + 1 < len(order) else None)


_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^## ([^\n]+)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_RULINGS = re.compile(r" ?\([A-Z]-\d+\)|(?<=\()[A-Z]-\d+: ")
_PROTOCOL = re.compile(r"games/([a-z0-9_]+)/protocol\.md")
OF_GAMES = "games/any"
"""The folder of protocols, for their links."""


def anchor(heading: str) -> str:
    """Return a heading's name for addresses, as GitHub makes it: links between texts must fit both."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def anchors(words: Sequence[str], prefix: str = "") -> list[str]:
    """Return the ids of a text's headings; a repeated one gets a number."""
    named = Counter[str]()
    ids = []
    for heading in words:
        name = prefix + anchor(heading)
        ids.append(f"{name}-{named[name]}" if named[name] else name)
        named[name] += 1
    return ids


def headings(text: str) -> list[tuple[str, str]]:
    """Return the level (h1, ...) and the words of each heading, as written."""
    tokens = _parser().parse(text)
    return [(token.tag, inner.content) for token, inner in pairwise(tokens) if token.type == "heading_open"]


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
    return rendered(_RULINGS.sub("", section[0]), OF_GAMES, titled=True)  # a section of its own, below the page's title


def _rules(game: str, reader: str) -> re.Match[str] | None:
    path = protocol_of(game, reader) if game in folders() else None
    return None if path is None else _SECTION.search(path.read_text(encoding="utf-8"))


def rendered(text: str, folder: str, *, titled: bool = False, prefix: str = "", ids: Sequence[str] = ()) -> Markup:
    """Return the text as HTML. `folder`: of its file, from which its links lead. `titled`: it begins with the page's
    title; otherwise every heading is lowered by one level, because a page has one title. Each heading's id is made of
    its words, after `prefix`, unless `ids` names them all. Raw HTML in the text stays text; links lead only to pages of
    this site.
    """
    markdown = _parser()
    markdown.add_render_rule("table_open", _open_table)
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    markdown.add_render_rule("image", _picture)
    tokens = markdown.parse(_COMMENT.sub("", text))
    _name_tables(tokens)
    named = iter(ids or anchors([words for _, words in headings(text)], prefix))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"} and not titled:
            token.tag = f"h{int(token.tag[1]) + 1}"
        if token.type == "heading_open":
            token.attrSet("id", next(named))
        if token.children:
            token.children = _linked(token.children, partial(_address, folder, prefix))
    html = str(markdown.renderer.render(tokens, markdown.options, {}))
    return Markup(html.replace("<pre>", '<pre tabindex="0">'))  # noqa: S704  ours, escaped by its renderer


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


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


def _picture(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    """Return a picture that scrolls where it does not fit: made smaller, its words could not be read."""
    words = escapeHtml(tokens[index].content)
    picture = f'<img src="{escapeHtml(str(tokens[index].attrGet("src")))}" alt="{words}">'
    return f'<span class="drawing" tabindex="0" role="region" aria-label="{words}">{picture}</span>'


def _linked(tokens: Sequence[Token], address_of: Callable[[str], str | None]) -> list[Token]:
    kept, dropped = [], False
    for token in tokens:
        if token.type == "link_open":
            address = address_of(str(token.attrGet("href")))
            dropped = address is None
            if address is not None:
                token.attrSet("href", address)
        elif token.type == "image":
            token.attrSet("src", f"/static/docs/{str(token.attrGet('src')).rpartition('/')[2]}")
        if not (dropped and token.type in {"link_open", "link_close"}):
            kept.append(token)
    return kept


def _address(folder: str, prefix: str, link: str) -> str | None:
    """Return the address of our page for a link in a text of this folder, or None if there is no such page. `prefix`:
    of the ids on the page with the link.
    """
    file, mark, name = link.partition("#")
    if not file:
        return f"#{prefix}{name}"
    path = normpath(join(folder, file))
    if (match := _PROTOCOL.fullmatch(path)) is not None:
        games = (game for game, found in folders().items() if found.path.name == match[1])
        return next((f"/games/{game}{mark}{mark and 'rules-'}{name}" for game in games), None)
    page = path.removeprefix("docs/").removesuffix(".md")
    return f"/docs/{page}{mark}{name}" if page in PAGES else None
