"""The shelves of the documentation, as docs/shelves.toml lists them, and the texts of their pages."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deadheat.api.services import SITE

DOCS = SITE.parents[1] / "docs"
PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Pages of one purpose. `pages` are names such as "start/author", in order."""

    title: str
    pages: tuple[str, ...]


_TABLE = tomllib.loads((DOCS / "shelves.toml").read_text(encoding="utf-8"))
SHELVES = [
    Shelf(each["title"], tuple(f"{each['folder']}/{name}" for name in each["pages"])) for each in _TABLE["shelf"]
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
    """Return the page's text in the reader's language, or in English."""
    return (translation(page, reader) or DOCS / f"{page}.md").read_text(encoding="utf-8")


PAGES = {page: source(page).partition("\n")[0].removeprefix("# ") for shelf in SHELVES for page in shelf.pages}
"""Title by page, in the order of reading."""


def neighbours(page: str) -> tuple[str | None, str | None]:
    """Return the pages before and after this one; None at an end."""
    order = list(PAGES)
    at = order.index(page)
    return (order[at - 1] if at else None), (order[at + 1] if at + 1 < len(order) else None)
