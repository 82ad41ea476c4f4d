"""`replay --into` plays a recorded match to a bot under a debugger, here pdb and gdb at a terminal of their own."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from deadheat.engine.games.folder import bots_of
from tests.cli.command import GAME, RANDOM, ROOT, assert_one_sentence, invoke, played, succeeded

STARTER = bots_of(GAME) / "starter" / "main.c"


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("bot") / "starter"
    subprocess.run(["gcc", "-g", "-O0", "-o", program, STARTER], check=True)
    return program


@pytest.fixture(scope="module")
def match(starter: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A match with the C starter in seat 1 and the random bot in seat 2."""
    return played(tmp_path_factory.mktemp("kept"), str(starter), RANDOM, options=["--seed", "7"])


def at_terminal(words: Sequence[str], dialogue: Sequence[Sequence[str]]) -> str:
    """Run the command at a terminal: wait for all texts of a step, type its last, and return all that was shown."""
    pid, terminal = os.forkpty()
    if not pid:
        os.environ.update(PYTHONPATH=str(ROOT / "src"), COLUMNS="200", TERM="dumb")
        os.execv(sys.executable, [sys.executable, "-m", "deadheat.cli.main", *words])
    shown, seen, deadline = "", 0, time.monotonic() + 60
    steps = [*dialogue, ("\0never", "")]
    for *expected, answer in steps:
        while not all(text in shown[seen:] for text in expected):
            assert time.monotonic() < deadline, shown
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                data = os.read(terminal, 4096)
            except OSError:  # everybody has left the terminal
                data = b""
            if not data:
                os.close(terminal)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                assert (expected, code) == (["\0never"], 0), shown
                return shown
            shown += data.decode()
        seen = len(shown)
        os.write(terminal, f"{answer}\n".encode())
    raise AssertionError(shown)


def test_a_bot_that_plays_as_it_did_answers_as_recorded(match: Path, starter: Path) -> None:
    done = succeeded(invoke("replay", str(match), "--into", str(starter)))
    assert "25 of 25 answers of seat 1 as recorded, 0 different" in done.stderr


def test_each_different_answer_is_named_and_a_bot_that_leaves_ends_the_match(match: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("input()\nprint('OK', flush=True)\ninput()\nprint('BID B 77', flush=True)\n")
    done = succeeded(invoke("replay", str(match), "--into", f"{sys.executable} {bot}"))
    assert ", now BID B 77" in done.stderr
    assert "exchange 1: recorded BID " in done.stderr
    assert "1 of 25 answers of seat 1 as recorded, 1 different" in done.stderr


def test_breakpoint_opens_pdb_at_the_terminal_while_the_input_is_the_match(match: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    text = Path(RANDOM).read_text()
    assert 'if command == "SCORE":' in text
    bot.write_text(text.replace('if command == "SCORE":', 'if command == "SCORE":\n            breakpoint()', 1))
    words = ["replay", str(match), "--seat", "2", "--into", f"{sys.executable} {bot}"]
    shown = at_terminal(words, [("(Pdb) ", "p 'it is ' + command"), ("(Pdb) ", "q")])
    assert "it is SCORE" in shown
    assert "answers of seat 2 as recorded" in shown


def test_pdb_runs_a_bot_from_its_first_line_and_stops_where_it_crashes(match: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("line = input()\nnumber = 1 / len(line.strip('READY'))\n")
    words = ["replay", str(match), "--into", f"{sys.executable} -m deadheat_pdb {bot}"]
    shown = at_terminal(words, [("line = input()", "c"), ("(Pdb) ", "p line * 2"), ("(Pdb) ", "q")])
    assert "ZeroDivisionError" in shown
    assert "'READYREADY'" in shown


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb here")
def test_gdb_stops_in_the_bot_and_runs_the_match_again(match: Path, starter: Path) -> None:
    into = f"gdb -q -nx -ex 'set confirm off' -ex 'break main' -ex 'run < {{lines}} > {{answers}}' {starter}"
    dialogue = [
        ("Breakpoint 1, main", "delete"),
        ("(gdb) ", "continue"),
        ("25 of 25 answers of seat 1 as recorded", "exited normally", "run"),
        ("25 of 25 answers of seat 1 as recorded", "exited normally", "quit"),
    ]
    at_terminal(["replay", str(match), "--into", into], dialogue)


def test_a_command_that_cannot_be_fed_is_refused(match: Path) -> None:
    for into, sentence in (
        ("gdb {lines}", "with both {lines} and {answers} or with neither"),
        ("gdb 'run", "--into: No closing quotation"),
        ("no-such-command", "cannot start no-such-command"),
    ):
        assert_one_sentence(invoke("replay", str(match), "--into", into), sentence)
    assert_one_sentence(invoke("replay", str(match), "--into", "true", "--seat", "3"), "has seats 1 to 2")
