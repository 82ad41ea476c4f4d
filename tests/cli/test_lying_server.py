"""Servers that lie: what they say becomes no path outside the user's folder, no traceback and no terminal's command."""

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import TypeAdapter
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deadheat.cli import console
from deadheat.cli.organiser import archive
from deadheat.cli.server import profiles
from deadheat.engine.transcript import encode
from deadheat.league.records.matches import MatchDetail
from tests.cli.command import ROOT, assert_one_sentence, invoke, read, succeeded
from tests.league.told import NUMBER, detailed, labelled, told

Answers = Mapping[str, Any]
"""What a server says, by the beginning of the path; the longest that fits. Anything but bytes is sent as JSON."""

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
            said = answers.get(max(filter(path.startswith, answers), key=len, default=""))
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
    assert_one_sentence(done, "this answer of the server", 1)
    assert left(tmp_path) == set()
    assert not Path("/escaped").exists() and not Path("/escaped.json").exists()


BEFORE = "2027-01-01T00:00:00Z"
VERSION: dict[str, Any] = {
    "id": 1,
    "bot_id": 7,
    "number": 1,
    "state": "ready",
    "size_bytes": 1,
    "sha256": "",
    "language": "python",
}
VERSION |= {"filename": "bot.py", "entry": "", "reason": "", "attempt": 1, "created_at": BEFORE}
AUDIT = {"id": 1, "at": "2027-01-01", "actor": "a", "action": "b", "subject": "c", "prev_sha256": "", "sha256": ""}


@pytest.mark.parametrize(
    "rows",
    [
        b"{}\n",
        b"[]\n",
        b"{\n",
        b"1\n",
        b"[" * 100_000 + b"\n",
        b'{"transcript_sha256": "00"}\n',
        b"\xff\n",
        b" " * (2 << 20),
    ],
    ids=lambda rows: ascii(rows[:20]),
)
def test_tables_of_no_season_are_refused_in_a_sentence(rows: bytes, lying: dict[str, Any], tmp_path: Path) -> None:
    lying |= season(matches=rows, sources=rows)
    sentence = "not an answer of a Deadheat server that this command knows"
    assert_one_sentence(invoke("season", "archive", "1", "-o", "season.zip"), sentence, 1)
    assert left(tmp_path) == set()
    boards: list[Any] = [{}, {"snapshot_id": 1}, [], {"snapshot_id": 1, "config": {}}]
    for board in boards:
        checked = {"/v1/seasons/1/leaderboard": board, **season(matches=rows)}
        lying.clear()
        lying |= checked
        done = invoke("rate", "--season", "1", "--check", "--server", os.environ["DEADHEAT_SERVER"])
        assert_one_sentence(done, sentence, 1)


@pytest.mark.parametrize("data", ["{}", "[]", "{", "1", '{"sha256": []}'])
def test_records_of_no_log_are_refused_in_a_sentence(data: str, lying: dict[str, Any]) -> None:
    records = {"items": [{**AUDIT, "data": data}], "next": None}
    lying |= {"/v1/audit?subject=archive": records, **season(matches=b"")}
    assert_one_sentence(invoke("season", "archive", "1", "-o", "season.zip"), "not an answer of a Deadheat", 1)
    lying |= {"/v1/audit?": records}
    done = invoke("audit")
    assert done.returncode == 0 if data in {"{}", '{"sha256": []}'} else "not an answer" in done.stderr


@pytest.mark.parametrize(
    "filename", ["b.\x1b]0;x\x07", "b.p\0y", f"b.{'x' * 5000}", f"{OUTSIDE}escaped", "b.../..", "b.é"]
)
def test_a_source_is_written_under_the_bots_name(filename: str, lying: dict[str, Any], tmp_path: Path) -> None:
    lying |= {"/v1/bots/7/versions/1/source": b"print()", "/v1/bots/7/versions/1": VERSION | {"filename": filename}}
    succeeded(invoke("bot", "source", "7", "1"))
    assert left(tmp_path) == {"deep/in/it/7-1"}


def test_a_source_keeps_its_ending(lying: dict[str, Any], tmp_path: Path) -> None:
    lying |= {"/v1/bots/7/versions/1/source": b"print()", "/v1/bots/7/versions/1/trial": b"{}", "/v1/bots/7": VERSION}
    succeeded(invoke("bot", "source", "7", "1"))
    succeeded(invoke("trial", "7", "1"))
    assert left(tmp_path) == {"deep/in/it/7-1.py", "deep/in/it/7-1-trial.jsonl"}
    done = invoke("bot", "source", "7", "1")
    assert_one_sentence(done, "already exists", 2)


def played_match() -> tuple[dict[str, Any], bytes]:
    transcript = labelled(read(ROOT / "tests" / "transcripts" / "yacht-auction-example.jsonl"))
    content = encode(transcript)
    match = detailed(transcript, told(transcript, sha256(content).hexdigest()))
    return TypeAdapter(MatchDetail).dump_python(match, mode="json"), content


@pytest.mark.parametrize(
    "change", [{"id": NUMBER + 1}, {"id": f"{OUTSIDE}7"}, {"id": -1}, {"transcript_sha256": "../x"}]
)
def test_a_download_writes_only_the_match_that_was_asked_for(
    change: Answers, lying: dict[str, Any], tmp_path: Path
) -> None:
    match, content = played_match()
    other = Path(f"match-{NUMBER + 1}.jsonl")
    other.write_text("mine")
    lying |= {f"/v1/matches/{NUMBER}/transcript": content, "/v1/matches/": {**match, **change}}
    lying |= {f"/v1/matches/{NUMBER + 1}/transcript": content, "/v1/seasons/1": {}}
    for verb in (["download"], ["view", "--output", "x.html"], ["explain", "--seat", "1"], ["verify"], ["replay"]):
        done = invoke(verb[0], str(NUMBER), *verb[1:])
        assert done.returncode == 1 and done.stderr.count("error: ") == 1, done
    assert (left(tmp_path), other.read_text()) == ({f"deep/in/it/{other}"}, "mine")


def test_what_ended_in_a_match_is_written_beside_it(lying: dict[str, Any], tmp_path: Path) -> None:
    match, content = played_match()
    ended = {"bot": OUTSIDE, "version": 1, "lingered": True, "stderr": "x"}
    lying |= {
        f"/v1/matches/{NUMBER}/logs": {"items": [ended | {"seat": 0}, ended | {"seat": -9}]},
        f"/v1/matches/{NUMBER}/transcript": content,
        f"/v1/matches/{NUMBER}": match,
    }
    succeeded(invoke("download", str(NUMBER)))
    names = {
        f"match-{NUMBER}.{rest}" for rest in ("jsonl", "seat1.stderr", "seat1.killed", "seat-8.stderr", "seat-8.killed")
    }
    assert left(tmp_path) == {f"deep/in/it/{name}" for name in names}
    lying |= {f"/v1/matches/{NUMBER}/logs": {"items": [ended | {"seat": f"../{OUTSIDE}"}]}}
    assert_one_sentence(invoke("download", str(NUMBER)), "seat: ", 1)
    lying |= {f"/v1/matches/{NUMBER}/logs": {"items": [ended | {"seat": 10**300}]}}
    assert_one_sentence(invoke("download", str(NUMBER)), "File name too long", 1)


def test_a_login_that_could_not_be_read_again_is_not_kept(
    lying: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEADHEAT_TOKEN")
    issued = {"id": 1, "label": "x", "token": "token", "scope": "full", "created_at": BEFORE, "expires_at": BEFORE}
    lying |= {"/v1/tokens": issued}
    login = "login", "ada", "--password-stdin"
    succeeded(invoke(*login, stdin="secret\n"))
    before = profiles.path().read_bytes()
    lying |= {"/v1/tokens": issued | {"token": "x" * profiles.MAX_BYTES}}
    assert_one_sentence(invoke(*login, stdin="secret\n"), "this login is too large", 1)
    assert profiles.path().read_bytes() == before
    assert [file.name for file in profiles.path().parent.iterdir()] == ["profiles.json"]


def test_a_seasons_file_that_is_no_text_is_refused(lying: dict[str, Any], tmp_path: Path) -> None:
    lying |= {"/v1/seasons/1/file": b"\xff"}
    assert_one_sentence(invoke("season", "export", "1", "-o", "x.toml"), "not an answer of a Deadheat", 1)
    assert left(tmp_path) == set()


def test_a_challenges_report_is_one_file_without_a_strangers_elements(lying: dict[str, Any], tmp_path: Path) -> None:
    match, content = played_match()
    odd = f"</script><script>alert(1)</script>{OUTSIDE}\x1b[2J\u202e"
    side = {"bot_id": 1, "bot": odd, "version": 1, "version_id": 1, "author": odd}
    counts = ("id", "known_as", "season_id", "seats", "rounds", "round", "matches", "further", "rules", "players")
    nulls = (
        "number",
        "format",
        "stage",
        "keep",
        "tie_breaks",
        "elo0",
        "elo1",
        "llr",
        "lower",
        "upper",
        "minimum",
        "elo",
    )
    found = {
        **dict.fromkeys(("season", "game", "asker", "name", "state", "reason", "waits"), odd),
        **dict.fromkeys((*counts, "planned", "wins", "draws", "losses"), 1),
        **dict.fromkeys((*nulls, "low", "high", "due_at", "ended_at")),
        **dict.fromkeys(("rated", "third_place", "private"), False),
        "kind": "request",
        "created_at": BEFORE,
        "standings": [],
        "bracket": [],
        "versions": [side, side | {"bot": "other", "version": 2}],
        "opponents": [],
    }
    lying |= {
        "/v1/contests/1/matches": {"items": [match], "next": None},
        "/v1/contests/1": found,
        f"/v1/matches/{NUMBER}/transcript": content,
    }
    done = succeeded(invoke("contest", "show", "1", "--report", "report.html"))
    assert_harmless(done.stdout)
    assert_harmless(done.stderr)
    assert left(tmp_path) == {"deep/in/it/report.html"}
    page = Path("report.html").read_text("utf-8")
    assert "<script>alert" not in page and not {"\x1b", "\u202e"} & set(page)
    for number in (f"{OUTSIDE}escaped", "1/../../x"):
        lying |= {"/v1/contests/1/matches": {"items": [match | {"id": number}], "next": None}}
        assert_one_sentence(invoke("contest", "show", "1", "--report", "other.html"), "id: ", 1)
    assert left(tmp_path) == {"deep/in/it/report.html"}


# Terminals ----------------------------------------------------------------------------------------------------------

CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200B, 0x2028, 0x2029, *range(0x202A, 0x202F)]))
HOSTILE = f"\x1b]0;owned\x07{CONTROLS}\x9b2J"


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
        "author/results.py": 2,  # the bytes of an export: into a file, or harmless into a terminal
        "game/check.py": 1,  # measures a width
        "game/serve.py": 1,  # a page of HTML
        "local/profiled_bot.py": 1,  # a bot's own process, whose output stays in a file
        "local/profiling.py": 1,  # that file, without the profile
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
    version = VERSION | dict.fromkeys(("state", "filename", "language", "reason"), HOSTILE)
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
