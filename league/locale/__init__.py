"""The site's languages and their catalogues: `LANGUAGE/LC_MESSAGES/deadheat.po`, and those in games' folders.

The messages themselves are the English texts. A process reads a catalogue, as its translators left it, when it first
needs it: nothing is compiled beforehand, so nothing can be out of date. CONTRIBUTING.md says how a text gets into it. A
game's translations are used where the site has none, so no game changes the site's words.
"""

from __future__ import annotations

import logging
import re
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from deadheat.engine.games.folder import folders
from deadheat.engine.language import ENGLISH

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

log = logging.getLogger(__name__)

LANGUAGES = {"en": "English", "ko": "한국어"}
"""The languages, each with its own name for itself."""

LOCALE = Path(__file__).resolve().parent

MAX_WISHES = 20
_WEIGHT = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")


@cache
def catalogue(language: str) -> NullTranslations:
    """Return the catalogue of one of `LANGUAGES`."""
    if language == "en":
        return ENGLISH
    translations = _compiled(place(language), language)
    for game in folders().values():
        if (path := game.translations(language)).is_file():
            try:
                translations.add_fallback(_compiled(path, language))
            except Exception:  # whatever is wrong in one game's file, the site continues
                log.exception("%s cannot be read; its game is shown in English", path)
    return translations


def place(language: str) -> Path:
    """Return the path of the site's own catalogue."""
    return LOCALE / language / "LC_MESSAGES" / "deadheat.po"


def read(path: Path, language: str) -> Catalog:
    """Read a catalogue as translators leave it."""
    from babel.messages.pofile import read_po

    with path.open("rb") as source:
        return read_po(source, language)


def _compiled(path: Path, language: str) -> GNUTranslations:
    from babel.messages.mofile import write_mo

    compiled = BytesIO()
    write_mo(compiled, read(path, language))
    compiled.seek(0)
    return GNUTranslations(compiled)


@lru_cache(maxsize=1024)
def preferred(accept_language: str) -> str:
    """Return the member of `LANGUAGES` that a browser prefers, by its header Accept-Language (RFC 9110, 12.5.4)."""
    wishes: list[tuple[float, int, str]] = []
    for place, wish in enumerate(accept_language.split(",")[:MAX_WISHES]):
        name, _, weight = wish.partition(";")
        parsed = _WEIGHT.fullmatch(weight.strip() or "q=1")
        wishes.append((-float(parsed[1]) if parsed else 0.0, place, name.strip().lower().partition("-")[0]))
    return next((name for weight, _, name in sorted(wishes) if weight < 0 and name in LANGUAGES), "en")
