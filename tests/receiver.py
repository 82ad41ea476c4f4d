"""An HTTP server that receives what the product sends."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHUTDOWN_SECONDS = 0.01
"""How often a server checks whether to end; each test would wait for the default, half a second."""


class Receiver:
    """Listens on its own port, and passes every POST to `receive`, until closed."""

    def __init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.receive(self.path, dict(self.headers), body)
                receiver.answer(self)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(SHUTDOWN_SECONDS,), daemon=True).start()

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        raise NotImplementedError

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Answer over TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = self.url.replace("http:", "https:")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
