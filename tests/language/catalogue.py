"""Gather every message that people are told from the sources into each language's catalogue:

    python -m tests.language.catalogue

adds new messages, without a translation, and drops those that no source has any more. Messages are those in sources
(`league.locale.messages`) and the words of our enumerations, which templates look up with the filter `word`.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from http import HTTPStatus
from io import BytesIO

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from deadheat.api.errors import STATUS
from deadheat.api.pages.organiser.season_form import in_form
from deadheat.api.pages.render import said_by_scripts
from deadheat.api.pages.texts.markdown import PAGES, SHELVES
from deadheat.api.services import SITE
from deadheat.engine import figures
from deadheat.engine.core import Fault
from deadheat.engine.games.folder import folders
from deadheat.league import states
from deadheat.league.locale import LANGUAGES, place, read
from deadheat.league.locale.messages import Message, counted, declared, of_python, of_template
from deadheat.league.terms import TERMS, Group
from tests.test_tidy import ROOT

TEMPLATES = sorted(
    path
    for path in (*(SITE / "templates").glob("*.html"), *ROOT.glob("games/*/*.html"))
    if not path.name.startswith(("report-", "reference."))
)
"""All templates but the command's reports and the API's reference, which are in English."""

PYTHON = [
    path
    for folder in ("api", "engine", "games", "league", "sandbox", "workers")
    for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
]
WORDS: tuple[type[StrEnum], ...] = (
    *(Fault, states.Absence, states.AppealState, states.ChallengeState, states.DeliveryState, states.EvaluationState),
    *(states.Fitness, states.JobState, states.MatchState, states.Role, states.SeasonState, states.VersionState),
)


def messages() -> Iterator[Message]:
    for path in TEMPLATES:
        yield from of_template(path.read_text(encoding="utf-8"))
    for path in PYTHON:
        yield from of_python(path)
    for game in folders().values():
        yield from declared(game)
    yield from said_by_scripts()
    for words in WORDS:
        yield from (word.value for word in words)
    yield from (*(shelf.title for shelf in SHELVES), *PAGES.values())
    for step in states.SEASON_STEPS.values():
        if step.date:
            yield from (word := step.date.removesuffix("_at"), word.capitalize())
        yield from filter(None, (step.verb, step.note, step.becomes, step.past))
    yield from (group.value for group in Group)
    for term in TERMS.values():
        yield term.setting.label
        yield from term.setting.options.values() or [in_form(term)]
    yield from (HTTPStatus(status).phrase for status in {*STATUS.values(), 400, 405, 500} - {413, 422})
    # Versions of Python name these differently:
    yield from ("Content Too Large", "Request Entity Too Large", "Unprocessable Content", "Unprocessable Entity")
    yield from (counted([name]) for name, _ in figures.UNITS)


def gathered(found: Iterable[Message]) -> Catalog:
    catalogue = Catalog(fuzzy=False)
    for message in found:
        catalogue.add(message)
    return catalogue


def kept(language: str) -> Catalog:
    path = place(language)
    return read(path, language) if path.exists() else Catalog(locale=language, project="Deadheat", fuzzy=False)


def write(language: str, catalogue: Catalog) -> None:
    """Write a catalogue without sources and dates, which would change every time."""
    text = BytesIO()
    write_po(text, catalogue, width=118, omit_header=True, no_location=True, sort_output=True, ignore_obsolete=True)
    place(language).write_bytes(HEAD.format(language=language).encode() + text.getvalue())


HEAD = """msgid ""
msgstr ""
"Language: {language}\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""

if __name__ == "__main__":
    for name in LANGUAGES:
        if name != "en":
            catalogue = kept(name)
            catalogue.update(gathered(messages()), no_fuzzy_matching=True)
            write(name, catalogue)
