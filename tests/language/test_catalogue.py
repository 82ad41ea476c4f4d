"""No text is outside the catalogues, and every message has its translation with the same placeholders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deadheat.api.services import SITE
from deadheat.engine.language import _, gettext, reading
from deadheat.league.locale import LANGUAGES, catalogue, preferred
from tests.language import outside
from tests.language.catalogue import PYTHON, TEMPLATES, gathered, kept, messages
from tests.test_tidy import ROOT

TRANSLATED = [name for name in LANGUAGES if name != "en"]
PLACEHOLDER = re.compile(r"%\(\w+\)[sdgr]|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")

ENGLISH = frozenset({"style.html", "style.py"})
"""The page for those who change the site."""

PAGES = sorted(ROOT.glob("api/pages/**/*.py"))
SCRIPTS = sorted(
    path
    for path in (*(SITE / "static").glob("*.js"), *ROOT.glob("games/*/web/*.js"))
    if path.name not in ("kept.js", "report.js")
)
"""Without those of the command's reports, which are English."""


@pytest.mark.parametrize("path", [*TEMPLATES, *PAGES], ids=lambda path: path.name)
def test_no_text_is_outside_the_catalogues(path: Path) -> None:
    found = outside.of_module(path) if path.suffix == ".py" else outside.of_template(path.read_text(encoding="utf-8"))
    assert bool(found) is (path.name in ENGLISH), f"{path.name}: {found}"


def test_no_english_sentence_has_a_figure_in_another_language() -> None:
    """Else a Korean reader's appeal would store evidence in two languages. Such sentences use `plural`."""
    found = {path.name: told for path in PYTHON if "bots" not in path.parts if (told := outside.half_translated(path))}
    assert found == {}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_text_of_a_script_is_outside_the_catalogues(path: Path) -> None:
    assert outside.of_script(path.read_text(encoding="utf-8")) == []


def test_a_text_that_a_script_does_not_say_is_found() -> None:
    source = 'make("p", "note late"); say("The end."); tell("The end of it."); tell(`${count} of the bots`);'
    assert outside.of_script(source) == ["1: The end of it.", f"1: {outside.UNKNOWN} of the bots"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("<p>Hello there</p>", ["Hello there"]),
        ('<img alt="A bot">', ["A bot"]),
        ('{{ "won" if x else "lost" }}', [f"{outside.UNKNOWN}wonlost"]),
        (
            '<p class="{{ "won" if x }}">{{ _("Hi") }} <code>a bot</code> {% trans %}there{% endtrans %}</p>',
            [],
        ),
    ],
)
def test_a_text_that_is_not_looked_up_is_found(source: str, told: list[str]) -> None:
    assert outside.of_template(source) == told


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalogue_has_every_message_of_the_sources_and_no_other(language: str) -> None:
    said, known = gathered(messages()), kept(language)
    assert {m.id for m in said if m.id} == {m.id for m in known if m.id}, "run python -m tests.language.catalogue"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_message_is_translated_with_its_placeholders_and_elements(language: str) -> None:
    wrong = []
    for message in kept(language):
        if not message.id:
            continue
        *_, said = [message.id] if isinstance(message.id, str) else message.id
        *_, told = [message.string] if isinstance(message.string, str) else message.string or [""]
        same = all(sorted(mark.findall(said)) == sorted(mark.findall(told)) for mark in (PLACEHOLDER, TAG))
        if not told or message.fuzzy or not same:
            wrong.append(message.id)
    assert wrong == []


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("", "en"),
        ("ko", "ko"),
        ("ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", "ko"),
        ("en-US,en;q=0.9,ko;q=0.8", "en"),
        ("de,ko;q=0.5,en;q=0.3", "ko"),
        ("de, fr;q=0.9", "en"),
        ("ko;q=0", "en"),
        ("*", "en"),
        ("ko;q=nonsense, en;q=0.1", "en"),
    ],
)
def test_a_browser_is_answered_in_the_language_that_it_likes_best(asked: str, language: str) -> None:
    assert preferred(asked) == language


def test_english_is_the_messages_themselves() -> None:
    assert catalogue("en").gettext("Seasons") == "Seasons"
    assert catalogue("ko").gettext("Seasons") == "시즌"


def test_nothing_stays_nothing() -> None:
    with reading(catalogue("ko")):
        assert gettext("") == _("") == ""
