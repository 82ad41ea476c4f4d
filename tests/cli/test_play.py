"""The local kit as a person uses it: commands, output, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard

from engine.transcript import decode, encode
from workers.context import BOTS

GAME = "yacht-auction"
RANDOM = str(BOTS / GAME / "random" / "main.py")


def deadheat(*arguments: str, cwd: Path = BOTS.parent) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli.main", *arguments]
    environment = {"PYTHONPATH": str(BOTS.parent), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    with tempfile.TemporaryDirectory() as home:  # where transcripts go that nobody asked to keep
        environment |= {"HOME": home, "TMPDIR": home}
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        for match in done.stdout.splitlines() if "--json" in arguments else ():
            path = json.loads(match).get("transcript")
            assert path is None or Path(path).is_file()
    return done


def play(*bots: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    return deadheat("play", GAME, *bots, "--sandbox", "local", *options)


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transcripts")
    done = play("house:random", RANDOM, options=["--matches", "1", "--transcripts", str(folder)])
    assert done.returncode == 0, done.stderr
    (found,) = folder.iterdir()
    return found


def test_json_has_one_object_a_match_and_a_summary(tmp_path: Path) -> None:
    done = play("house:random", "house:greedy", options=["--matches", "3", "--seed", "x", "--json"])
    assert done.returncode == 0, done.stderr
    *matches, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(match) for match in matches] == [
        {"match", "seed", "ranks", "points", "faults", "voided", "void_attempts", "transcript"}
    ] * 3
    assert [match["match"] for match in matches] == [0, 1, 2]
    assert last["summary"]["matches"] == 3
    again = play("house:random", "house:greedy", options=["--matches", "3", "--seed", "x", "--json"])
    assert [json.loads(line)["seed"] for line in again.stdout.splitlines()[:-1]] == [m["seed"] for m in matches]


def test_a_matchs_own_seed_replays_its_dice() -> None:
    seed = "00112233445566778899aabbccddeeff"
    done = play("house:random", "house:random", options=["--matches", "1", "--seed", seed, "--json"])
    assert json.loads(done.stdout.splitlines()[0])["seed"] == seed


def test_a_fault_is_told_with_its_command_and_time(tmp_path: Path) -> None:
    bot = tmp_path / "mute.py"
    bot.write_text("input()\nprint('OK', flush=True)\nprint(input(), flush=True)\ninput()\n")
    done = play(str(bot), "house:random", options=["--matches", "1", "--json"])
    match = json.loads(done.stdout.splitlines()[0])
    (fault,) = match["faults"]
    assert (fault["seat"], fault["fault"], fault["command"]) == (0, "malformed", "ROLL")
    assert 0 < fault["elapsed_ms"] < 500
    assert (match["ranks"], match["points"]) == ([2, 1], None)


@pytest.mark.parametrize(
    ("bot", "sentence"),
    [
        ("nowhere.py", "nowhere.py does not exist"),
        ("house:nobody", "there is no house bot 'nobody' for yacht-auction; there is counter, expert, greedy, random"),
        ("house:../random", "there is no house bot '../random'"),
        (
            "pyproject.toml",
            "pyproject.toml is neither executable nor a source file of a known language (.py .c",
        ),
    ],
)
def test_a_bot_that_cannot_be_is_one_sentence(bot: str, sentence: str) -> None:
    done = play(bot, "house:random")
    assert done.returncode == 2
    assert sentence in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_bot_that_does_not_compile_shows_why(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("def broken(:\n")
    done = play(str(bot), "house:random")
    assert done.returncode == 2
    assert "SyntaxError" in done.stderr
    assert "does not build" in done.stderr


def test_an_executable_that_cannot_be_started_is_one_sentence(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.write_text("#!/nowhere/to/be/found\n")
    bot.chmod(0o755)
    done = play(str(bot), "house:random")
    assert done.returncode == 1
    assert "cannot start" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chess", "a", "b"], "there is no game 'chess'; there is "),
        ([GAME, RANDOM], "yacht-auction is played by 2 bots, not by 1"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments: list[str], sentence: str) -> None:
    done = deadheat("play", *arguments, "--sandbox", "local")
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_transcript_verifies_packed_or_not(transcript: Path, tmp_path: Path) -> None:
    packed = tmp_path / "match.jsonl.zst"
    packed.write_bytes(zstandard.compress(transcript.read_bytes()))
    for file in (transcript, packed):
        done = deadheat("verify", str(file))
        assert (done.returncode, done.stderr) == (0, "")
        assert "verified, 26 exchanges of yacht-auction" in done.stdout


def test_a_forged_transcript_fails_with_the_exchange(transcript: Path, tmp_path: Path) -> None:
    honest = decode(transcript.read_bytes())
    exchange = honest.exchanges[3]
    message = exchange.messages[-1]
    forged_message = type(message)(message.seat, "ROLL 66666 66666", message.limit_ns)
    forged = type(exchange)((*exchange.messages[:-1], forged_message), exchange.replies, exchange.events)
    exchanges = (*honest.exchanges[:3], forged, *honest.exchanges[4:])
    lie = type(honest)(
        honest.game, honest.rules_version, honest.seats, honest.seed, exchanges, honest.result, honest.about
    )
    file = tmp_path / "forged.jsonl"
    file.write_bytes(encode(lie))
    done = deadheat("verify", str(file), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["exchange"] == 3
    assert "exchange 3" in done.stderr


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\x28\xb5\x2f\xfdrubbish", b"\xff\xfe\n\n\n"])
def test_what_is_no_transcript_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    done = deadheat("verify", str(file))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    done = deadheat("verify", str(tmp_path / "nothing"))
    assert done.returncode == 2
    assert "cannot read" in done.stderr


@pytest.mark.containers
def test_the_default_is_the_judges_own_sandbox() -> None:
    done = deadheat("play", GAME, "house:counter", "house:random", "--matches", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["summary"]["matches"] == 2
    assert "NOT isolated" not in done.stderr
