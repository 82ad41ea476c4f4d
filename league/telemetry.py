"""Reports on a process's work: traces, and log lines with the ids of their match and version.

Theory of operation
-------------------
`doing` names the current work, with the ids of its objects. If logs are JSON (`DEADHEAT_LOG_FORMAT=json`), every log
line written meanwhile, in any module, has those ids; as text, the sentences name what matters. Where traces are on
(`DEADHEAT_TRACES_URL`), it is a span as well. A span that leads to a message travels with it (`headers`), and its
receiver continues it (`carrying_out`): so one trace shows an upload, its time in the queue, its build and its trial
match.

Traces are off by default; OpenTelemetry is then not even imported. Spans begin and end where no bot's clock runs, and
are sent by a thread of their own, in batches. Only the stable interface is used: the ready-made instrumentations are
pre-releases that reach into the frameworks.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pythonjsonlogger.json import JsonFormatter

from deadheat.engine.figures import visible
from deadheat.league.config import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Kind = Literal["INTERNAL", "SERVER", "PRODUCER", "CONSUMER"]

TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"
SCOPE = "deadheat"

NOTHING: Mapping[str, Any] = MappingProxyType({})

_about: ContextVar[Mapping[str, Any]] = ContextVar("about", default=NOTHING)
_tracer: Tracer | None = None


def begin(settings: Settings, service: str) -> None:
    """Set up this process's logs and traces. `service`: what this process is, e.g. ``api``."""
    begin_logs(settings)
    begin_traces(settings, service)


def begin_logs(settings: Settings) -> None:
    """Log to standard error, as text or JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if settings.log_format == "json" else _Text(TEXT))
    logging.basicConfig(level=settings.log_level, handlers=[handler], force=True)


def begin_traces(settings: Settings, service: str) -> None:
    """Make and send traces if the settings name a collector. Call it again after a fork, because it needs a thread."""
    global _tracer  # noqa: PLW0603  a process has one
    if not settings.traces_url:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = settings.worker_name or os.uname().nodename
    about = {"service.name": f"{SCOPE}-{service}", "service.instance.id": f"{name}:{os.getpid()}"}
    provider = TracerProvider(resource=Resource.create(about))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(settings.traces_url)))
    _tracer = provider.get_tracer(SCOPE)


@contextlib.contextmanager
def doing(what: str, kind: Kind = "INTERNAL", **ids: Any) -> Iterator[None]:
    """Make everything in the block part of this work. An exception that leaves the block marks the span as failed."""
    token = _about.set({**_about.get(), **ids})
    try:
        if _tracer is None:
            yield
        else:
            from opentelemetry.trace import SpanKind

            with _tracer.start_as_current_span(what, kind=SpanKind[kind], attributes=_attributes(ids)):
                yield
    finally:
        _about.reset(token)


def learned(**ids: Any) -> None:
    """Add newly known facts about the current work to its span, but not to log lines."""
    if _tracer is not None:
        from opentelemetry.trace import get_current_span

        get_current_span().set_attributes(_attributes(ids))


def headers() -> dict[str, str]:
    """Return the headers that make an outgoing message part of the current trace; empty if traces are off."""
    carried: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.propagate import inject

        inject(carried)
    return carried


@contextlib.contextmanager
def carrying_out(task: str, carried: Mapping[str, Any], **ids: Any) -> Iterator[None]:
    """Carry out the work that a message requested, with that message's `headers`."""
    if _tracer is None:
        with doing(task, **ids):
            yield
        return
    from opentelemetry import context
    from opentelemetry.propagate import extract

    token = context.attach(extract(carried))
    try:
        with doing(task, "CONSUMER", **ids):
            yield
    finally:
        context.detach(token)


def _attributes(ids: Mapping[str, Any]) -> dict[str, Any]:
    """Prefix our own names, but leave standard names (with a dot) unchanged."""
    return {name if "." in name else f"{SCOPE}.{name}": value for name, value in ids.items()}


class _Text(logging.Formatter):
    """Writes text that is safe to show in a terminal, because sentences may contain what bots and authors said."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), "\n\t")


class _Json(JsonFormatter):
    """Writes one object a line: ``time`` (UTC, ISO 8601), ``level``, ``logger``, ``message``, ``process``; the ids;
    ``trace``; and ``exc_info`` with a traceback, if any.
    """

    def __init__(self) -> None:
        super().__init__("%(message)s", timestamp="time")

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Add the fields that the class describes."""
        log_data["level"] = record.levelname
        log_data["logger"] = record.name
        log_data["process"] = record.process
        log_data.update(_about.get())
        if trace := headers().get("traceparent"):
            log_data["trace"] = trace.split("-")[1]
        super().add_fields(log_data, record, message_dict)
        log_data.pop("color_message", None)  # uvicorn's, meant for terminals
