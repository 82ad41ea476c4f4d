"""The page about training: its programs run, and its tables are the code's."""

import re

import pytest

from deadheat.training import VIEWS
from tests.cli.command import ROOT
from tests.docs.settings import observed

PAGE = (ROOT / "docs" / "how-to" / "train.md").read_text(encoding="utf-8")
TITLES = {"betris-large": "Betris (Large)", "liars-dice": "Liar's Dice", "yacht-auction": "Yacht Auction"}


def test_its_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(programs) == 2
    for program in programs:
        exec(compile(program, "docs/how-to/train.md", "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[:2]] == ["seat_0", "seat_1"]
    assert '"event":"challenge"' in said[2]


@pytest.mark.parametrize("game", sorted(VIEWS))
def test_it_names_every_field_and_every_action(game: str) -> None:
    section = PAGE.split(f"\n## {TITLES[game]}\n")[1].split("\n## ")[0]
    assert observed(game) in section, "python -m tests.docs.settings writes it anew"
    assert [line.split()[0] for line in str(VIEWS[game].layout).splitlines()] == [*VIEWS[game].layout.fields]
    assert max(map(int, re.findall(r"\d+", section))) >= VIEWS[game].actions - 1
    assert re.search(rf"\b{VIEWS[game].actions - 1}\b", section)
