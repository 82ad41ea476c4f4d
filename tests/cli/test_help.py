"""The command line itself: help, completion, JSON, exit codes and Ctrl-C."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from deadheat import __version__
from deadheat.cli.console import ending_in_order, undivided
from deadheat.cli.main import FIRST, GAMES_HELP, PANELS, PARTS, load, said_of
from deadheat.cli.server.wire import API
from deadheat.engine.games import GAMES
from tests.api.served import served
from tests.api.site import Site
from tests.cli.command import ROOT, deadheat, in_one_process, invoke, succeeded, verbs


def test_it_says_its_version() -> None:
    done = invoke("--version")
    assert (done.returncode, done.stdout) == (0, f"deadheat {__version__} (version {API} of the API)\n")


def test_every_verb_stands_in_the_panel_of_those_who_type_it() -> None:
    shown = invoke("--help").stdout
    panels = re.findall(r"^╭─ (.+?) ─", shown, re.MULTILINE)
    assert panels == ["Options", *PANELS], "no verb stands outside of them"


def test_nothing_shows_ten_commands_and_help_all_shows_the_rest() -> None:
    for words in ((), ("help",)):
        done = invoke(*words)
        assert done.returncode == 0
        assert tuple(re.findall(r"^│ ([a-z]+)  ", done.stdout, re.MULTILINE)) == FIRST and len(FIRST) == 10
        assert "`deadheat help all` lists" in " ".join(done.stdout.split())
    everything = invoke("help", "all").stdout
    assert everything == invoke("--help").stdout and "help all" not in everything
    assert invoke("help", "user", "ban").stdout == invoke("user", "ban", "--help").stdout


def test_a_servers_commands_are_listed_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lists() -> bool:
        return "Running a server" in invoke("help", "all").stdout

    assert lists()
    monkeypatch.setattr("deadheat.cli.main.find_spec", lambda name: None)
    assert not lists()
    assert invoke("serve", "--help").returncode == 0


def test_the_games_are_named() -> None:
    assert "`deadheat new --help` lists the games" in GAMES_HELP
    assert "house:random" in " ".join(invoke("--help").stdout.split())
    for verb in ("play", "tournament", "new"):
        assert all(game in invoke(verb, "--help").stdout for game in GAMES)


def test_a_verb_says_of_itself_what_the_list_says() -> None:
    for name in (name for panel in PANELS.values() for name in panel):
        assert load(name).help.partition("\n\n")[0] == said_of(name)


def test_a_servers_command_in_an_authors_install_says_what_to_install() -> None:
    words = {"backup": "folder", "restore": ".", "user": "role ada author", "jobs": "play 1"}
    words |= {"machine": "list", "machine-part": "http://localhost file 1"}
    asked = [f"{name} {words.get(name, '')}" for name in [*PANELS["Running a server"], *PARTS]]
    sentence = "this needs the server's packages: pip install 'deadheat[server]' (pydantic_settings is missing)"
    ends = in_one_process(asked, "sys.modules['pydantic_settings'] = None")
    assert ends == [(2, f"error: {sentence}\n")] * len(asked)


@cache
def script(shell: str) -> str:
    return succeeded(deadheat("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_is_printed(shell: str) -> None:
    assert f"_DEADHEAT_COMPLETE=complete_{shell}" in script(shell)


@pytest.mark.parametrize(
    ("words", "found"), [("wat", "watch"), ("submit --no", "--no-wait"), ("team hand", "hand-over")]
)
def test_bash_completes(tmp_path: Path, words: str, found: str) -> None:
    command = tmp_path / "deadheat"
    command.write_text(f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m deadheat.cli.main "$@"\n')
    command.chmod(0o755)
    count = len(words.split())
    asked = f"COMP_WORDS=(deadheat {words}) COMP_CWORD={count}; _deadheat_completion deadheat; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", f"{script('bash')}\n{asked}"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found in done.stdout.split(), done.stderr


def brought_by(program: str) -> set[str]:
    """Run a Python program, and return the modules that it imported."""
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_waits_for_no_library_that_it_does_not_need() -> None:
    """Each library takes a tenth of a second or more, and every completion would wait for all."""
    brought = brought_by("from typer.testing import CliRunner as C; from deadheat.cli.main import app; C().invoke(app)")
    assert {"typer", "deadheat.cli.main"} <= brought
    assert not brought & {"alembic", "celery", "docker", "numpy", "pydantic", "scipy", "sqlalchemy", "urllib3"}
    assert {name for name in brought if name.startswith("deadheat.")} <= {
        *("deadheat.cli", "deadheat.cli.main", "deadheat.cli.console"),
        *("deadheat.cli.server", "deadheat.cli.server.profiles"),
    }


def test_authors_commands_wait_for_no_library_of_servers() -> None:
    names = [name for panel, verbs in PANELS.items() if panel != "Running a server" for name in verbs]
    brought = brought_by(f"from deadheat.cli.main import load; print([load(name) for name in {names}])")
    assert {"urllib3", "deadheat.cli.local.play"} <= brought
    heavy = {"alembic", "celery", "docker", "fastapi", "httpx", "obstore", "platformdirs"}
    heavy |= {"pydantic_settings", "scipy", "sqlalchemy", "sqlmodel", "uvicorn", "zstandard"}
    assert not brought & heavy


def test_importing_the_library_brings_nothing_until_it_is_used() -> None:
    brought = brought_by("import deadheat")
    assert not {name for name in brought if name.startswith("deadheat.")} | brought & {"urllib3", "pydantic"}
    brought = brought_by("import deadheat; deadheat.Client")
    assert "urllib3" in brought and "deadheat.league.terms" not in brought


EXCEPTIONS = {
    "replay": "the transcript is JSON Lines itself",
    "export": "JSON Lines by itself",
    "run": "it becomes the command that it runs",
    **dict.fromkeys(("serve", "api", "worker", "scheduler"), "it runs until it is stopped"),
    **dict.fromkeys(("migrate", "upgrade"), "its exit code is the answer"),
}
"""Verbs without --json, each with the reason."""

PAGE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")


def test_every_verb_has_json_or_a_reason() -> None:
    found = {verb: any("--json" in option.opts for option in command.params) for verb, command in verbs()}
    assert len(found) > 50
    assert {verb for verb, has_json in found.items() if not has_json} == set(EXCEPTIONS)
    _, _, after = PAGE.partition("These have no `--json`: ")
    stated, _, _ = after.partition("\n\n")
    assert set(re.findall(r"`([a-z]+)`", stated)) - {"download"} | {"export"} == set(EXCEPTIONS)


def test_a_new_bot_and_its_loss_are_told_to_programs(tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    made = json.loads(invoke("new", "yacht-auction", "--language", "python", "--folder", str(folder), "--json").stdout)
    assert Path(made["file"]).is_file()
    assert all("deadheat" in step["command"] or "less" in step["command"] for step in made["next"])
    transcript = ROOT / "tests" / "transcripts" / "yacht-auction-forfeit.jsonl"
    lost = json.loads(invoke("explain", str(transcript), "--seat", "2", "--json").stdout)
    won = json.loads(invoke("explain", str(transcript), "--seat", "1", "--json").stdout)
    fault, happy = (lost, won) if lost["fault"] else (won, lost)
    assert fault["verified"] and fault["happened"] and fault["cure"]
    assert str(fault["seat"]) in happy["others"] and happy["fault"] is None
    assert 0 < len(happy["last_exchanges"]) <= 4
    assert "play yacht-auction" in fault["again"]
    first = json.loads(invoke("season", "settings", "--json").stdout.splitlines()[0])
    assert first.keys() == {"name", "default", "changes_until", "meaning"}


def test_exit_codes_are_the_documented_ones(tmp_path: Path) -> None:
    documented = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]
    assert documented == [0, 1, 2, 3, 130]  # 130, Ctrl-C: tests/cli/test_submit.py
    site = Site(tmp_path)
    with served(site.app) as server:
        assert invoke("season", "list", "--server", server).returncode == 0
        assert invoke("matches", "99", "--server", server).returncode == 1, "refused"
    site.close()
    assert invoke("matches", "--no-such-option").returncode == 2
    assert invoke("explain", str(tmp_path / "missing.jsonl"), "--seat", "1").returncode == 2
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        assert invoke("whoami", "--server", f"http://127.0.0.1:{port}", "--token", "dh_x").returncode == 3


IGNORED = """
import signal, time
from deadheat.cli.console import interruptible

class Fragile:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # as where an import ends: what is raised here, Python ignores

try:
    with interruptible():
        Fragile()
        time.sleep(30)
except KeyboardInterrupt:
    print("ended")
"""


def test_ctrl_c_ends_a_command_even_where_python_ignores_it() -> None:
    command = [sys.executable, "-c", IGNORED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_undivided_ends_before_a_signal_counts_unless_it_comes_twice(number: signal.Signals) -> None:
    reached: list[str] = []

    def interrupted(times: int) -> None:
        with ending_in_order():
            with undivided():
                for _ in range(times):
                    signal.raise_signal(number)
                reached.append("the end")
            reached.append("what follows")

    with pytest.raises(KeyboardInterrupt):
        interrupted(1)
    assert reached == ["the end"]
    with pytest.raises(KeyboardInterrupt):
        interrupted(2)
    assert reached == ["the end"]
