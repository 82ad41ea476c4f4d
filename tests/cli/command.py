"""Run the command as people do, in a process of its own, or inside this process, which saves a second."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from typer.testing import CliRunner

from deadheat.cli.main import PANELS, app, load
from deadheat.engine.core import Fault, Reply
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import Exchange, Transcript, decode
from tests.api.site import Site, token_in

ROOT = Path(__file__).resolve().parents[2]
GAME = "yacht-auction"
RANDOM = str(bots_of(GAME) / "random" / "main.py")


def deadheat(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deadheat.cli.main", *arguments]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/local/bin:/usr/bin:/bin"} | environment
    with tempfile.TemporaryDirectory() as home:  # for transcripts that nobody asked to keep
        environment |= {"HOME": home, "TMPDIR": home, "DEADHEAT_LOCK_DIR": home}
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        keeps_its_transcripts(done)
    return done


IN_ONE_PROCESS = """
import json, sys
from typer.testing import CliRunner
before, commands = json.load(sys.stdin)
exec(before)
from deadheat.cli.main import app
for command in commands:
    done = CliRunner().invoke(app, command.split())
    print(json.dumps([done.exit_code, done.stdout + done.stderr]), flush=True)
"""


def in_one_process(commands: Sequence[str], before: str = "", **environment: str) -> list[tuple[int, str]]:
    """Run these commands one after the other in one new process, which first executes `before`; return each exit code
    with its output.
    """
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS],
        input=json.dumps([before, commands]),
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [(code, said) for code, said in map(json.loads, done.stdout.splitlines())]


def keeps_its_transcripts(done: subprocess.CompletedProcess[str]) -> None:
    """Check that the transcripts named by `play --json` exist when it ends."""
    for match in done.stdout.splitlines() if "--json" in done.args and "play" in done.args else ():
        path = json.loads(match).get("transcript")
        assert path is None or Path(path).is_file()


def invoke(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = CliRunner().invoke(app, list(arguments), input=stdin)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def verbs() -> Iterator[tuple[str, Any]]:
    for name in (name for listed in PANELS.values() for name in listed):
        found = load(name)
        inner = getattr(found, "commands", {})
        yield from ((f"{name} {word}", command) for word, command in inner.items() if not command.hidden)
        if not inner:
            yield name, found


class Typing:
    """People who type commands for one server, each with a token (`headers`, by name)."""

    def __init__(self, site: Site, server: str) -> None:
        self.site, self.server = site, server
        self.headers = {"boss": site.organiser()}

    def run(self, who: str, *words: object) -> subprocess.CompletedProcess[str]:
        return invoke(*map(str, words), "--server", self.server, "--token", token_in(self.headers[who]))

    def says(self, who: str, *words: object) -> str:
        return succeeded(self.run(who, *words)).stdout

    def json(self, who: str, *words: object) -> Any:
        return json.loads(self.says(who, *words, "--json"))

    def rows(self, who: str, *words: object) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.says(who, *words, "--json").splitlines()]


def play(*bots: str, game: str = GAME, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder, mock.patch("tempfile.tempdir", folder):
        done = invoke("play", game, *bots, "--sandbox", "local", *options)
        keeps_its_transcripts(done)
    return done


def played(folder: Path, *bots: str, game: str = GAME, options: Sequence[str] = ()) -> Path:
    before = set(folder.glob("*.jsonl"))
    succeeded(play(*bots, game=game, options=["--matches", "1", "--transcripts", str(folder), *options]))
    (new,) = set(folder.glob("*.jsonl")) - before
    return new


def succeeded(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def assert_one_sentence(done: subprocess.CompletedProcess[str], sentence: str, code: int = 2) -> None:
    """Check that a command failed with this exit code and this sentence on stderr, and without a traceback."""
    assert done.returncode == code, (done.returncode, done.stderr)
    assert sentence in done.stderr
    assert sum(line.startswith("error: ") for line in done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def read(path: Path) -> Transcript:
    return decode(path.read_bytes())


def with_reply(transcript: Transcript, number: int, seat: int, line: str | None, fault: Fault | None) -> Transcript:
    exchange = transcript.exchanges[number]
    replies = {**exchange.replies, seat: Reply(line, exchange.replies[seat].elapsed_ns, fault)}
    forged = Exchange(exchange.messages, replies, exchange.events)
    return Transcript(
        transcript.game,
        transcript.rules_version,
        transcript.seats,
        transcript.seed,
        (*transcript.exchanges[:number], forged, *transcript.exchanges[number + 1 :]),
        transcript.result,
        transcript.about,
    )
