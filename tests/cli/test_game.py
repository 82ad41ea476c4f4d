"""`deadheat game`: games from `new` play and pass, `check` says what is wrong, `serve` shows what was saved."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader

from deadheat.api.pages.render import templates
from deadheat.cli.game.check import SPOILT, tournament
from deadheat.engine.games.folder import folders
from tests.cli.command import ROOT, deadheat, invoke, succeeded
from tests.lanes import scaled


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game as `new` writes it; tests change copies of it."""
    folder = tmp_path_factory.mktemp("new") / "odd_one"
    succeeded(deadheat("game", "new", "odd-one", "--folder", str(folder)))
    return folder


@pytest.fixture
def written(new: Path, tmp_path: Path) -> Path:
    return shutil.copytree(new, tmp_path / "odd_one")


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


CHECK = f"""
from importlib import import_module
from deadheat.cli.main import app
import_module("deadheat.cli.game.check").SPOILT = {scaled(SPOILT, 40)}
app()
"""


def parts(folder: Path) -> tuple[int, dict[str, Any]]:
    """Return the exit code of `check` and its verdicts by part; rules get fewer spoilt replies than usual."""
    command = [sys.executable, "-c", CHECK, "game", "check", str(folder), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    answers: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {each["part"]: each for each in answers if "part" in each}


def test_what_new_writes_passes_the_check_without_advice(written: Path) -> None:
    code, found = parts(written)
    assert (code, [said for each in found.values() for said in each["complaints"]]) == (0, [])
    assert list(found) == [
        *("rules", "replies", "scenes", "terminal", "browser", "forms", "training", "protocol"),
        *("translations", "names", "bots"),
    ]


def test_a_new_game_by_turns_passes_too_and_its_answers_share_a_bank(tmp_path: Path) -> None:
    folder = tmp_path / "in_turn"
    succeeded(deadheat("game", "new", "in-turn", "--turns", "alternate", "--folder", str(folder)))
    code, found = parts(folder)
    assert (code, [said for each in found.values() for said in each["complaints"]]) == (0, [])
    play = ["play", "in-turn", "house:random", "house:matching", "--sandbox", "local", "--matches", "1"]
    kept = ["--set", "bank_ms=5000", "--transcripts", str(tmp_path / "kept")]
    succeeded(deadheat(*play, *kept, DEADHEAT_GAMES=str(folder)))
    (transcript,) = (tmp_path / "kept").glob("*.jsonl")
    turns = re.findall(r"\[([01]),\"PLAY \d (\d+) ", transcript.read_text())
    assert [seat for seat, _ in turns[:6]] == ["0", "1", "1", "0", "0", "1"]
    assert turns[0][1] == "5000" and int(turns[-1][1]) < 5000


def test_what_new_writes_plays_at_once(written: Path) -> None:
    bots = ["house:random", "house:matching"]
    done = deadheat("play", "odd-one", *bots, "--sandbox", "local", "--matches", "2", DEADHEAT_GAMES=str(written))
    assert done.returncode == 0, done.stderr
    assert "odd-one" in done.stdout


def test_what_new_writes_asks_a_person_by_its_own_form(written: Path) -> None:
    page = templates().env
    assert page.loader is not None
    page = page.overlay(loader=ChoiceLoader([page.loader, PrefixLoader({"odd": FileSystemLoader(written)})]))
    form = page.get_template("odd/turns.html").module.card({"cards": ["3", "9"]}, None)  # type: ignore[attr-defined]
    assert re.findall(r'name="card" value="(\d)"', form) == ["3", "9"]


def test_new_overwrites_nothing_and_wants_a_name(written: Path) -> None:
    assert invoke("game", "new", "odd-one", "--folder", str(written)).returncode == 2
    assert invoke("game", "new", "Odd One").returncode == 2


LEAK = 'self.events.append({"type": "prize", "round": round_number, "prize": prize})'
CARD = 'number(expect(line, "CARD", 1)[0])'
KOREAN = "locale/ko/LC_MESSAGES/messages.po"
DRAW = "draw(state) {"

DEFECTS = {
    "a leak": {"rules": ("rules.py", LEAK, "", "a leak, or an event is missing")},
    "a crash": {"rules": ("rules.py", CARD, "int(line.split()[1])", "raises")},
    "one of each part": {
        "terminal": ("terminal.py", "hand)) or", "nobody)) or", "NameError"),
        "browser": ("web/board.js", DRAW, "draw() { place.replaceChildren(); }, old(state) {", "drew"),
        "forms": ("turns.html", "macro card", "macro cards", "no macro card("),
        "training": ("training.py", "= 0", "= 1", "ends in a fault: illegal"),
        "protocol": ("protocol.md", "`overflow`", "`long`", "overflow"),
        "names": ("__init__.py", "=None)", '=None, panel=("best",))', "best, which"),
        "bots": ("bots/matching/main.py", "return prize", "return 10", "commits the fault"),
    },
    "another of each": {
        "replies": ("rules.py", CARD, f'int("0" + {CARD[7:-1]})', "raises"),
        "scenes": ("scenes.py", 'words = _("Prize', 'words = "" and _("Prize', "a sentence"),
        "browser": ("web/board.js", "const rows", "nothing(); const rows", "nothing"),
        "translations": (
            *(KOREAN, 'msgstr "상품 %(prize)s"', 'msgstr "상품 %(price)s"'),
            "'Prize %(prize)s' with different placeholders",
        ),
        "bots": ("bots/matching/main.py", "return prize", "return min(self.hand)", "random"),
    },
}


@pytest.mark.parametrize(
    "defects", [pytest.param(name, marks=[pytest.mark.all] if name == "another of each" else []) for name in DEFECTS]
)
def test_the_check_says_what_to_mend(written: Path, defects: str) -> None:
    for file, old, new, _ in DEFECTS[defects].values():
        change(written / file, old, new)
    code, found = parts(written)
    assert code == 1
    assert [part for part, said in found.items() if not said["right"]] == list(DEFECTS[defects])
    for part, (*_, said) in DEFECTS[defects].items():
        assert said in " ".join(found[part]["complaints"]), found


def test_a_text_without_a_translation_is_an_advice(written: Path) -> None:
    change(written / KOREAN, 'msgstr "카드"', 'msgstr ""')
    code, found = parts(written)
    assert code == 0
    assert "no translation of 'a card'" in " ".join(found["translations"]["complaints"])


@pytest.mark.all
def test_a_form_too_few_is_an_advice(written: Path) -> None:
    change(written / "forms.py", '"PLAY": _play', "")
    code, found = parts(written)
    assert code == 0
    assert "no form for PLAY" in " ".join(found["forms"]["complaints"])


@pytest.mark.all
def test_a_game_in_english_alone_is_advised_of_it(written: Path) -> None:
    shutil.rmtree(written / "locale")
    change(
        written / "scenes.py",
        '_("Prize %(prize)s is on offer.", prize=event["prize"])',
        '''f"Prize {event['prize']} is on offer."''',
    )
    code, found = parts(written)
    assert code == 0
    assert [said.partition(":")[0] for said in found["translations"]["complaints"]] == [
        "every reader sees this in English",
        "there is no locale/ko/LC_MESSAGES/messages.po",
    ]


def test_a_folder_without_a_game_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert "has no __init__.py" in invoke("game", "check", str(tmp_path)).stderr
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "__init__.py").write_text("GAME = 1\n")
    done = deadheat("game", "check", str(tmp_path / "bad"))
    assert done.returncode == 1
    assert "not a GameFolder" in " ".join(done.stderr.split())


def test_the_check_wants_a_house_bot_for_each_seat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    game = folders()["liars-dice"]
    monkeypatch.setattr(import_module("deadheat.cli.game.check"), "house_bots", lambda name: ("random",))
    assert list(tournament(game, tmp_path)) == [
        "bots holds 1 of the 2 bots that a match needs: write one that is stronger than random"
    ]


@pytest.fixture
def address(written: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "deadheat.cli.main", "game", "serve", str(written), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ) as running:
        assert running.stdout is not None
        found = re.search(r"http://\S+/", running.stdout.readline())
        assert found is not None
        yield found.group()
        running.terminate()


def test_serve_shows_what_was_saved_last(written: Path, address: str) -> None:
    def read(path: str) -> str:
        with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:
            text: str = answer.read().decode()
        return text

    assert "/match" in read("")
    first = read("state")
    assert "is on offer" in read("match")
    change(written / "scenes.py", "is on offer", "can be taken")
    assert read("state") != first
    assert "can be taken" in read("match")
    change(written / "scenes.py", "yield Scene", "yield Scone")
    assert "NameError" in read("match")
    change(written / "rules.py", "HIGHEST = 9", "HIGHEST = (")
    told = read("match")
    assert "was never closed" in told and "Traceback" not in told
