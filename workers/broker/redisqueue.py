"""The Redis broker: kombu's transport, changed so that it leaves nothing on the disk when Redis dies.

When it closes a connection, the original puts fetched but unprocessed messages back into Redis. If Redis is gone, it
pickles them into the machine's folder for temporary files, one file for each connection, which nobody ever reads or
removes. Here they are dropped, because a message is only a nudge (see `workers.broker.queue`), as are damaged ones.
"""

import logging
from queue import Empty
from typing import Any

from kombu.transport import redis, virtual

from deadheat.workers.broker.messages import sound

log = logging.getLogger(__name__)


class QoS(virtual.QoS):
    def restore_unacked(self) -> list[Any]:  # type: ignore[override]  # the stub knows of no list
        """Put back the messages that Redis accepts; report no errors, because messages in errors would be pickled."""
        lost: list[Any] = super().restore_unacked()  # type: ignore[assignment]  # as above
        if lost:
            log.warning("messages that Redis did not take back: %d; the jobs that they name are found again", len(lost))
        return []


class Channel(redis.Channel):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        assert not self.ack_emulation, "with it Redis keeps what was fetched, and the class below would not"
        self.QoS = QoS  # type: ignore[assignment]  # the original assigns its parent, too

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # the stub knows nothing of it
        except (ValueError, RecursionError):  # it is no JSON
            sound(None)
            raise Empty from None


class Transport(redis.Transport):
    Channel = Channel

    def _deliver(self, message: object, queue: str) -> None:  # type: ignore[override]  # as above
        if (seen := sound(message)) is not None:
            super()._deliver(seen, queue)
