"""What workers see of a message, whoever put it into the queue.

A message that is no JSON, or whose parts have other types than Celery expects, would end the worker that takes it; one
with an `eta` in a thousand years would stay in its memory until then. A message is only a nudge
(`workers.broker.queue`), so damaged ones are dropped, and of the others only what ours need is kept: no `eta`, so all
are carried out at once.
"""

from __future__ import annotations

import base64
import json
import logging
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

log = logging.getLogger(__name__)


def _nudge(body: str) -> str:
    """Check that a body names row ids, and leave out everything else that Celery would act on, such as callbacks."""
    ids = json.loads(base64.b64decode(body, validate=True))[0]
    if not isinstance(ids, list) or not all(isinstance(one, int) for one in ids):
        raise ValueError("no list of ids")
    return base64.b64encode(json.dumps([ids, {}, {}]).encode()).decode()


class _Headers(BaseModel):
    task: str
    id: str
    lang: str = "py"
    root_id: str | None = None
    expires: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    baggage: str | None = None


class _Way(BaseModel):
    exchange: str
    routing_key: str


class _Properties(BaseModel):
    delivery_tag: str
    delivery_info: _Way
    body_encoding: Literal["base64"]


class _Message(BaseModel):
    body: Annotated[str, AfterValidator(_nudge)]
    content_type: Literal["application/json"] = Field(alias="content-type")
    content_encoding: Literal["utf-8"] = Field(alias="content-encoding")
    headers: _Headers
    properties: _Properties


def sound(message: object) -> dict[str, Any] | None:
    """Return what a worker may see of a message, or None, after a warning, if it is damaged."""
    try:
        return _Message.model_validate(message).model_dump(by_alias=True, exclude_none=True)
    except (ValidationError, LookupError, TypeError, RecursionError):
        log.warning("a damaged message is dropped")
        return None
