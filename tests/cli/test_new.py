"""Starters, and programs as authors write them."""

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from deadheat.cli.author.new import starters
from deadheat.cli.console import ROOT, command
from deadheat.cli.local import bots
from deadheat.cli.local.play import Backend
from deadheat.cli.server import profiles
from deadheat.cli.server.client import LOCAL_SERVER, league
from deadheat.engine.games import GAMES
from deadheat.sandbox.box import Sandbox
from deadheat.sandbox.languages import LANGUAGES, detect
from deadheat.sandbox.local import LocalSandbox
from tests.cli.command import GAME, RANDOM, assert_one_sentence, invoke, play

COMPILERS = {"c": "gcc", "cpp": "g++"}
"""In the judge image are more languages; the starters in these are played there."""


def new(folder: Path, game: str = GAME, language: str = "python") -> list[str]:
    done = invoke("new", game, "--language", language, "--folder", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("language", ["python", *COMPILERS])
@pytest.mark.parametrize("game", GAMES)
def test_a_starter_builds_and_plays_without_a_fault(game: str, language: str, tmp_path: Path) -> None:
    if language in COMPILERS and not shutil.which(COMPILERS[language]):
        pytest.skip(f"there is no {COMPILERS[language]} here")
    new(tmp_path / "bot", game, language)
    done = play(str(tmp_path / "bot"), "house:random", game=game, options=["--matches", "5", "--seed", "1", "--json"])
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert summary["matches"] == 5
    assert [bot["faults"] for bot in summary["bots"]] == [{}, {}]


def test_what_comes_with_the_command_is_offered(tmp_path: Path) -> None:
    assert set(starters(GAME)) == set(LANGUAGES), "this game has a starter in every language"
    for language, files in starters(GAME).items():
        new(tmp_path / language, language=language)
        found = {path.name for path in (tmp_path / language).iterdir()} - {f"{GAME}.md"}
        assert found == set(files)
        manifest = tmp_path / language / "deadheat.toml"
        told = manifest.read_text() if manifest.exists() else None
        assert detect("bot", sorted(found), told) == (language, LANGUAGES[language].entries[0])


def test_the_language_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = ", ".join(starters("liars-dice"))
    done = invoke("new", "liars-dice", "--folder", str(tmp_path / "none"))
    sentence = f"choose a language with --language: {offered} (without a terminal, the command cannot ask)"
    assert_one_sentence(done, sentence)
    done = invoke("new", "liars-dice", "--language", "rust", "--folder", str(tmp_path / "none"))
    assert_one_sentence(done, f"there is no rust starter for liars-dice here; choose --language from {offered}")
    assert not (tmp_path / "none").exists()
    ours, theirs = pty.openpty()
    os.write(ours, b"c\n")
    with os.fdopen(theirs) as terminal:
        words = ["new", "liars-dice", "--folder", str(tmp_path / "asked")]
        done = subprocess.run(
            [sys.executable, "-m", "deadheat.cli.main", *words],
            cwd=ROOT, stdin=terminal, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
    os.close(ours)
    assert f"Language ({offered}):" in done.stderr and (tmp_path / "asked" / "main.c").is_file()


def test_a_command_of_a_league_knows_its_address_and_languages(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("deadheat.cli.server.client.ROOT", tmp_path)
    (tmp_path / "league.json").write_text('{"server": "https://league.example", "languages": ["c", "python"]}')
    league.cache_clear()
    try:
        told = new(tmp_path / "bot")
        refused = invoke("new", GAME, "--language", "rust")
        unknown = invoke("submit", "bot", "--game", GAME, "--name", "x")
    finally:
        league.cache_clear()
    assert any(line.endswith(" login --sign-up --server https://league.example") for line in told)
    assert_one_sentence(refused, f"there is no rust starter for {GAME} here; choose --language from python, c")
    assert_one_sentence(unknown, "you are not logged in at https://league.example: ", 1)


def test_the_commands_to_type_next_are_told_and_begin_with_an_account(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)

    def told(folder: str) -> list[list[str]]:
        done = invoke("new", GAME, "--language", "cpp", "--folder", folder)
        assert done.stdout.startswith(f"Wrote {folder}/main.cpp. ")
        steps = [line for line in done.stdout.splitlines() if line.startswith("  ") and "#" not in line]
        return [shlex.split(line) for line in steps]

    (guide,) = (Path(path) for path, *more in (words[1:] for words in told("one")) if path.endswith(".md"))
    assert guide.is_file()
    verbs = [words[1:] for words in told("two")]
    assert sum("play" in words for words in verbs) == 2, "also without Docker, where that is usual"
    monkeypatch.setattr("deadheat.cli.author.new.USUAL", Backend.LOCAL)
    assert sum("play" in words[1:] for words in told("of-an-author")) == 1
    assert ["play", GAME, "two", "house:random"] in verbs and ["better", "two"] in verbs
    login = ["login", "--sign-up", "--server", LOCAL_SERVER]
    submit = ["submit", "two", "--game", GAME, "--name", "two"]
    assert verbs.index(login) < verbs.index(submit) < verbs.index(["enter", "two", "--season", "1"])
    profiles.save(profiles.DEFAULT_PROFILE, profiles.Profile(server=LOCAL_SERVER, name="ada", token="dh_x"))
    assert login not in [words[1:] for words in told("three")]
    monkeypatch.setenv("DEADHEAT_SERVER", "https://league.example/")
    elsewhere = ["login", "--sign-up", "--server", "https://league.example"]
    assert elsewhere in [words[1:] for words in told("four")], "a login's token goes only to that login's server"
    monkeypatch.setenv("DEADHEAT_TOKEN", "dh_y")
    assert elsewhere not in [words[1:] for words in told("five")]
    assert ["enter", "my-bot", "--season", "1"] in [words[1:] for words in told("no name.of a bot")]


def test_what_is_printed_to_type_is_as_near_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for folder, start in ((ROOT, "./deadheat"), (ROOT / "docs", "../deadheat")):
        monkeypatch.chdir(folder)
        assert command("play") == f"{start} play"
    monkeypatch.chdir(tmp_path)
    assert shlex.split(command("play"))[0] == str(ROOT / "deadheat")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    new(tmp_path)
    (tmp_path / "main.py").write_text("mine\n")
    for language in ("python", "c", "cpp", "pypy"):
        done = invoke("new", GAME, "--language", language, "--folder", str(tmp_path))
        assert done.returncode == 2 and "nothing was written" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"main.py", "yacht_auction.py", f"{GAME}.md"}
    assert (tmp_path / "main.py").read_text() == "mine\n"


def test_a_folder_may_hold_other_things(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    new(tmp_path, language="c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "main.c", f"{GAME}.md", "yacht_auction.h"]


@pytest.mark.parametrize("game", GAMES)
def test_the_rules_that_a_starter_cites_are_beside_it(game: str, tmp_path: Path) -> None:
    new(tmp_path, game, "c")
    assert f" {game}.md" in (tmp_path / "main.c").read_text()
    page = (tmp_path / f"{game}.md").read_text()
    assert "READY" in page and "](../" not in page


def test_a_plain_program_is_run_by_the_authors_python_where_the_system_has_none(tmp_path: Path, monkeypatch) -> None:
    missing = LANGUAGES["python"].started_by("/nowhere/python 3")
    monkeypatch.setattr(bots, "LANGUAGES", {**LANGUAGES, "python": missing})
    program = bots.prepare(GAMES[GAME], str(RANDOM), LocalSandbox(), tmp_path / "bot")
    assert program.command == (shutil.which("python3"), "main.py")
    confined = cast(Sandbox, object())  # finds only what is in /usr
    assert bots._as_here(missing, confined) == missing
