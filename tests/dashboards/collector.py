"""A collector of traces: as much of OpenTelemetry's as it takes to inspect them."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 30
"""Processes send their spans every five seconds."""


@dataclass(frozen=True)
class Span:
    """One piece of work."""

    trace: bytes
    id: bytes
    parent: bytes
    service: str
    name: str
    attributes: dict[str, object]


class Collector:
    """An HTTP server of its own port; close it."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        collector = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.receive(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def receive(self, body: bytes) -> None:
        """Receive a process's reports."""
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = next(
                item.value.string_value for item in resource.resource.attributes if item.key == "service.name"
            )
            for scope in resource.scope_spans:
                for span in scope.spans:
                    values = {
                        item.key: getattr(item.value, item.value.WhichOneof("value") or "") for item in span.attributes
                    }
                    found = Span(span.trace_id, span.span_id, span.parent_span_id, service, span.name, values)
                    self.spans.append(found)

    def path(self, wanted: Callable[[Span], bool]) -> list[Span]:
        """Wait for the first span that is wanted and its parents, and return them from the root on."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            by_id = {span.id: span for span in list(self.spans)}
            span = next(filter(wanted, by_id.values()), None)
            path: list[Span] = []
            while span is not None:
                path.insert(0, span)
                if not span.parent:
                    return path
                span = by_id.get(span.parent)
            time.sleep(0.2)
        raise AssertionError(f"not among {sorted({span.name for span in self.spans})}")

    def close(self) -> None:
        """Stop receiving."""
        self._server.shutdown()
        self._server.server_close()
