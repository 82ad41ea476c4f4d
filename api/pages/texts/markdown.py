"""Renders our own Markdown (docs/) as parts of pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from markupsafe import Markup

from deadheat.engine.games.folder import folders, protocol_of
from deadheat.engine.language import N_, language

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
    found = _rules(game, language())
    return f"/games/{game}#rules{'-' + anchor(found[1]) if found else ''}"


@cache
def rules_for_people(game: str, reader: str) -> Markup | None:
    """Render that section without the ids of rulings, which only authors of bots look up; None if there is none."""
    found = _rules(game, reader)
    if found is None:
        return None
    return rendered(_RULINGS.sub("", found[0]), titled=True)  # a section of its own, below the page's title


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
    if (found := _PROTOCOL.fullmatch(file)) is not None:
        games = (game for game, folder in folders().items() if folder.path.name == found[1])
        return next((f"/games/{game}{mark}{mark and 'rules-'}{name}" for game in games), None)
    found = _TEXT.fullmatch(file)
    return f"/about/{found[1]}{mark}{name}" if found is not None and found[1] in ABOUT else None
