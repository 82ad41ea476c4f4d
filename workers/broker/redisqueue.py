"""Our broker in Redis: kombu's transport, changed where it fails with damaged data, or without Redis.

When it closes a connection, the original puts fetched but unprocessed messages back into Redis. If Redis is gone, it
pickles them into the machine's folder for temporary files, one file for each connection, which nobody ever reads or
removes. Here they are dropped, as are damaged messages (`workers.broker.transports`).
"""

import logging
from queue import Empty
from typing import Any

from kombu.transport import redis, virtual

from deadheat.workers.broker.transports import sound

log = logging.getLogger(__name__)


class _QoS(virtual.QoS):
    def restore_unacked(self) -> list[Any]:  # type: ignore[override]  # the stub knows of no list
        """Put back the messages that Redis accepts; report no errors, because messages in errors would be pickled."""
        lost: list[Any] = super().restore_unacked()  # type: ignore[assignment]  # as above
        if lost:
            log.warning("messages that Redis did not take back: %d; the jobs that they name are found again", len(lost))
        return []


class RedisChannel(redis.Channel):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        assert not self.ack_emulation, "with it Redis keeps what was fetched, and the class below would not"
        self.QoS = _QoS  # type: ignore[assignment]  # the original assigns its parent, too

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # the stub knows nothing of it
        except (ValueError, RecursionError):  # it is no JSON
            sound(None)
            raise Empty from None


class RedisTransport(redis.Transport):
    Channel = RedisChannel

    def _deliver(self, message: object, queue: str) -> None:  # type: ignore[override]  # as above
        if (seen := sound(message)) is not None:
            super()._deliver(seen, queue)
