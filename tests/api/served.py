"""Serve an application on a real socket, for clients that bring their own HTTP."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from deadheat.api.edge.connections import SOCKET_BYTES


@contextmanager
def served(
    app: ASGIApp, protocol: type[asyncio.Protocol] | None = None, ws: type[asyncio.Protocol] | None = None
) -> Iterator[str]:
    """Run a server on a free port of this machine, and yield its address. `protocol`: uvicorn's, if None; `ws`: for
    WebSockets, if any.
    """
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        http=protocol or "auto",
        log_config=None,
        lifespan="on",
        ws=ws or "none",
        ws_max_size=SOCKET_BYTES,
        ws_per_message_deflate=False,
        proxy_headers=False,  # as in `deadheat api`
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
