"""No text is outside the catalogues, and every message has its translation with the same placeholders."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from deadheat.api.services import SITE
from deadheat.engine.figures import counted
from deadheat.engine.games.folder import folders
from deadheat.engine.language import _, gettext, reading
from deadheat.league.locale import LANGUAGES, catalogue, preferred
from deadheat.league.locale.messages import PLACEHOLDER
from tests.language import outside
from tests.language.catalogue import PYTHON, TEMPLATES, gathered, kept, messages
from tests.test_tidy import ROOT

TRANSLATED = [name for name in LANGUAGES if name != "en"]
TAG = re.compile(r"</?[a-z][^>]*>")

PAGES = sorted(ROOT.glob("api/pages/**/*.py"))
SCRIPTS = sorted(
    path
    for path in (*(SITE / "static").glob("*.js"), *ROOT.glob("games/*/web/*.js"))
    if path.name not in ("kept.js", "report.js")
)
"""All scripts but the command's reports: those are English."""


@pytest.mark.parametrize("path", [*TEMPLATES, *PAGES], ids=lambda path: path.name)
def test_no_text_is_outside_the_catalogues(path: Path) -> None:
    found = outside.of_module(path) if path.suffix == ".py" else outside.of_template(path.read_text(encoding="utf-8"))
    assert found == [], path.name


def test_no_english_sentence_has_a_figure_in_another_language() -> None:
    """Such sentences use `plural`; otherwise a Korean reader's appeal would store evidence in two languages."""
    found = {path.name: told for path in PYTHON if "bots" not in path.parts if (told := outside.half_translated(path))}
    assert found == {}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_text_of_a_script_is_outside_the_catalogues(path: Path) -> None:
    assert outside.of_script(path.read_text(encoding="utf-8")) == []


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


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of Korean texts of one more game, whose folder is elsewhere."""
    module = ModuleType("odd_one")
    module.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    game = replace(next(iter(folders().values())), package=module.__name__)
    monkeypatch.setitem(folders(), "odd-one", game)
    path = game.translations("ko")
    path.parent.mkdir(parents=True)
    return path


def test_a_games_folder_adds_its_texts_and_changes_none_of_the_sites(brought: Path) -> None:
    brought.write_text(
        'msgid "Seasons"\nmsgstr "x"\n\nmsgid "An odd one"\nmsgstr "별난 것"\n\n'
        'msgid "%(count)s odd one"\nmsgid_plural "%(count)s odd ones"\nmsgstr[0] "별난 것 %(count)s개"\n'
    )
    with reading(catalogue.__wrapped__("ko")):
        assert [_("Seasons"), _("An odd one"), counted(2, "odd one")] == ["시즌", "별난 것", "별난 것 2개"]
    assert catalogue.__wrapped__("en").gettext("An odd one") == "An odd one"


def test_a_games_broken_catalogue_harms_nobody_else(brought: Path, caplog: pytest.LogCaptureFixture) -> None:
    brought.write_bytes(b'msgid "An odd one"\nmsgstr "\xff"\n')
    assert catalogue.__wrapped__("ko").gettext("Seasons") == "시즌"
    assert f"{brought} cannot be read" in caplog.text


def test_nothing_stays_nothing() -> None:
    with reading(catalogue("ko")):
        assert gettext("") == _("") == ""
