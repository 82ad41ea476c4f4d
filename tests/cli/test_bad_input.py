"""A wrong argument gets one clear sentence and a non-zero exit code, never a traceback."""

import shutil
import socket
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import GAME, RANDOM, ROOT, assert_one_sentence, invoke

EXAMPLE = str(ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl")


def play(*bots: str, game: str = GAME) -> subprocess.CompletedProcess[str]:
    return invoke("play", game, *bots, "--sandbox", "local")


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("bot", "sentence"),
    [
        ("nowhere.py", "nowhere.py does not exist"),
        ("", "'' does not exist"),
        ("x" * 5000, "File name too long"),
        ("/dev/null", "/dev/null is neither a file nor a folder"),
        ("docs", "docs: The archive has no main.py, main.c, "),
        ("house:nobody", "there is no house bot 'nobody' for yacht-auction; choose from counter, "),
        ("house:../random", "there is no house bot '../random'"),
        ("pyproject.toml", "pyproject.toml is neither executable nor a source file of a known language (.py .c"),
        ("recorded:nowhere#1", "cannot read nowhere: No such file"),
        (f"recorded:{EXAMPLE}", "does not end with # and a seat"),
        (f"recorded:{EXAMPLE}#me", "does not end with # and a seat"),
        (f"recorded:{EXAMPLE}#3", "has seats 1 to 2, but no seat 3"),
        (f"recorded:{EXAMPLE}#0", "has seats 1 to 2, but no seat 0"),
        ("recorded:README.md#1", "README.md is not a usable transcript"),
        ("[red]\x1b[31m[/]\\[/x]", "[red]\\x1b[31m[/]\\[/x] does not exist"),
    ],
)
def test_a_bot_that_cannot_be(bot: str, sentence: str) -> None:
    assert_one_sentence(play(bot, "house:random"), sentence)


def test_a_recording_of_another_game() -> None:
    done = play(f"recorded:{EXAMPLE}#1", "house:random", game="betris-large")
    assert_one_sentence(done, f"{EXAMPLE} is a match of yacht-auction, not of betris-large")


def test_a_bot_that_does_not_compile_shows_why(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("def broken(:\n")
    done = play(str(bot), "house:random")
    assert_one_sentence(done, f"{bot} does not build: the build command failed with exit code 1")
    assert "SyntaxError" in done.stderr


def test_a_bot_of_two_languages(tmp_path: Path) -> None:
    for name in ("main.py", "main.c"):
        (tmp_path / name).touch()
    assert_one_sentence(play(str(tmp_path), "house:random"), "This could be c or python")


def test_a_folder_with_something_strange_in_it(tmp_path: Path) -> None:
    shutil.copy(RANDOM, tmp_path)
    with socket.socket(socket.AF_UNIX) as strange:
        strange.bind(str(tmp_path / "socket"))
        assert_one_sentence(play(str(tmp_path), "house:random"), f"{tmp_path} cannot be copied: ")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"#!/nowhere/to/be/found\n", "cannot start BOT: No such file or directory; does its first line (#!) name"),
        (b"no program at all\n", "cannot start BOT: Exec format error; does its first line (#!) name"),
    ],
)
def test_an_executable_that_does_not_start(content: bytes, sentence: str, tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.write_bytes(content)
    bot.chmod(0o755)
    assert_one_sentence(play(str(bot), "house:random"), sentence.replace("BOT", str(bot)), code=1)


def test_a_zip(tmp_path: Path) -> None:
    bot = tmp_path / "bot.zip"
    with zipfile.ZipFile(bot, "w") as archive:
        archive.write(RANDOM, "main.py")
    assert_one_sentence(play(str(bot), "house:random"), f"{bot} is a zip; unpack it and name the folder")


def test_an_empty_executable(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.touch(0o755)
    assert_one_sentence(play(str(bot), "house:random"), f"{bot} is empty")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["play", "chess", "a", "b"], "there is no game 'chess'; choose from "),
        (["play", GAME, RANDOM], "yacht-auction needs 2 bots, not 1"),
        (["play", GAME, *[RANDOM] * 3], "yacht-auction needs 2 bots, not 3"),
        (["play", GAME, RANDOM, RANDOM, "--transcripts", EXAMPLE], "cannot make the folder"),
        (["new", "chess", "--language", "python"], "there is no game 'chess'; choose from "),
        (["new", GAME, "--language", "c", "--folder", EXAMPLE], f"{EXAMPLE} is not a folder"),
        (["explain", EXAMPLE, "--seat", "3"], f"{EXAMPLE} has seats 1 to 2, but no seat 3"),
        (["replay", EXAMPLE, "--round", "14"], f"{EXAMPLE} has no round 14"),
    ],
)
def test_wrong_arguments(arguments: list[str], sentence: str) -> None:
    assert_one_sentence(invoke(*arguments), sentence)


@pytest.mark.parametrize(
    "arguments",
    [
        ["play"],
        ["play", GAME, RANDOM, RANDOM, "--matches", "none"],
        ["tournament", GAME, RANDOM, RANDOM, "--games", "0"],
        ["explain", EXAMPLE, "--seat", "0"],
        ["replay", EXAMPLE, "--speed", "-2"],
    ],
)
def test_arguments_that_are_no_arguments_show_the_usage(arguments: list[str]) -> None:
    done = invoke(*arguments)
    assert done.returncode == 2 and "Usage: " in done.stderr
    assert "Input should" not in done.stderr, "words for programmers"
    assert "Traceback" not in done.stderr


LOOKING = (["verify"], ["replay"], ["explain", "--seat", "1"])


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_a_file_that_cannot_be_read(verb: list[str], tmp_path: Path) -> None:
    assert_one_sentence(invoke(*verb, str(tmp_path / "nothing")), "nothing: No such file")
    assert_one_sentence(invoke(*verb, str(tmp_path)), ": Is a directory")


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    "content",
    [b"", b"{}\n", b"\x28\xb5\x2f\xfdrubbish", b"\xff\xfe\n\n\n", b"[" * 100_000 + b"\n\n\n"],
    ids=["empty", "no match", "damaged compression", "no text", "deep"],
)
def test_what_is_no_transcript(verb: list[str], content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert_one_sentence(invoke(*verb, str(file)), f"{file}: ", code=1)
