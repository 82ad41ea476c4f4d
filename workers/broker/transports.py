"""Our broker in files: kombu's transport, changed where it fails with damaged or half-written data. That for Redis is
`workers.broker.redisqueue`, because its import takes time and memory, which a league without Redis saves.

*Messages.* A message that is no JSON, or has parts of other types than Celery expects, would end the
worker that takes it; one with an `eta` in a thousand years would stay in its memory. Messages are nudges
(`workers.broker.queue`), so damaged ones are dropped. Of the others only what ours need is kept, without
`eta` or callbacks: all are carried out at once.

*Files* (the embedded broker). The original writes a message under its final name, where a reader may find
it before it is complete. It moves what it reads to the machine's folder for temporary files, and it lists
the queues in files. A worker that finds such a file damaged, for example after a power cut, ends with a
JSON error. Here a message is written aside and renamed, and the process that removes it owns it.
"""

import base64
import json
import logging
import uuid
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

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


class _FileChannel(filesystem.Channel):
    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        partial = folder / f"{name}.partial"
        try:
            partial.write_text(dumps(payload))
            partial.rename(folder / name)
        except OSError as error:
            raise ChannelError(f"cannot add a message to {folder}: {error}") from error

    def _get(self, queue: str) -> dict[str, Any]:  # type: ignore[override]
        for path in sorted(Path(self.data_folder_in).iterdir()):
            if path.name.partition(".")[2] != f"{queue}.msg":
                continue
            try:
                content = path.read_bytes()
                path.unlink()
            except OSError:  # another process was faster
                continue
            try:
                message = loads(content.decode())
            except (ValueError, RecursionError):
                message = None
            if (seen := sound(message)) is not None:
                return seen
        raise Empty

    def get_table(self, exchange: str) -> list[filesystem.exchange_queue_t]:  # type: ignore[override]
        """Return the bindings: each of our queues is the only one bound to an exchange of the same name."""
        return [filesystem.exchange_queue_t(exchange, "", exchange)]

    def _queue_bind(self, *_: Any) -> None:
        pass  # there is nothing to store


class FileTransport(filesystem.Transport):
    Channel = _FileChannel
