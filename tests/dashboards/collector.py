"""A collector of traces that knows as much of OpenTelemetry as the tests need."""

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.receiver import Receiver

PATIENCE_S = 30
"""Processes send spans every five seconds."""


@dataclass(frozen=True)
class Span:
    """One piece of work."""

    trace: bytes
    id: bytes
    parent: bytes
    service: str
    name: str
    attributes: dict[str, object]


class Collector(Receiver):
    """Keeps the spans that processes report."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        super().__init__()
        self.url += "/v1/traces"

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
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
        """Wait for a wanted span and its parents, and return them from the root on."""
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
