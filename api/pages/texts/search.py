"""The search over docs and rules.

What is asked is reduced to the beginnings of its words, without words that are everywhere; each also stands for its
synonyms. A section has a word where one of these begins a word of it. Those with the most of the words are found, and
all numbers; first come the ones with rare words in their titles and headings.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import log
from pathlib import Path

from markupsafe import Markup, escape

from deadheat.api.pages.texts.markdown import PAGES, anchors, source
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import protocol_of
from deadheat.engine.language import _, gettext, language

KNOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Words that are everywhere, and synonyms."""

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_ENDING = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|s|e)$")


@dataclass(frozen=True, slots=True)
class _Section:
    """The part of a page below one heading, for the search."""

    page: str
    heading: str
    address: str
    text: str
    folded: tuple[str, str, str]
    """The page's title, the heading and the text, for comparisons."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that a search found, with the words around the first match."""

    section: _Section
    words: Markup


MOST_WORDS = 8
IN_TITLE, IN_HEADING, MOST_COUNTED = 3, 5, 4
"""What a word counts in a page's title and in a section's heading, and the most that it counts in the text."""


def matching(wanted: str, most_hits: int = 20) -> list[Hit]:
    """Return the likeliest of the sections with the most of the words, in order."""
    words = re.findall(r"\w+", wanted.casefold())
    words = ([word for word in words if word not in KNOWN["everywhere"].split()] or words)[:MOST_WORDS]
    patterns = []
    for word in words:  # what begins a word of a text with this word
        begins = _ENDING.sub("", word)
        others = {found for each in (word, begins) for found in KNOWN["synonyms"].get(each, "").split()}
        patterns.append(re.compile("|".join(rf"\b{each}" for each in (begins, *sorted(others)))))
    sections = _sections(language())
    counts = [[_count(pattern, section) for section in sections] for pattern in patterns]
    rarity = [log(1 + len(sections) / (1 + sum(map(bool, row)))) for row in counts]
    hits = []
    numbers = [at for at, word in enumerate(words) if word.isdecimal()]
    for section, *row in zip(sections, *counts, strict=True):
        found = sum(map(bool, row))
        if found and all(row[at] for at in numbers):
            hits.append((found, sum(count * rare for count, rare in zip(row, rarity, strict=True)), section))
    most = max((found for found, _, _ in hits), default=0)
    hits = sorted((hit for hit in hits if hit[0] == most), key=lambda hit: hit[1], reverse=True)
    marked = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    return [Hit(section, _around(section.text, marked)) for _, _, section in hits[:most_hits]]


def _count(pattern: re.Pattern[str], section: _Section) -> int:
    title, heading, text = section.folded
    count = IN_TITLE * bool(pattern.search(title)) + IN_HEADING * bool(pattern.search(heading))
    return count + min(MOST_COUNTED, len(pattern.findall(text)))


AROUND_CHARACTERS = 90


def _around(text: str, pattern: re.Pattern[str]) -> Markup:
    first = pattern.search(text)
    at = first.start() if first else 0
    part = text[text.rfind(" ", 0, max(0, at - AROUND_CHARACTERS)) + 1 : at + AROUND_CHARACTERS].rpartition(" ")[0]
    pieces, last = [], 0
    for match in pattern.finditer(part):
        pieces += [escape(part[last : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        last = match.end()
    return Markup("").join([*pieces, escape(part[last:])])


@cache
def _sections(reader: str) -> tuple[_Section, ...]:
    """Return all texts, divided at their headings, once for each language."""
    found: list[_Section] = []
    for page, name in PAGES.items():  # with the addresses of the English ones
        address, title = f"/docs/{page}", gettext(name)
        pairs = zip(_cut(title, address, "", source(page)), _cut(title, address, "", source(page, reader)), strict=True)
        found += [replace(shown, address=english.address) for english, shown in pairs]
    for name, game in GAMES.items():
        path = protocol_of(name, reader)
        if path is not None:
            title = _("Rules of %(game)s", game=gettext(game.title))
            found += _cut(title, f"/games/{name}", "rules-", path.read_text(encoding="utf-8"))
    return tuple(found)


def _cut(page: str, address: str, prefix: str, text: str) -> Iterator[_Section]:
    text = _FENCED.sub(lambda block: block[0].replace("\n", "\n "), text)  # a "#" there begins no heading
    pieces = [piece.partition("\n") for piece in re.split(r"^(?=#{1,4} )", text, flags=re.MULTILINE)[1:]]
    headings = [piece[0].lstrip("# ") for piece in pieces]
    for heading, name, (*_heading, body) in zip(headings, anchors(headings, prefix), pieces, strict=True):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", body)
        plain = " ".join(re.sub(r"-{3,}|```\w*|[`*|]", " ", words).split())
        title = heading.replace("`", "")
        folded = (page.casefold(), title.casefold(), plain.casefold())
        yield _Section(page, title, f"{address}#{name}", plain, folded)
