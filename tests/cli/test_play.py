"""`deadheat play` as a person uses it: commands, output, exit codes."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from deadheat.cli.local import report
from deadheat.cli.local.play import Backend, Run
from deadheat.engine.core import TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.sandbox.arena import Arena, Played
from deadheat.sandbox.box import Exit, Program
from tests.cli.command import GAME, RANDOM, ROOT, assert_one_sentence, deadheat, invoke, play, played, read, succeeded


def test_json_has_one_object_a_match_and_a_summary(tmp_path: Path) -> None:
    done = succeeded(play("house:random", "house:greedy", options=["--matches", "3", "--seed", "x", "--json"]))
    *matches, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(match) for match in matches] == [
        {"match", "seed", "ranks", "points", "faults", "voided", "void_attempts", "transcript"}
    ] * 3
    assert [match["match"] for match in matches] == [0, 1, 2]
    summary = last["summary"]
    assert summary["matches"] == 3
    greedy = summary["bots"][1]
    assert greedy["wins"] + summary["bots"][0]["wins"] + summary["draws"] == 3
    assert greedy["share_95"][0] < greedy["share"] <= greedy["share_95"][1]
    assert greedy["mean_points"] is not None
    rolls = greedy["times"]["ROLL"]
    assert (rolls["prompts"], rolls["limit_ms"], sum(rolls["by_percent_of_limit"].values())) == (36, 500, 36)
    assert 0 < rolls["median_ms"] <= rolls["p99_ms"] <= rolls["slowest_ms"]
    assert rolls["cpu"]["prompts"] == 36
    again = play("house:random", "house:greedy", options=["--matches", "3", "--seed", "x", "--json"])
    assert [json.loads(line)["seed"] for line in again.stdout.splitlines()[:-1]] == [m["seed"] for m in matches]


class Sitting:
    """An arena that plays nothing: it always returns the same match, or (None) voids every attempt."""

    def __init__(self, found: Played | None) -> None:
        self.found, self.attempts = found, list[int]()

    def play(self, *_: object, attempt: int) -> Played:
        self.attempts.append(attempt)
        if self.found is None:
            raise TransportError("host-memory", "this machine ran out of memory")
        return self.found


def sat(tmp_path: Path, found: Played | None) -> tuple[Run, list[int]]:
    """Run one match in a `Sitting`, and return the run with the numbers of its attempts."""
    run, arena = Run(GAMES[GAME], ["one", "other"], tmp_path, Backend.LOCAL, as_json=False), Sitting(found)
    programs = [SimpleNamespace(label=name) for name in run.bots]
    run.play_all(cast(Arena, arena), cast(list[Program], programs), [b"s" * 16])
    return run, arena.attempts


def test_a_match_is_given_up_after_as_many_voids_as_in_a_league(tmp_path: Path, capsys) -> None:
    run, attempts = sat(tmp_path, None)
    assert attempts == list(range(1, MATCH_ATTEMPTS + 1))
    assert (run.score.abandoned, run.score.void_attempts) == (1, MATCH_ATTEMPTS)
    report.show(Console(width=100), GAME, run.bots, run.score, run.clock)
    told = capsys.readouterr()
    assert f"1 match was abandoned: each of {MATCH_ATTEMPTS} attempts was void" in told.out
    assert told.err.count("void: match 0: host-memory") == MATCH_ATTEMPTS


def test_who_was_killed_after_finish_is_told_by_play_and_explain(tmp_path: Path, capsys) -> None:
    example = read(ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl")
    ends = {0: Exit(0, None, False, b""), 1: Exit(None, None, True, b"")}
    for exits, seats in ((ends, [1]), ({0: ends[0], 1: ends[0]}, [])):
        run, _ = sat(tmp_path, Played(example, exits))
        assert [seat for seat in range(2) if run.summary()["bots"][seat]["killed_after_finish"]] == seats
        run.end()
        told = capsys.readouterr().err
        assert ("In 1 match seat 2 was still running a second after FINISH and was killed;" in told) is bool(seats)
        (path,) = tmp_path.glob("*.jsonl")
        for seat in range(2):
            explained = invoke("explain", str(path), "--seat", str(seat + 1))
            assert ("It was still running after a" in explained.stdout) is (seat in seats)
            as_json = json.loads(invoke("explain", str(path), "--seat", str(seat + 1), "--json").stdout)
            assert as_json["killed_after_finish"] is (seat in seats)


def test_a_matchs_own_seed_replays_its_dice() -> None:
    seed = "00112233445566778899aabbccddeeff"
    done = play("house:random", "house:random", options=["--matches", "1", "--seed", seed, "--json"])
    assert json.loads(done.stdout.splitlines()[0])["seed"] == seed


def test_a_fault_is_told_with_its_command_and_time(tmp_path: Path) -> None:
    bot = tmp_path / "mute.py"
    bot.write_text("input()\nprint('OK', flush=True)\nprint(input(), flush=True)\ninput()\n")
    done = succeeded(play(str(bot), "house:random", options=["--matches", "1", "--json"]))
    match = json.loads(done.stdout.splitlines()[0])
    (fault,) = match["faults"]
    assert (fault["seat"], fault["fault"], fault["command"]) == (0, "malformed", "ROLL")
    assert 0 <= fault["elapsed_ms"] < 500  # own time; the host may have taken all of it
    assert (match["ranks"], match["points"]) == ([2, 1], None)


def test_a_person_sees_the_score_the_faults_and_the_clock(tmp_path: Path) -> None:
    bot = tmp_path / "sleepy.py"
    bot.write_text("import time\ninput()\nprint('OK', flush=True)\ninput()\ntime.sleep(9)\n")
    done = succeeded(play(str(bot), "house:random", options=["--matches", "2"]))
    assert "yacht-auction: 2 matches, 0 drawn, 0 void attempts" in done.stdout and "2 x timeout at ROLL" in done.stdout
    assert "Elo of seat 1 over seat 2: " in done.stdout
    ready, roll = (
        next(line for line in done.stdout.splitlines() if line.startswith(f"  {command}"))
        for command in ("READY", "ROLL")
    )
    assert ready.endswith("3 s")
    assert roll.split()[-9] == "2"  # both of them late
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout + done.stderr  # not a terminal
    assert "explain" in done.stderr


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("input()\nprint('OK')\n{}['weights']\n", "Seat 1 failed by exited: KeyError: 'weights'\n"),
        ("input()\nprint('OK')\ninput()\nprint(end='no newline')\ninput()", "answered without a newline or a flush.\n"),
    ],
)
def test_a_fault_is_told_with_the_last_line_of_a_crash_or_what_to_do(program: str, told: str, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text(f"import sys\nsys.stdout.reconfigure(write_through=True)\n{program}")
    done = succeeded(play(str(bot), "house:random", options=["--matches", "1"]))
    assert told in done.stderr


def test_what_is_never_flushed_is_said_where_nothing_begins(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("input()\nprint(end='OK')\ninput()\n")
    done = play(str(bot), "house:random", options=["--matches", "1"])
    assert_one_sentence(done, "had answered without", code=1)


def test_without_a_terminal_a_line_comes_now_and_then() -> None:
    done = succeeded(play("house:random", "house:random", options=["--matches", "21", "--seed", "1"]))
    assert re.findall(r"^(\d+) of 21 matches: ", done.stderr, re.MULTILINE) == ["10", "20"]
    done = succeeded(play("house:random", "house:random", options=["--matches", "11", "--seed", "1", "--json"]))
    assert "of 11" not in done.stderr


def test_an_output_without_unicode_gets_other_bars() -> None:
    bots = ("house:random", "house:greedy")
    done = succeeded(deadheat("play", GAME, *bots, "--sandbox", "local", "--matches", "1", PYTHONIOENCODING="ascii"))
    assert "READY" in done.stdout and "?" not in done.stdout


def test_what_a_bot_writes_to_stderr_lies_beside_its_transcript(tmp_path: Path) -> None:
    bot = tmp_path / "talker.py"
    bot.write_text("import sys\nprint('hello', file=sys.stderr)\n" + Path(RANDOM).read_text())
    transcript = played(tmp_path, "house:random", str(bot), options=["--seed", "0" * 32])
    names = [transcript.name, f"{transcript.stem}.seat2.stderr"]
    assert sorted(path.name for path in tmp_path.glob(f"{GAME}*")) == names
    assert (tmp_path / f"{transcript.stem}.seat2.stderr").read_text() == "hello\n"
    options = ["--matches", "1", "--transcripts", str(tmp_path), "--seed", "0" * 32]
    assert play("house:random", "house:random", options=options).returncode == 0
    assert [path.name for path in tmp_path.glob(f"{GAME}*")] == [transcript.name]


@pytest.mark.parametrize(
    ("program", "told", "quoted"),
    [
        ("def start():\n    raise KeyError('weights')\nstart()\n", "(exited, after ", "KeyError: 'weights'"),
        ("print('hello, judge', flush=True)\ninput()\n", "did not get past READY: ", ""),
        ("import os\nos.abort()\n", "signal 6", ""),
    ],
)
def test_a_bot_that_fails_before_ready_ends_it_all(program: str, told: str, quoted: str, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text(program)
    done = play("house:random", str(bot), options=["--matches", "1000", "--json"])
    assert_one_sentence(done, told, code=1)
    assert f"{bot} (seat 2) did not get past READY" in done.stderr and quoted in done.stderr
    match, summary = (json.loads(line) for line in done.stdout.splitlines())
    assert match["faults"][0]["command"] == "READY"
    assert summary["summary"]["matches"] == 1


def test_ctrl_c_ends_with_what_was_played(tmp_path: Path) -> None:
    arguments = ["play", GAME, RANDOM, RANDOM, "--sandbox", "local", "--matches", "100000", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "deadheat.cli.main", *arguments, "--transcripts", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Commands in a shell's background ignore Ctrl-C, and so do their children, perhaps including these tests.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  one thread
    )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert json.loads(first)["match"] == 0
    matches = [json.loads(line) for line in rest.splitlines()]
    assert matches[-1]["summary"]["matches"] == len(matches)


def test_a_transcript_knows_who_played_and_where(tmp_path: Path) -> None:
    about = read(played(tmp_path, "house:random", RANDOM)).about
    assert about == {"match": 0, "players": ["house:random", RANDOM], "sandbox": "local"}


def test_a_terminal_gets_a_bar_with_the_running_score(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    arguments = ["play", GAME, "house:greedy", RANDOM, "--sandbox", "local", "--matches", "4"]
    process = subprocess.Popen(
        [sys.executable, "-m", "deadheat.cli.main", *arguments, "--transcripts", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"TERM": "xterm"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # a terminal reports a closed other end so
        while data := os.read(ours, 4096):
            seen += data
    os.close(ours)
    assert process.wait(60) == 0
    assert re.search(r"\d : \d, \d+ % \(\d+ to \d+\)(, Elo [+-]\d+)? .*━.*4/4", seen.decode())


@pytest.mark.containers
def test_the_default_is_the_judges_own_sandbox() -> None:
    done = succeeded(deadheat("play", GAME, "house:counter", "house:random", "--matches", "2", "--json"))
    assert json.loads(done.stdout.splitlines()[-1])["summary"]["matches"] == 2
    assert "NOT isolated" not in done.stderr
