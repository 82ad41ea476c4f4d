"""Serves a worker's metrics on a separate port, where no API runs.

Requests from other networks are refused before anything is read or a thread starts, because the same process keeps the
worker's other processes alive.
"""

from pathlib import Path
from socketserver import ThreadingMixIn
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from deadheat.league.config import Settings
from deadheat.league.measured import Sums


class _Handler(WSGIRequestHandler):
    timeout = 10  # seconds, after which a client that never finishes its request is dropped

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def expose(settings: Settings, folder: Path, port: int) -> WSGIServer:
    """Serve the totals of that folder to the allowed networks, in a thread. Raises OSError."""

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

        def verify_request(self, _: object, client_address: tuple[str, int]) -> bool:
            return settings.may_measure(client_address[0])

    registry = CollectorRegistry()
    Sums(registry, folder, settings.machine)
    server = make_server("", port, make_wsgi_app(registry), Server, _Handler)
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
