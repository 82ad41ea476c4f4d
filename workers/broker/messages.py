"""What workers see of a message, no matter who put it into the queue.

A message that is no JSON, or has parts of other types than Celery expects, would end the worker that takes it; one with
an `eta` in a thousand years would stay in its memory. Messages are nudges (`workers.broker.queue`), so damaged ones are
dropped. Of the others only what ours need is kept, without `eta` or callbacks: all are carried out at once.
"""

import base64
import json
import logging
from typing import Any

log = logging.getLogger(__name__)

HEADERS = ("task", "id", "lang", "root_id", "expires", "traceparent", "tracestate", "baggage")


def sound(message: Any) -> dict[str, Any] | None:
    """Return what a worker may see of a message, or None, after a warning, if it is damaged."""
    try:
        ids = json.loads(base64.b64decode(message["body"], validate=True))[0]
        headers, properties = message["headers"], message["properties"]
        kept = {name: headers[name] for name in HEADERS if headers.get(name) is not None}
        way = {name: properties["delivery_info"][name] for name in ("exchange", "routing_key")}
        texts = (kept["task"], kept["id"], properties["delivery_tag"], *kept.values(), *way.values())
        if not all(isinstance(number, int) for number in ids) or not all(isinstance(text, str) for text in texts):
            raise TypeError("a part has a wrong type")
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        log.warning("a damaged message is dropped")
        return None
    return {
        "body": base64.b64encode(json.dumps([list(ids), {}, {}]).encode()).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": kept,
        "properties": {"delivery_tag": properties["delivery_tag"], "delivery_info": way, "body_encoding": "base64"},
    }
