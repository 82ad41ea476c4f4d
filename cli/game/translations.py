"""Checks for `deadheat game check`: a game's texts in the site's languages other than English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from gettext import NullTranslations
from pathlib import Path

from deadheat.cli.game.looks import Advice
from deadheat.engine.games.folder import GameFolder
from deadheat.engine.language import reading
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript

LETTER = re.compile(r"%\(\w+\)s|[A-Za-z]")
PROSE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")


def translations(game: GameFolder, match: Transcript) -> Iterator[str]:
    """Look for texts that a reader of another language sees in English, which is advice, and for wrong translations."""
    with reading(_Unreadable()):
        scenes = document(match, [str(seat) for seat in range(match.seats)])["scenes"]
    untold = [scene["words"] for scene in scenes if PROSE.search(scene["words"])]
    if untold:
        yield Advice(f"every reader sees this in English: {untold[0]!r}; look texts up with `_`")
    try:
        from deadheat.league.locale import LANGUAGES
        from deadheat.league.locale.messages import of_game
    except ImportError:
        yield Advice("translations were not checked: deadheat[server] is not installed")
        return
    texts = {text if isinstance(text, str) else text[0] for text in of_game(game)}
    for language in LANGUAGES.keys() - {"en"}:
        yield from _of_language(game, language, texts)


class _Unreadable(NullTranslations):
    """A language whose words have no letters, so any text with letters was not looked up."""

    def gettext(self, message: str) -> str:
        return LETTER.sub(lambda found: found[0] if len(found[0]) > 1 else "-", message)

    def ngettext(self, one: str, more: str, count: int) -> str:
        return self.gettext(one if count == 1 else more)


def _of_language(game: GameFolder, language: str, texts: set[str]) -> Iterator[str]:
    from deadheat.league.locale import LANGUAGES, place
    from deadheat.league.locale.messages import PLACEHOLDER

    path = game.translations(language)
    own = _translated(path, language) if path.is_file() else {}
    missing = sorted(texts - own.keys() - _translated(place(language), language).keys())
    where = path.relative_to(game.path)
    if missing and not path.is_file():
        yield Advice(f"there is no {where}: {len(missing)} texts are in English for readers of {LANGUAGES[language]}")
        return
    yield from (Advice(f"{where} has no translation of {text!r}") for text in missing)
    for text, told in own.items():
        if sorted(PLACEHOLDER.findall(text)) != sorted(PLACEHOLDER.findall(told)):
            yield f"{where} translates {text!r} with different placeholders"


def _translated(path: Path, language: str) -> dict[str, str]:
    """Return a catalogue's translated messages. For those with a count, return the first form and its translation."""
    from deadheat.league.locale import read

    found = {}
    for message in read(path, language):
        text, told = (each if isinstance(each, str) else each[0] for each in (message.id, message.string or ""))
        if text and told and not message.fuzzy:
            found[text] = told
    return found
