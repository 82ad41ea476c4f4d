"""`deadheat tournament` as a person starts it, with plain programs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.local.transcripts import read
from deadheat.cli.tournament import beginning
from deadheat.cli.tournament.worker import Stop, Stops
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.replay import replay
from tests.cli.command import GAME, ROOT, assert_one_sentence, deadheat, invoke, succeeded


@pytest.fixture(scope="module")
def bots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of bots: a program in C, one that leaves at once, and one in a folder of its own."""
    folder = tmp_path_factory.mktemp("bots")
    starter = bots_of(GAME) / "starter" / "main.c"
    subprocess.run(["gcc", "-O1", "-o", folder / "quick", starter], check=True)
    (folder / "quitter.py").write_text("input()\n")
    (folder / "other").mkdir()
    (folder / "other" / "main.c").write_text(starter.read_text().replace("100 * difference", "50 * difference"))
    return folder


def tournament(*words: str) -> subprocess.CompletedProcess[str]:
    return invoke("tournament", *words, "--sandbox", "local")


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]


def test_a_folder_of_bots_plays_everybody_against_everybody(bots: Path, tmp_path: Path) -> None:
    done = succeeded(tournament(GAME, str(bots), "--games", "3", "--seed", "x", "--folder", str(tmp_path / "t")))
    assert "\n10 of at most 12 games\n" in done.stderr, "a line now and then, where no terminal shows a table"
    log = log_of(tmp_path / "t")
    assert sorted(game["number"] for game in log) == list(range(12)), "three pairs, four games each: whole deals"
    assert Counter(label for game in log for label in game["players"]) == {"other": 8, "quick": 8, "quitter": 8}
    by_group = Counter((game["group"], game["seed"]) for game in log)
    assert set(by_group.values()) == {2}
    assert len({group for group, _ in by_group}) == len({seed for _, seed in by_group}) == 6
    for game in log:
        lost = [game["players"][fault["seat"]] for fault in game["faults"]]
        assert lost == (["quitter"] if "quitter" in game["players"] else [])
        if game["transcript"] is not None:
            kept = read(tmp_path / "t" / game["transcript"])
            replay(GAMES[GAME], kept)
            assert list(kept.result.ranks) == game["ranks"]
        if "other" in game["players"]:
            lost = game["ranks"][game["players"].index("other")] > 1
            assert (game["transcript"] is not None) == (bool(game["faults"]) or lost)
    assert "8 x exited at READY" in done.stdout
    report = (tmp_path / "t" / "report.html").read_text(encoding="utf-8")
    assert "(near 1: a single rating per bot explains the results).</p>" in report
    assert "Before you choose it, play" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:8])) <= 80
    assert json.loads(invoke("rate", str(tmp_path / "t" / "games.jsonl"), "--json").stdout)["games"] == 12


def test_one_more_bot_comes_later_and_nothing_is_played_twice(bots: Path, tmp_path: Path) -> None:
    quick, other, folder = str(bots / "quick"), str(bots / "other"), tmp_path / "t"
    assert tournament(GAME, quick, other, "--games", "4", "--folder", str(folder)).returncode == 0
    before = (folder / "games.jsonl").read_text()
    assert tournament("--resume", str(folder)).returncode == 0
    assert_one_sentence(tournament("--resume", str(folder), "--games", "2"), "it plays 4 games per pair already")
    assert (folder / "games.jsonl").read_text() == before
    forgetful = tmp_path / "forgetful.py"
    forgetful.write_text("open('seen', 'x')\n")
    succeeded(tournament(GAME, quick, str(forgetful), "--games", "4", "--folder", str(tmp_path / "writes")))
    succeeded(tournament("--resume", str(tmp_path / "writes"), "--games", "6"))
    succeeded(tournament("--resume", str(folder), quick))
    log = log_of(folder)
    assert (folder / "games.jsonl").read_text().startswith(before)
    pairs = Counter(tuple(sorted(game["players"])) for game in log)
    assert pairs == {("other", "quick"): 4, ("quick", "quick#2"): 4, ("other", "quick#2"): 4}
    (folder / "bots" / "00" / "bot").write_bytes(b"another")
    assert_one_sentence(tournament("--resume", str(folder)), "the program of quick in")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_in_order_and_the_rest_is_played_later(number: signal.Signals, bots: Path, tmp_path: Path) -> None:
    """SIGTERM goes to the whole group, as service managers and time limits send it: workers may end first. SIGKILL goes
    to a worker alone. A bot delays all but the first games by a second until the rest is played: too few games are
    over before the signal, and no delay comes near READY's limit. It starts no process, whose waits for a processor
    nobody here could tell from its own time.
    """
    slow, begun, go_on = tmp_path / "slow", tmp_path / "begun", tmp_path / "go-on"
    program = f"""
#include <fcntl.h>
#include <unistd.h>
int main(void) {{
    int begun = open("{begun}", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(begun, "x", 1) == 1 && lseek(begun, 0, SEEK_END) > 20 && access("{go_on}", F_OK)) sleep(1);
    return execl("{bots}/quick", "quick", NULL);
}}
"""
    subprocess.run(["gcc", "-xc", "-", "-o", slow], input=program, text=True, check=True)
    folder, locks = tmp_path / "t", tmp_path / "locks"
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], "DEADHEAT_LOCK_DIR": str(locks)}
    command = [sys.executable, "-m", "deadheat.cli.main", "tournament", GAME, str(slow), str(bots / "other")]
    options = ["--games", "60", "--sandbox", "local", "--folder", str(folder), "--keep", "none"]
    started = subprocess.Popen(
        [*command, *options],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    log = folder / "games.jsonl"
    while not log.exists() or log.stat().st_size < 1500:
        assert started.poll() is None, started.communicate()
        time.sleep(0.01)
    if number == signal.SIGKILL:
        os.kill(int(Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()[0]), number)
    else:
        os.killpg(started.pid, number)
    _, stderr = started.communicate(timeout=60)
    assert started.returncode == (1 if number == signal.SIGKILL else 130), stderr
    assert ("was killed by SIGKILL" in stderr) == (number == signal.SIGKILL)
    assert f"--resume {folder}" in stderr and "Traceback" not in stderr
    text = log.read_text()
    assert text.endswith("\n")
    played = [json.loads(line)["number"] for line in text.splitlines()]
    assert 0 < len(played) < 60
    log.write_text(text + '{"number": 7, "pl')
    go_on.touch()
    done = succeeded(invoke("tournament", "--resume", str(folder), "--json"))
    assert sorted(game["number"] for game in log_of(folder)) == list(range(60))
    *games, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(games) == 60 - len(played)
    assert last["summary"]["games"] == 60
    assert [bot["faults"] for bot in last["summary"]["bots"]] == [{}, {}]


def test_sigterm_breaks_in_only_where_it_is_allowed() -> None:
    before = signal.getsignal(signal.SIGTERM)
    stops = Stops()
    try:
        with pytest.raises(Stop), stops:
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # the boxes are being closed
        with pytest.raises(Stop), stops:
            pytest.fail("the signal came before, and is still to be obeyed")
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_sequential_test_stops_by_itself(bots: Path, tmp_path: Path) -> None:
    panel = [str(bots / "quitter.py"), str(bots / "other")]
    words = [GAME, str(bots / "quick"), panel[0], "--sprt", "0,100", "--folder", str(tmp_path / "t"), "--json"]
    test = json.loads(succeeded(tournament(*words)).stdout.splitlines()[-1])["summary"]["sprt"]
    assert test["verdict"] == "accept"
    assert test["games"] < 100, "of 20,000"
    assert_one_sentence(tournament(GAME, *panel, panel[0], "--sprt", "0,20"), "add --format gauntlet")
    assert_one_sentence(tournament(GAME, *panel, "--sprt", "20,0"), "--sprt takes two differences")
    assert_one_sentence(tournament(GAME, *panel, "recorded:x#1"), "recorded:x#1 fits the dice of its own match only")


def test_a_gate_lets_pass_who_meets_its_conditions(bots: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate.toml"
    text = 'panel = ["{0}/quitter.py"]\ngames = 10\n[[condition]]\nno_loss = "quit*"\n[[condition]]\nno_fault_in = 10\n'
    gate.write_text(text.format(bots))
    passed = succeeded(tournament(GAME, str(bots / "quick"), "--gate", str(gate), "--folder", str(tmp_path / "a")))
    assert "quick passes\n  met     no loss to quitter in 10 games" in passed.stdout
    failed = tournament(GAME, str(bots / "quitter.py"), "--gate", str(gate), "--folder", str(tmp_path / "b"), "--json")
    assert failed.returncode == 1, failed.stderr
    judged = json.loads(failed.stdout.splitlines()[-1])["summary"]["gate"]["quitter"]
    assert [verdict["met"] for verdict in judged] == [False, False]
    assert "10 faults in 10 (10 x exited at READY)" in judged[1]["sentence"]
    broken = bots.parent / "broken.c"  # what is refused is refused before anything is built
    broken.write_text("no C")
    gate.write_text(text.format(bots).replace('"quit*"', '"rush-*"'))
    refused = tournament(GAME, str(broken), "--gate", str(gate), "--folder", str(tmp_path / "c"))
    assert_one_sentence(refused, "no bot of the gate's panel")
    gate.write_text(f'panel = ["{bots}/quitter.py"]\ngames = 18\n[[condition]]\nnot_worse_than = "{bots}/other"\n')
    refused = tournament(GAME, str(broken), "--gate", str(gate), "--folder", str(tmp_path / "d"))
    assert refused.returncode == 2 and "sprt = [-100.0, 0.0] needs more than 18 games" in " ".join(
        refused.stderr.split()
    )


@pytest.mark.containers
@pytest.mark.all
def test_containers_are_played_in_too(tmp_path: Path) -> None:
    words = [GAME, "house:starter", "house:random", "--games", "4", "--keep", "all", "--folder", str(tmp_path / "t")]
    succeeded(deadheat("tournament", *words))
    log = log_of(tmp_path / "t")
    assert len(log) == 4
    assert not any(game["faults"] for game in log)
    assert read(tmp_path / "t" / log[0]["transcript"]).about["sandbox"] == "docker"


def test_tables_of_three(tmp_path: Path) -> None:
    words = ["liars-dice", "house:starter", "house:starter", "house:starter", "house:starter", "--seats", "3"]
    succeeded(tournament(*words, "--games", "1", "--keep", "none", "--folder", str(tmp_path / "t")))
    log = log_of(tmp_path / "t")
    assert {len(game["players"]) for game in log} == {3}
    for group in {game["group"] for game in log}:
        tables = [game["players"] for game in log if game["group"] == group]
        assert all(sorted(seat) == sorted(tables[0]) for seat in zip(*tables, strict=True)), "each seat once"
    assert list((tmp_path / "t" / "games").iterdir()) == []


def test_what_is_no_tournament_is_one_sentence(bots: Path, tmp_path: Path) -> None:
    quick = str(bots / "quick")
    for words, sentence in (
        (["chess", quick, quick], "there is no game 'chess'"),
        ([GAME, quick], "2 seats need 2 bots, not 1"),
        ([GAME, quick, str(tmp_path / "none")], "does not exist"),
        ([GAME, quick, quick, "--seats", "3"], "needs 2 seats"),
        ([GAME, quick, quick, "--concurrency", "some"], "--concurrency is a number from 1"),
        (["--resume", str(tmp_path)], "there is no tournament in"),
        ([GAME, quick, quick, "--sprt", "0,20", "--until", "30"], "choose one"),
    ):
        assert_one_sentence(tournament(*words, "--folder", str(tmp_path / "t")), sentence)
    assert not (tmp_path / "t" / "tournament.json").exists()


def test_bots_that_cannot_be_built_are_named_together_and_the_rest_plays_if_wanted(bots: Path, tmp_path: Path) -> None:
    field = tmp_path / "field"
    field.mkdir()
    (field / "broken.py").write_text("if:\n")
    (field / "wrong.c").write_text("int main(void) { return x; }\n")
    words = [GAME, str(field), str(bots / "quick"), str(bots / "quitter.py"), "--games", "2", "--folder"]
    refused = tournament(*words, str(tmp_path / "none"))
    assert refused.returncode == 2
    assert "2 of 4 bots cannot be built, so nothing was played; --leave-out plays the other 2" in refused.stderr
    for told in ("broken.py does not build", "wrong.c does not build", "SyntaxError", "undeclared"):
        assert told in refused.stderr, told
    done = succeeded(tournament(*words, str(tmp_path / "t"), "--leave-out"))
    assert {label for game in log_of(tmp_path / "t") for label in game["players"]} == {"quick", "quitter"}
    assert done.stderr.count("not built:") == 2
    gauntlet = ("--format", "gauntlet", "--leave-out", "--folder", str(tmp_path / "g"))
    first = tournament(GAME, str(field / "wrong.c"), str(bots / "quick"), *gauntlet)
    assert_one_sentence(first, "wrong.c does not build")
    added = succeeded(tournament("--resume", str(tmp_path / "t"), str(field), str(bots / "other"), "--leave-out"))
    assert "built other" in added.stderr and len(log_of(tmp_path / "t")) == 6


def test_a_folder_is_one_bot_or_many(bots: Path, tmp_path: Path) -> None:
    game = GAMES[GAME]
    assert [Path(name).name for name in beginning.named(game, [str(bots)])] == ["other", "quick", "quitter.py"]
    assert beginning.named(game, [str(bots / "other")]) == [str(bots / "other")]
    side_by_side = tmp_path / "side"
    side_by_side.mkdir()
    for name in ("a.py", "b.py", "notes.txt"):
        (side_by_side / name).write_text("")
    assert [Path(name).name for name in beginning.named(game, [str(side_by_side)])] == ["a.py", "b.py"]
    assert "house:starter" in beginning.named(game, ["house:*"])
    assert beginning.label_of(str(bots / "other" / "main.c")) == beginning.label_of(f"{bots}/other/") == "other"


def test_run_keeps_others_off_its_processors(tmp_path: Path) -> None:
    script = "import os, sys, time; print(sorted(os.sched_getaffinity(0)), flush=True); sys.stdin.read()"
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], "DEADHEAT_LOCK_DIR": str(tmp_path)}
    run = [sys.executable, "-m", "deadheat.cli.main", "run", "--cpus"]
    cpus = os.sched_getaffinity(0)
    pipe = subprocess.PIPE
    all_cpus = [*run, str(len(cpus)), "--", sys.executable, "-c", script]
    holder = subprocess.Popen(all_cpus, env=environment, text=True, stdin=pipe, stdout=pipe)
    assert holder.stdout is not None
    assert json.loads(holder.stdout.readline()) == sorted(cpus)
    command = [*run, "1", "--", "sh", "-c", "exit 7"]
    waiter = subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE)
    assert waiter.stderr is not None
    told = waiter.stderr.readline()
    assert f"waiting for 1 of {len(cpus)} processors. Taken: processor" in told and f"(process {holder.pid}, " in told
    assert waiter.poll() is None
    holder.communicate()
    assert waiter.wait(30) == 7
    waiter.stderr.close()
    missing = subprocess.run([*run, "1", "--", "no-such-command"], env=environment, capture_output=True, check=False)
    assert missing.returncode == 127


@pytest.mark.parametrize("more", [(), pytest.param(("house:*",), marks=pytest.mark.all)])
def test_more_games_at_a_time_than_processors_come_to_an_end(more: tuple[str, ...], bots: Path, tmp_path: Path) -> None:
    words = [GAME, *[str(bots / "quick"), str(bots / "other")] * 2, *more, "--games", "2", "--keep", "none"]
    succeeded(tournament(*words, "--concurrency", "3", "--folder", str(tmp_path / "t")))
    labels = json.loads((tmp_path / "t" / "tournament.json").read_text())["bots"]
    assert len(log_of(tmp_path / "t")) == len(labels) * (len(labels) - 1)
