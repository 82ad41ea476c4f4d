"""The weight of bots against everything else that wants a machine's processors.

Theory of operation
-------------------
By default an engine keeps all its containers in one control group, and that group weighs as much as one process: seven
busy processes left all boxes of a machine an eighth of it. So boxes get parents of their own, one for those that play
and one for builds. The parents are ours: nothing of the engine's changes, and an empty one may stay.

A group's weight is divided among the processors on which it is busy, so it is counted by processor: 1 is as much as one
ordinary process on each while matches are played on all. Boxes weigh `SHARED` where other parts of a league may run:
an API gets a fifth of every processor, however much is played. On a machine that only plays they outweigh strangers
(`ALONE`). Builds weigh 1 everywhere, because no clock runs while they wait, and a compiler may start 128 processes.

Own time gives back what bots wait for, but not what waiting costs: a bot that runs for 3 ms in every 15 finds its
caches cold each time. Beside four busy processes a processor, victims that walk through 768 KiB and use 60 % of their
limit were late in 11 of 11 matches with weight 0.5, and in none of 11 with 4 and with 16.

The weights between boxes (`sandbox.cgroup.Cgroup.favour`) are relative within a parent. The engine creates a parent
when it starts the first box in it. Whoever opens a box sets the weight; systemd, if it is the engine's driver, may
reset it when it reads its units again.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PLAY, BUILD = "deadheat_play", "deadheat_build"
"""The parents, as groups below the root or, with systemd's driver, as slices. A dash would nest a slice."""

SHARED = 4.0
"""The weight beside an API, a database and a broker: bots think without losing their caches all the time."""

ALONE = 16.0
"""The weight on a machine that only plays: against seven busy processes a processor, boxes keep 70 % of it. The engine,
the keeper and the kernel's helpers need the rest."""

ORDINARY = {"cpu.shares": 1024, "cpu.weight": 100}
"""The weight of one ordinary process, by the file of version 1 or 2."""

MOST = {"cpu.shares": 262_144, "cpu.weight": 10_000}
"""The most that the kernel accepts: `ALONE` for 16 processors with version 1, and for 6 with version 2."""


def parent(building: bool, systemd: bool) -> str:
    """Return the engine's setting for the parent of a box."""
    name = BUILD if building else PLAY
    return f"{name}.slice" if systemd else f"/{name}"


def wanted(building: bool, only_plays: bool) -> float:
    """Return the weight that a parent should have, by processor."""
    return 1.0 if building else ALONE if only_plays else SHARED


class Parent:
    """The parent group of a box whose own weight is in the file `weight` (see `sandbox.cgroup.weight_file`)."""

    def __init__(self, weight: Path | None, processors: int | None = None) -> None:
        self._file = None
        if weight is not None and weight.parent.parent.name.removesuffix(".slice") in (PLAY, BUILD):
            self._file = weight.parent.parent / weight.name
        self._processors = processors or os.cpu_count() or 1

    def weigh(self, weight: float) -> bool:
        """Set the weight, by processor, as nearly as the kernel accepts. Return False if that is not possible here."""
        if self._file is None:
            return False
        value = min(round(weight * ORDINARY[self._file.name] * self._processors), MOST[self._file.name])
        with contextlib.suppress(OSError):  # not permitted, or not mounted for writing
            if int(self._file.read_text()) != value:
                self._file.write_text(f"{value}\n")
            return True
        return False

    @property
    def weight(self) -> float | None:
        """Return the present weight, by processor; None without a group that can be read."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                return int(self._file.read_text()) / ORDINARY[self._file.name] / self._processors
        return None

    @property
    def greatest(self) -> float:
        """The greatest weight that the kernel accepts here, by processor."""
        name = "cpu.weight" if self._file is None else self._file.name
        return MOST[name] / ORDINARY[name] / self._processors
