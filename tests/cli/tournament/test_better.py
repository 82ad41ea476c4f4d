"""`deadheat better` as an author uses it, with plain programs and a small panel."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.local.bots import HIDDEN
from deadheat.cli.tournament import better
from deadheat.cli.tournament.beginning import read_gate
from deadheat.cli.tournament.runner import Interrupted, Runner
from deadheat.engine.games.folder import bots_of
from deadheat.sandbox.host.slots import lock
from tests.cli.command import GAME, RANDOM, assert_one_sentence, invoke, succeeded

GREEDY = bots_of(GAME) / "greedy" / "main.py"


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bot that plays any legal move, in a folder as `deadheat new` writes it, with a panel of one."""
    monkeypatch.chdir(tmp_path)
    succeeded(invoke("new", GAME, "--language", "python", "--folder", "my-bot"))
    shutil.copy(RANDOM, tmp_path / "my-bot" / "main.py")
    hidden = tmp_path / "my-bot" / HIDDEN
    hidden.mkdir()
    (hidden / better.GATE).write_text('panel = ["house:greedy"]\ngames = 4\n\n[[condition]]\nno_fault_in = 4\n')
    return tmp_path / "my-bot"


def outcome(code: int, *options: str) -> dict[str, Any]:
    done = invoke("better", "my-bot", "--sandbox", "local", "--json", *options)
    assert done.returncode == code, done.stdout + done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def history(bot: Path) -> list[str]:
    return [test.outcome.value for test in better.read_history(bot)]


def changed(bot: Path, comment: str) -> None:
    with (bot / "main.py").open("a") as stream:
        stream.write(f"# {comment}\n")


def test_a_better_bot_is_accepted_and_an_equal_one_is_not(bot: Path) -> None:
    shown = succeeded(invoke("better", "my-bot", "--sandbox", "local")).stdout
    assert "Test 1: base.\nNothing was accepted before: this copy is the base." in shown
    assert outcome(0)["outcome"] == "unchanged" and history(bot) == ["base"]
    shutil.copy(GREEDY, bot / "main.py")
    done = succeeded(invoke("better", "my-bot", "--sandbox", "local", "--note", "the best category"))
    assert "Stops at 50 rather than 0 normalised Elo; 5 % wrong verdicts" in done.stderr, "what is tested"
    assert "accepted: change is stronger by 50 normalised Elo or more" in done.stdout
    assert re.search(r"\nTest 2: accepted. Difference \+\S+ Elo, 95 % from \+\S+ to \+\S+ \(at its stop", done.stdout)
    accepted = bot / HIDDEN / better.ACCEPTED
    assert (accepted / "main.py").read_bytes() == GREEDY.read_bytes() and not (accepted / HIDDEN).exists()

    changed(bot, "nothing better")
    facts = outcome(1, "--games", "4")
    assert (facts["outcome"], facts["games"], facts["panel_games"]) == ("undecided", 4, 0)
    assert facts["elo"][0] < 0 < facts["elo"][2]
    facts = outcome(1, "--games", "8")
    assert (facts["number"], facts["outcome"], facts["games"]) == (3, "undecided", 8), "the same test goes on"
    facts = outcome(1, "--games", "400")
    assert (facts["number"], facts["outcome"]) == (3, "rejected") and facts["llr"] < -2.9
    done = invoke("better", "my-bot", "--sandbox", "local")
    assert done.returncode == 1 and "known: in test 3. Testing it again" in done.stderr
    assert (accepted / "main.py").read_bytes() == GREEDY.read_bytes()
    assert history(bot) == ["base", "accepted", "rejected"]
    shown = succeeded(invoke("better", "my-bot", "--history")).stdout
    assert "2: the best category" in shown and max(map(len, shown.splitlines())) <= 80
    row = next(line for line in shown.splitlines() if " rejected " in line)
    assert re.search(r" [-|]*o[-|]* +$", row), "an equal bot differs little from 0"


def test_the_gate_asks_for_what_the_accepted_copy_has_shown(bot: Path) -> None:
    shutil.copy(GREEDY, bot / "main.py")
    gate = bot / HIDDEN / better.GATE
    gate.write_text(gate.read_text().replace("games = 4", "games = 40"))
    outcome(0)
    read = read_gate(gate)
    assert (read.panel, read.games) == (["house:greedy"], 40)
    bounds = [condition.sprt for condition in read.condition if condition.sprt]
    assert len(bounds) == 1 and -300 < bounds[0][1] <= 0, "it plays as the panel does"
    shutil.copy(RANDOM, bot / "main.py")
    done = invoke("tournament", GAME, "my-bot", "--gate", str(gate), "--sandbox", "local", "--folder", "t")
    assert done.returncode == 1 and "my-bot does not pass" in done.stdout


def test_a_bot_that_fails_is_no_base(bot: Path) -> None:
    (bot / "main.py").write_text("input()\nprint('OK', flush=True)\n")
    facts = outcome(1)
    assert facts["outcome"] == "rejected" and facts["why"][0].startswith("no fault in 4 games: 4 faults in 4")
    assert not (bot / HIDDEN / better.ACCEPTED).exists() and history(bot) == ["rejected"]


def test_an_interrupted_test_goes_on_and_a_changed_one_is_dropped(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome(0)
    shutil.copy(GREEDY, bot / "main.py")

    def interrupted(runner: Runner, deals: object, block: int) -> None:
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(Runner, "play", interrupted)
        done = invoke("better", "my-bot", "--sandbox", "local")
        assert done.returncode == 130 and "stopped after 0 games. To continue: " in done.stderr
        changed(bot, "while it was played")
        assert invoke("better", "my-bot", "--sandbox", "local").returncode == 130
    assert history(bot) == ["base", "dropped", "running"]
    assert (bot / HIDDEN / better.RUNS / "0003" / "test").is_dir()
    facts = outcome(0)
    assert (facts["number"], facts["outcome"]) == (3, "accepted")
    with (bot / HIDDEN / better.HISTORY).open("a") as stream:
        stream.write('{"number":4,"ga')
    assert history(bot) == ["base", "dropped", "accepted"], "a line that was cut short does not count"
    changed(bot, "for the line after it")
    assert outcome(1)["outcome"] == "rejected" and history(bot)[2:] == ["accepted", "rejected"]


def test_two_calls_do_not_accept_each_others_copies(bot: Path) -> None:
    (bot / HIDDEN / better.RUNS).mkdir()
    with (bot / HIDDEN / better.RUNS / "lock").open("ab") as stream:
        assert lock(stream.fileno())
        assert_one_sentence(invoke("better", "my-bot", "--sandbox", "local"), "another deadheat better is testing in")
    assert history(bot) == []


def test_a_copy_that_does_not_build_cannot_be_left_out(bot: Path) -> None:
    changed(bot, "\n)")
    done = invoke("better", "my-bot", "--sandbox", "local")
    assert done.returncode == 2 and "change does not build" in done.stderr and "--leave-out" not in done.stderr


def test_what_cannot_be_tested_is_said(bot: Path) -> None:
    assert_one_sentence(invoke("better", "nowhere"), "nowhere is not a folder")
    (bot / f"{GAME}.md").unlink()
    assert_one_sentence(invoke("better", "my-bot"), "choose the game with --game")
    assert "Nothing has been tested yet." in succeeded(invoke("better", "my-bot", "--history")).stdout
    (bot / "main.py").rename(bot / "one.py")
    shutil.copy(RANDOM, bot / "two.py")
    done = invoke("better", "my-bot", "--game", GAME, "--sandbox", "local")
    assert_one_sentence(done, "my-bot holds several bots")
