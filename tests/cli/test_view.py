"""`deadheat view`: what it writes, opens and refuses."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.cli.command import assert_one_sentence, invoke, read, succeeded
from tests.cli.test_bad_input import EXAMPLE
from tests.site.tournament import tournament


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The addresses that the browser was asked to open."""
    found: list[Path] = []

    def open_it(address: str) -> bool:
        found.append(Path(unquote(urlsplit(address).path)))
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    return found


def test_a_match_is_opened_from_a_file_of_its_own(opened: list[Path]) -> None:
    done = succeeded(invoke("view", EXAMPLE))
    (file,) = opened
    assert done.stdout == f"{file}\n" and file.name == "match.html"
    assert "verified by the rules" in file.read_text(encoding="utf-8")


def test_a_tournament_is_opened_from_its_folder(opened: list[Path], tmp_path: Path) -> None:
    folder = tournament(tmp_path / "a b", ["yacht-auction"])
    done = invoke("view", str(folder), "--json")
    assert json.loads(done.stdout) == {"file": str(folder / "report.html")}, done.stderr
    assert opened == [folder / "report.html"]


def test_a_transcript_comes_from_standard_input(opened: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "match.html"
    succeeded(invoke("view", "-", "--output", str(file), stdin=Path(EXAMPLE).read_text()))
    assert file.is_file() and opened == []


def test_what_cannot_be_shown_is_refused_in_a_sentence(opened: list[Path], tmp_path: Path) -> None:
    assert_one_sentence(invoke("view", str(tmp_path)), "there is no tournament in")
    assert_one_sentence(invoke("view", EXAMPLE, "--output", str(tmp_path / "no" / "file")), "no/file: No such file")
    forged = tmp_path / "forged.jsonl"
    forged.write_text(Path(EXAMPLE).read_text().replace('"ranks":[1,2]', '"ranks":[2,1]'))
    assert read(forged).result.ranks == (2, 1)
    assert_one_sentence(invoke("view", str(forged)), "is not verified", code=1)
    (tmp_path / "tournament.json").write_text('{"format": 2}')
    assert_one_sentence(invoke("view", str(tmp_path)), "was written by another version")
    assert opened == []
