"""A minimal application: the same bytes for every request."""

import os
from pathlib import Path

from starlette.types import Receive, Scope, Send

_BODY = Path(os.environ["DEADHEAT_BENCH_BODY"]).read_bytes()
_HEADERS = [(b"content-type", b"text/html"), (b"content-length", str(len(_BODY)).encode())]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _BODY})
