"""The languages of the site, and their catalogues: `LANGUAGE/LC_MESSAGES/deadheat.po`.

English is the messages themselves. A catalogue is read as translators leave it, when a process first needs it: nothing
is compiled beforehand, so that nothing can be out of date. CONTRIBUTING.md says how a text gets into it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from deadheat.engine.language import ENGLISH

LANGUAGES = {"en": "English", "ko": "한국어"}
"""The languages, each by its own name."""

LOCALE = Path(__file__).resolve().parent

MAX_WISHES = 20
_WEIGHT = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")


@cache
def catalogue(language: str) -> NullTranslations:
    """The catalogue of one of `LANGUAGES`."""
    if language == "en":
        return ENGLISH
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    with (LOCALE / language / "LC_MESSAGES" / "deadheat.po").open("rb") as source:
        write_mo(compiled, read_po(source, language))
    compiled.seek(0)
    return GNUTranslations(compiled)


@lru_cache(maxsize=1024)
def preferred(accept_language: str) -> str:
    """The one of `LANGUAGES` that a browser likes best, by its header Accept-Language (RFC 9110, 12.5.4)."""
    wishes: list[tuple[float, int, str]] = []
    for place, wish in enumerate(accept_language.split(",")[:MAX_WISHES]):
        name, _, weight = wish.partition(";")
        found = _WEIGHT.fullmatch(weight.strip() or "q=1")
        wishes.append((-float(found[1]) if found else 0.0, place, name.strip().lower().partition("-")[0]))
    return next((name for weight, _, name in sorted(wishes) if weight < 0 and name in LANGUAGES), "en")
