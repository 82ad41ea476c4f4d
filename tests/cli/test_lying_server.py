"""Servers that lie: what they say becomes no path outside the user's folder, no traceback and no terminal's command."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deadheat.cli import console
from deadheat.cli.organiser import archive
from deadheat.engine.transcript import encode
from tests.cli.command import ROOT, assert_one_sentence, invoke, read, succeeded

Answers = Mapping[str, Any]
"""What a server says, by the beginning of the path; the first that fits. Anything but bytes is sent as JSON."""

OUTSIDE = "../" * 12
STRANGE = [f"{OUTSIDE}escaped", "/escaped", "..", "1/../../../../../escaped", "a\\b", "1\x1b]0;x\x07", "x" * 5000]


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The answers of a server that the commands ask, which run in an empty folder."""
    answers: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = unquote(self.path)
            said = next((said for name, said in answers.items() if path.startswith(name)), None)
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(404 if said is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815  the standard library's names

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
    monkeypatch.setenv("DEADHEAT_SERVER", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("DEADHEAT_TOKEN", "token")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr(archive, "STALE_SECONDS", 0.0)
    folder = tmp_path / "deep" / "in" / "it"
    folder.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.chdir(folder)
    yield answers
    server.shutdown()
    server.server_close()


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def season(**tables: bytes) -> Answers:
    """A season whose tables are empty, except these."""
    exports = {f"/v1/seasons/1/export/{name}.": content for name, content in tables.items()}
    return exports | {"/v1/seasons/1/export": b"", "/v1/seasons/1": {}, "/v1/audit": {"items": [], "next": None}}


def left(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("number", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize("table", ["matches", "sources"])
def test_an_archive_is_written_nowhere_else(table: str, number: str, lying: dict[str, Any], tmp_path: Path) -> None:
    row = {"match_id": number, "version_id": number, "transcript_sha256": "00"}
    lying |= {**season(**{table: lines(row)}), "/": b"written by a server"}
    done = invoke("season", "archive", "1", "-o", "season.zip")
    assert_one_sentence(done, "this answer of the server cannot be archived", 1)
    assert left(tmp_path) == set()
    assert not Path("/escaped").exists() and not Path("/escaped.json").exists()


# Terminals ----------------------------------------------------------------------------------------------------------

CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200B, 0x2028, 0x2029, *range(0x202A, 0x202F)]))
HOSTILE = f"\x1b]0;owned\x07{CONTROLS}\x9b2J"
BEFORE = "2027-01-01T00:00:00Z"


def assert_harmless(text: str) -> None:
    """Check that a terminal would obey nothing in a text but ends of lines and tabs."""
    obeyed = {mark for mark in text if unicodedata.category(mark) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert obeyed <= {"\n", "\t"}, ascii(obeyed)


def in_a_table(text: str) -> Table:
    table = Table(text, title=text)
    table.add_row(Text(text))
    return table


@pytest.mark.parametrize("show", [str, Text, Group, in_a_table, lambda text: Padding(Group(Text(text)), 1)])
def test_the_console_shows_no_control_characters(show: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shown: RenderableType = show(HOSTILE)
    for of_ours in (console.out, console.err):
        of_ours.print(shown, markup=False)
    console.say(shown)
    console.note(HOSTILE, HOSTILE)
    for text in capsys.readouterr():
        assert_harmless(text)
        assert r"\x1b]0;o" in text


def test_every_command_shows_text_on_that_console_or_as_ascii() -> None:
    direct = re.compile(r"(?<![\w.])print\(|\becho\(|\bConsole\(|\b(?:stdout|stderr)\.(?:buffer\.)?write")
    files = ((str(file.relative_to(ROOT / "cli")), file.read_text("utf-8")) for file in (ROOT / "cli").rglob("*.py"))
    found = {name: len(direct.findall(text)) for name, text in files if "template/" not in name and direct.search(text)}
    assert found == {
        "author/records.py": 2,  # the bytes of an export: into a file, or harmless into a terminal
        "game/looks.py": 1,  # measures a width
        "game/serve.py": 1,  # a page of HTML
        "local/recorded_bot.py": 2,  # a bot
        "operator/demo.py": 1,  # JSON, as is all that follows, in ASCII
        "output.py": 1,
        "server/api_client.py": 1,  # an example
        "server/async_client.py": 1,
        "tournament/command.py": 1,
    }


@pytest.mark.parametrize("verb", [["replay"], ["explain", "--seat", "1"], ["explain", "--seat", "2"], ["verify"]])
def test_a_hostile_transcript_commands_no_terminal(verb: list[str], tmp_path: Path) -> None:
    honest = read(ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl")
    players = [f"a{HOSTILE}", "b" * 5000]
    for changed in ({"game": HOSTILE}, {"variant": {HOSTILE: 1}}, {}):
        file = tmp_path / "match.jsonl"
        file.write_bytes(encode(replace(honest, about={"players": players, "sandbox": HOSTILE}, **changed)))
        done = invoke(verb[0], str(file), *verb[1:])
        assert_harmless(done.stdout)
        assert_harmless(done.stderr)


def test_logs_command_no_terminal(lying: dict[str, Any]) -> None:
    version = {"id": 1, "bot_id": 7, "number": 1, "state": HOSTILE, "filename": HOSTILE, "size_bytes": 1, "sha256": ""}
    version |= {"language": HOSTILE, "entry": "", "reason": HOSTILE, "attempt": 1, "created_at": BEFORE}
    ended = {"seat": 0, "bot": "b", "version": 1, "lingered": False, "stderr": f"{HOSTILE}\nit ends"}
    tried = {"cause": HOSTILE, "detail": HOSTILE, "at": BEFORE}
    lying |= {
        "/v1/bots/7/versions/1/log": {"log": HOSTILE, "tries": [tried]},
        "/v1/bots/7/panels": {"items": []},
        "/v1/bots/7/versions": {"items": [version]},
        "/v1/matches/5/logs": {"items": [ended]},
    }
    for words in (["logs", "7"], ["logs", "--match", "5"], ["bot", "versions", "7"]):
        done = invoke(*words)
        assert_harmless(done.stdout)
        assert_harmless(done.stderr)
        assert r"\x85" in done.stdout and r"\u2028" in done.stdout, done


def test_a_table_into_a_terminal_commands_nothing(lying: dict[str, Any]) -> None:
    lying |= season(matches=HOSTILE.encode() + b"\xff\r\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "deadheat.cli.main", "export", "1", "matches"]
    subprocess.run(command, stdout=theirs, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, timeout=60, check=True)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode().replace("\r\n", "\n")
    os.close(ours)
    assert_harmless(said)
    assert r"\x1b]0;owned" in said
    assert HOSTILE in succeeded(invoke("export", "1", "matches")).stdout, "a file has what was said"
