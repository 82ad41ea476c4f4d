"""Servers that lie: what they say becomes no path outside the user's folder, no traceback and no terminal's command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from deadheat.cli.organiser import archive
from tests.cli.command import assert_one_sentence, invoke

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
