"""The embedded broker: kombu's file system transport, with messages that appear and disappear atomically.

The original writes a message under its final name, where a reader may find it before it is complete. It moves what it
reads to the machine's folder for temporary files, and it lists the queues in files. A worker that finds such a file
damaged, for example after a power cut, ends with a JSON error. Here a message is written aside and renamed; the process
that removes it owns it; and an unreadable one is dropped, because a message is only a nudge (`workers.broker.queue`).
"""

import uuid
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

from deadheat.workers.broker.messages import sound


class Channel(filesystem.Channel):
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


class Transport(filesystem.Transport):
    Channel = Channel
