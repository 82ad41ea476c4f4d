"""`deadheat tune` as a person starts it, with plain programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.tournament.runner import Interrupted, Runner
from deadheat.cli.tuning import command
from deadheat.cli.tuning.state import Parameter
from tests.cli.command import assert_one_sentence, invoke, succeeded

GAME = "liars-dice"

BOT = """
import json, os, sys

def parameter(name, default):
    given = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("--" + name)]
    return float(given[0] if given else os.environ.get(name, default))

weakness = abs(parameter("AIM", 1) - 6) / 12 + abs(parameter("CARE", 0.1) - 0.6)
turn = 0
for line in sys.stdin:
    if line.startswith("READY"):
        print("OK", flush=True)
    elif line.startswith("FINISH"):
        break
    elif "event" not in (view := json.loads(line)):
        turn += 1
        luck = sum(die * (turn + n * n + 3) for n, die in enumerate(view["myDice"])) % 97 / 97
        bid = view["currentBid"] or {"quantity": 0, "faceValue": 6}
        if luck < weakness or bid["quantity"] > view["totalDiceInPlay"] // 2:
            print('{"type": "challenge"}' if bid["quantity"] else '{"type": "resign"}', flush=True)
        else:
            print(json.dumps({"type": "bid", "quantity": bid["quantity"] + 1, "faceValue": 6}), flush=True)
"""
"""A bot that is the better the nearer its two parameters are to 6 and 0.6."""

PARAMETERS = ("--param", "AIM=0..12", "--param", "CARE=0.0..1.0")


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bot") / "aimer.py"
    file.write_text(BOT)
    return file


def tune(*words: object) -> subprocess.CompletedProcess[str]:
    return invoke("tune", *map(str, words), "--game", GAME, "--sandbox", "local", "--concurrency", "2")


def points_of(folder: Path) -> Any:
    return json.loads((folder / "tune.json").read_text())["points"]


def games_of(folder: Path) -> list[tuple[int, str, tuple[int, ...]]]:
    lines = (folder / "search" / "games.jsonl").read_text().splitlines()
    return sorted((game["number"], game["seed"], tuple(game["ranks"])) for game in map(json.loads, lines))


def test_a_search_is_tested_with_fresh_games_and_leaves_a_picture(bot: Path, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    words = (bot, *PARAMETERS, "--against", bot, "--games", "160", "--sprt", "0,200", "--seed", "s", "--folder", folder)
    done = succeeded(tune(*words, "--json"))
    answer = json.loads(done.stdout.splitlines()[-1])
    assert abs(answer["values"]["AIM"] - 6) < 4, answer
    assert abs(answer["values"]["CARE"] - 0.6) < 0.4, answer
    assert answer["check"]["verdict"] == "accept"
    searched = {seed for _, seed, _ in games_of(folder)}
    checked = [json.loads(line) for line in (folder / "check" / "games.jsonl").read_text().splitlines()]
    assert 0 <= len(checked) - answer["check"]["games"] < 4, "a game more may have been on its way"
    assert not searched & {game["seed"] for game in checked}, "the strength comes from fresh games alone"
    page = (folder / "tune.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert "http" not in page.partition("<main>")[2].partition("<script")[0]

    again = succeeded(tune("--resume", folder))
    assert "accepted: tuned is stronger" in again.stdout
    assert f"AIM = {answer['values']['AIM']:g}" in again.stdout
    assert max(map(len, again.stdout.splitlines()[:5])) <= 80


def test_an_interrupted_search_continues_as_if_it_had_not_been(
    bot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (bot, *PARAMETERS, "--against", bot, "--games", "100", "--sprt", "0,300", "--seed", "s", "--arguments")
    tune(*words, "--folder", tmp_path / "whole")
    with monkeypatch.context() as patch:

        class Stopped(Runner):
            def play(self, deals: Any, block: int) -> None:
                if deals[0].group.startswith("16/"):
                    super().play(deals[:5], block)
                    raise Interrupted
                super().play(deals, block)

        patch.setattr(command, "Runner", Stopped)
        done = tune(*words, "--folder", tmp_path / "parts")
        assert done.returncode == 130
        assert f"tune --resume {tmp_path / 'parts'}" in done.stderr
        assert len(games_of(tmp_path / "parts")) == 42
    tune("--resume", tmp_path / "parts")
    assert points_of(tmp_path / "parts") == points_of(tmp_path / "whole")
    assert games_of(tmp_path / "parts") == games_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("text", "shares", "values"),
    [
        ("A=0..10", (0, 0.04, 0.06, 1), (0, 0, 1, 10)),
        ("A=-5..5", (0, 0.5, 1), (-5, 0, 5)),
        ("A=0..10/4", (0, 0.4, 0.99, 1), (0, 4, 8, 8)),
        ("_b2=0.0..1.0", (0, 0.123456, 1), (0, 0.1235, 1)),
        ("A=0.1..0.9/0.2", (0.5, 0.6), (0.5, 0.5)),
    ],
)
def test_a_parameter_has_whole_values_unless_a_bound_has_a_point(text: str, shares: Any, values: Any) -> None:
    parameter = Parameter.read(text)
    assert tuple(map(parameter.value, shares)) == values


def test_what_cannot_be_searched_is_refused_before_anything_is_built(bot: Path, tmp_path: Path) -> None:
    for words, sentence in (
        (("--param", "AIM"), "AIM is not NAME=LOW..HIGH"),
        (("--param", "AIM=3..3"), "there is nothing between 3 and 3"),
        (("--param", "AIM=0...3"), "AIM=0...3 is not NAME=LOW..HIGH"),
        (("--param", "AIM=0.1.2..3"), "AIM=0.1.2..3 is not NAME=LOW..HIGH"),
        ((), "name 1 to 8 different parameters"),
        (("--param", "AIM=0..3", "--param", "AIM=0..4"), "name 1 to 8 different parameters"),
        (("--param", "MISSPELT=0..3"), "contains MISSPELT, so the bot cannot read it"),
        (("--param", "AIM=0..3", "--sprt", "20,0"), "--sprt takes two differences"),
    ):
        assert_one_sentence(tune(bot, *words, "--folder", tmp_path / "no"), sentence)
    assert_one_sentence(tune("nowhere", "--param", "AIM=0..3"), "nowhere is not a file or folder")
    assert_one_sentence(tune("--resume", tmp_path), "there is nothing to continue")
    contained = invoke("tune", str(bot), "--param", "AIM=0..3", "--game", GAME, "--sandbox", "docker")
    assert_one_sentence(contained, "in containers, variables reach no bot: add --arguments")
    assert_one_sentence(tune(bot, "--resume", tmp_path), "--resume continues as the search began")
    assert not (tmp_path / "no").exists()


def test_a_bot_that_fails_with_all_values_ends_the_search_at_once(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("import os\nfloat(os.environ['AIM'])\nfloat(os.environ['CARE'])\n")
    done = tune(tmp_path / "bot.py", *PARAMETERS, "--against", "house:random", "--folder", tmp_path / "t")
    assert_one_sentence(done, "the bot failed in each of 32 games; why: ", 1)
    told = done.stderr.rpartition("explain ")[2].split()
    assert "exited at READY" in succeeded(invoke("explain", *told)).stdout


@pytest.mark.all
def test_the_values_reach_a_bot_in_a_container(bot: Path, tmp_path: Path) -> None:
    words = (bot, *PARAMETERS, "--game", GAME, "--against", bot, "--games", "100", "--sprt", "0,400", "--arguments")
    done = succeeded(invoke("tune", *map(str, words), "--sandbox", "docker", "--folder", str(tmp_path / "t")))
    assert "accepted: tuned is stronger" in done.stdout
