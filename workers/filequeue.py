"""The embedded broker: kombu's file system transport, with messages that appear whole or not at all.

The original writes a message under its final name, where a reader may find it before it is complete; that reader's
worker then ends with a JSON error. Here a message is written aside and renamed.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """See the module."""

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        partial = folder / f"{name}.partial"
        try:
            partial.write_text(dumps(payload))
            partial.rename(folder / name)
        except OSError as error:
            raise ChannelError(f"cannot add a message to {folder}: {error}") from error


class Transport(filesystem.Transport):
    """See the module."""

    Channel = Channel
