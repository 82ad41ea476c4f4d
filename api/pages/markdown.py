"""Our own Markdown (docs/) as parts of pages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_PROTOCOL = re.compile(r"^(?:\.\./protocols/|protocols/)?([a-z0-9-]+)\.md$")


def rendered(text: str, *, titled: bool = False) -> Markup:
    """The text as HTML; `titled`: it begins with the page's title, else every heading goes a step down, for a page has
    one title. Raw HTML in the text stays text; links lead to pages of ours, or are none.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("table_open", _open_table)
    markdown.add_render_rule("table_close", _close_table)
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"} and not titled:
            token.tag = f"h{int(token.tag[1]) + 1}"
        if token.children:
            token.children = _linked(token.children)
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704  ours, escaped by its renderer


def _open_table(*_: object) -> str:
    return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'


def _close_table(*_: object) -> str:
    return "</table></div>\n"


def _linked(tokens: Sequence[Token]) -> list[Token]:
    kept, dropped = [], False
    for token in tokens:
        if token.type == "link_open":
            found = _PROTOCOL.match(str(token.attrGet("href")))
            dropped = found is None
            if found is not None:
                token.attrSet("href", f"/games/{found[1]}")
        if not (dropped and token.type in {"link_open", "link_close"}):
            kept.append(token)
    return kept
