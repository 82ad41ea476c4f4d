"""A server on a real socket that answers as told: properly, with nonsense, halfway or not at all."""

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

CUT, RESET, SILENT = b"cut", b"reset", b"silent"
"""Instead of an answer: close the connection, reset it, or keep it open until the test is over."""


def answer(
    status: int, content: Any = b"", headers: Mapping[str, str] | None = None, length: int | None = None
) -> bytes:
    """Build an answer; anything but bytes is sent as JSON."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    lines = {"Content-Length": str(len(body) if length is None else length), "Connection": "close", **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + body


@dataclass(frozen=True)
class Asked:
    """A request as the server received it."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def params(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))


class Line(ThreadingTCPServer):
    """A server that gives its answers in turn, the last one for ever, and refuses connections until `listens`.

    It reads after `reads_after_seconds`, and answers only when the barrier `together` opens.
    """

    allow_reuse_address = True

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.heard = threading.Event()
        self.reads_after_seconds = 0.0
        self.together: threading.Barrier | None = None
        self.over = threading.Event()
        self.thread: threading.Thread | None = None
        super().__init__(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server_bind()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def listens(self) -> None:
        self.server_activate()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.005,))
        self.thread.start()

    def ends(self) -> None:
        self.over.set()
        if self.thread is not None:
            self.shutdown()
            self.thread.join()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Line

    def hear(self) -> None:
        line = self.server
        time.sleep(line.reads_after_seconds)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if line.together is not None:
            line.together.wait()
        line.asked.append(Asked(self.command, self.path, dict(self.headers), body))
        line.heard.set()
        said = line.answers.pop(0) if len(line.answers) > 1 else line.answers[0]
        self.close_connection = True
        if said == RESET:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.rfile.close()
            self.wfile.close()
        elif said == SILENT:
            line.over.wait()
        elif said != CUT:
            self.wfile.write(said)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = hear  # noqa: N815  the standard library's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  as it is called
        pass


@contextmanager
def line(*answers: bytes) -> Iterator[Line]:
    made = Line(*answers)
    made.listens()
    try:
        yield made
    finally:
        made.ends()
