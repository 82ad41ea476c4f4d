"""The search over docs and rules."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup, escape

from deadheat.api.pages.texts.markdown import anchor
from deadheat.api.pages.texts.shelves import PAGES, source
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import protocol_of
from deadheat.engine.language import _, gettext, language


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
    pages = [(gettext(title), f"/docs/{page}", "", source(page)) for page, title in PAGES.items()]
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
