"""The processors of a match. A slot is a set of CPUs that one match (or build) owns while it runs.

A slot is taken in the registry of processors (`sandbox.host.processors`), which tournaments and other programs of this
host also respect. Bots run only on their own slot's processors; the engine's work to start a container runs anywhere.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from deadheat.sandbox.box import BOT_MEMORY_BYTES
from deadheat.sandbox.host.processors import RETRY_SECONDS, Hold, Processors

SHORT_RETRY_SECONDS = 0.002

TABLE = 2
"""The number of bots for whose memory a slot has room. Where tables are larger, operators name fewer slots."""

MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""This machine's memory."""


def needed_bytes(bots: int) -> int:
    """Return the memory of a machine on which this many bots may use all their memory, with 1 GiB for the rest."""
    return 2**30 + bots * BOT_MEMORY_BYTES


def plan(spec: str, cpus: Sequence[int], bots_beside: int = 0, has_bytes: int = MEMORY_BYTES) -> list[tuple[int, ...]]:
    """Return the slots of a host with these CPUs.

    `spec` names them ("2,3;4,5"). If it is empty, each CPU is a slot, but the first is kept for the referees and the
    engine if there are more than two. The bots of a match then share a CPU: they hardly ever think at the same time,
    and time spent waiting for the other is not own time. There are only as many as the memory has room for, besides
    `bots_beside` without a slot: if it ran out below a bot's limit, that would be the host's fault, and a losing bot
    could void its match by filling it.

    Raises:
        ValueError: `spec` is not of that form, or names a CPU twice.
    """
    if spec:
        slots = [tuple(int(cpu) for cpu in slot.split(",")) for slot in spec.split(";")]
        named = [cpu for slot in slots for cpu in slot]
        if len(set(named)) != len(named):
            raise ValueError(f"slots {spec!r} name a CPU twice")
        return slots
    most = max(1, (has_bytes - needed_bytes(bots_beside)) // (TABLE * BOT_MEMORY_BYTES))
    return [(cpu,) for cpu in (cpus if len(cpus) <= 2 else cpus[1:])[:most]]


class Slots:
    """The slots of this host, shared by all processes that name the same directory."""

    def __init__(self, directory: Path, spec: str = "", bots_beside: int = 0) -> None:
        """`directory` is the registry's directory. `bots_beside` may run at a time without a slot."""
        directory.mkdir(parents=True, exist_ok=True)
        self._processors = Processors(directory)
        cpus = sorted(os.sched_getaffinity(0))
        self.slots = plan(spec, cpus, bots_beside)
        self.bots = TABLE * len(self.slots) + bots_beside
        self.spare = tuple(cpu for cpu in cpus if all(cpu not in slot for slot in self.slots))
        """The processors on which none of our bots runs; a host with two processors has none."""

    def referee(self, cpus: Sequence[int]) -> Sequence[int]:
        """Return the processors for the referee of a match on this slot, whose bots use the first; empty: there is none
        but that.
        """
        return self.spare or cpus[1:]

    @contextlib.contextmanager
    def take(
        self, waiting: Callable[[], None] = lambda: None, only: tuple[int, ...] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Wait for a free slot, own it, and yield its CPU numbers. `waiting` is called repeatedly meanwhile.

        `only` requests that slot. A particular slot is needed only briefly, and polled often enough to get it between
        two owners, ahead of the queue.
        """
        if only is not None:
            hold = self._first_free([only], SHORT_RETRY_SECONDS, waiting)
        else:
            with self._processors.queue(waiting):
                hold = self._first_free(self.slots, RETRY_SECONDS, waiting)
        with hold:
            yield hold.cpus

    def _first_free(self, slots: Sequence[tuple[int, ...]], retry: float, waiting: Callable[[], None]) -> Hold:
        while True:
            for slot in slots:
                if (hold := self._processors.exactly(slot)) is not None:
                    return hold
            waiting()
            time.sleep(retry)
