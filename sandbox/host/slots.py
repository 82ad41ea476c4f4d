"""The processors of a match. A slot is a set of CPUs that one match (or build) owns while it runs.

A slot is taken in the registry of processors (`sandbox.host.processors`). Others take what is free, and the league
keeps its slots: a process that waits in the registry's queue makes tournaments let go after the game that they play,
and after `PATIENCE_SECONDS` it takes its slot all the same and shares the processors with whoever holds them, which
costs no bot anything. So a slot has locks of the league's own, too, which exclude only its processes from each other.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from deadheat.sandbox.box import BOT_MEMORY_BYTES
from deadheat.sandbox.host.processors import QUEUE, RETRY_SECONDS, Holder, Processors

SHORT_RETRY_SECONDS = 0.002

PATIENCE_SECONDS = 5.0
"""How long the league waits for processors that others hold: a tournament lets go after a game, which mostly takes
less. Whoever reserved them for longer loses half of them, but no league stands still."""

TABLE = 2
"""The number of bots for whose memory a slot has room. Where tables are larger, operators name fewer slots."""

MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
ROOM_BYTES = 2 * 2**30
"""The memory that must be free for a build beside matches: the most that it may take, and as much for the bots."""


def free_bytes() -> int:
    """Return this machine's memory that programs may still take; 0 if the kernel does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def needed_bytes(bots: int) -> int:
    """Return the memory of a machine on which this many bots may use all their memory, with 1 GiB for the rest."""
    return 2**30 + bots * BOT_MEMORY_BYTES


def people(wanted: int, cpus: int, has_bytes: int = MEMORY_BYTES) -> int:
    """Return how many of `wanted` matches of people a host plays at a time: what its memory holds beside two slots."""
    room = (has_bytes - needed_bytes(TABLE * min(cpus, 2))) // BOT_MEMORY_BYTES
    return min(wanted, max(1, room))


def plan(spec: str, cpus: Sequence[int], bots_beside: int = 0, has_bytes: int = MEMORY_BYTES) -> list[tuple[int, ...]]:
    """Return the slots of a host with these CPUs.

    `spec` names them ("2,3;4,5"). If it is empty, each CPU is a slot, but the first is kept for the referees and the
    engine if there are more than two. There are only as many as the memory has room for, besides `bots_beside` without
    a slot: if it ran out below a bot's limit, a losing bot could void its match by filling it. Raises ValueError:
    `spec` is not of that form, or names a CPU twice.
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
        """Return the processors for the referee of a match on this slot, whose bots use the first; maybe none."""
        return self.spare or cpus[1:]

    @contextlib.contextmanager
    def take(
        self, waiting: Callable[[], None] = lambda: None, only: tuple[int, ...] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Wait for a free slot, own it, and yield its CPU numbers. `waiting` is called repeatedly meanwhile. `only`
        requests that slot: a person who waits, or a check, gets it briefly, between two owners and ahead of the queue.
        """
        slots, retry = (self.slots, RETRY_SECONDS) if only is None else ([only], SHORT_RETRY_SECONDS)
        with contextlib.ExitStack() as held:
            ahead, patience = only is not None, PATIENCE_SECONDS
            while True:
                if only is None:
                    ahead = ahead or self._own(held, QUEUE)
                else:
                    self._own(held, f"first-{only[0]}")
                others_hold = False
                for slot in slots:
                    with contextlib.ExitStack() as ours:
                        if only is None and self._wanted_first(slot):
                            continue
                        if not self._own(ours, *(f"slot-{cpu}" for cpu in slot)):
                            continue
                        others_hold = True
                        turn = ahead or patience < 0
                        if (turn and self._own(ours, *(f"cpu-{cpu}" for cpu in slot))) or patience < 0:
                            held.close()  # the queue is for the next one
                            yield slot
                            return
                patience -= retry * others_hold
                waiting()
                time.sleep(retry)

    @contextlib.contextmanager
    def share(self, waiting: Callable[[], None] = lambda: None) -> Iterator[tuple[int, ...]]:
        """Yield the CPU numbers of a free slot, or else of the processors that are no slot's, or of all beside the
        matches there: one process at a time, and only while `ROOM_BYTES` are free. For programs that no clock judges.
        """
        everywhere = self.spare or tuple(cpu for slot in self.slots for cpu in slot)
        with contextlib.ExitStack() as held:
            while True:
                for slot in self.slots:
                    if self._own(held, *(f"{kind}-{cpu}" for cpu in slot for kind in ("slot", "cpu"))):
                        yield slot
                        return
                if free_bytes() >= ROOM_BYTES and self._own(held, "beside"):
                    yield everywhere
                    return
                waiting()
                time.sleep(RETRY_SECONDS)

    def others(self) -> list[Holder]:
        """Return the programs outside the league that hold processors of its slots."""
        taken = set()
        for cpu in (cpu for slot in self.slots for cpu in slot):
            with contextlib.ExitStack() as ours:
                if self._own(ours, f"slot-{cpu}") and not self._own(ours, f"cpu-{cpu}"):
                    taken.add(cpu)
        return [holder for holder in self._processors.holders() if taken & set(holder.cpus)] if taken else []

    def _wanted_first(self, slot: tuple[int, ...]) -> bool:
        with contextlib.ExitStack() as briefly:
            return not self._own(briefly, f"first-{slot[0]}")

    def _own(self, held: contextlib.ExitStack, *names: str) -> bool:
        """Lock all of these files until `held` is closed, or none."""
        if (hold := self._processors.locked(*names)) is not None:
            held.enter_context(hold)
        return hold is not None
