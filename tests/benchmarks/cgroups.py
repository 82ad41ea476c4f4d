"""One control group around everything that a benchmark starts, so that one counter holds all of its CPU time."""

import os
import time
from pathlib import Path

from deadheat.sandbox import cgroup

ROOT = Path("/sys/fs/cgroup")
EMPTY_SECONDS = 60


class MeasuredGroup:
    """A group with children for the engine, the containers and ourselves; needs root. Close it when all have left."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._v2 = (ROOT / "cgroup.controllers").exists()
        self._base = ROOT / name if self._v2 else ROOT / "cpuacct" / name
        self._home = ROOT if self._v2 else ROOT / "cpuacct"
        parents = cgroup.PLAY, cgroup.BUILD  # in `engine_of_our_own.measured` they lie in this group from then on
        self._boxes = [self._home / f"{parent}{kind}" for parent in parents for kind in ("", ".slice")]
        for child in ("engine", "run"):
            (self._base / child).mkdir(parents=True, exist_ok=True)

    def join(self, child: str) -> None:
        """Move the calling process in."""
        (self._base / child / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self) -> None:
        """Move the calling process out again, and what lives as long as it does: the watcher over its plain bots."""
        for number in (self._base / "run" / "cgroup.procs").read_text().split():
            (self._home / "cgroup.procs").write_text(number)

    def cpu_ns(self) -> int:
        """Return the CPU time of everything that is or was inside, and of the machine's boxes. These have parents of
        their own, so nothing else may play here meanwhile.
        """
        return sum(self._cpu_ns(group) for group in (self._base, *self._boxes) if group.is_dir())

    def _cpu_ns(self, group: Path) -> int:
        if not self._v2:
            return int((group / "cpuacct.usage").read_text())
        fields = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return int(fields["usage_usec"]) * 1000

    def close(self) -> None:
        """Remove the groups; the containers' parents of other controllers too. Shims that have not quite ended keep
        theirs, and runc removes some itself.
        """
        hierarchies = [ROOT] if self._v2 else [path for path in ROOT.iterdir() if path.is_dir()]
        for hierarchy in hierarchies:
            base = hierarchy / self.name
            give_up_at = time.monotonic() + EMPTY_SECONDS
            while base.is_dir():
                try:
                    for path in sorted((p for p in base.rglob("*") if p.is_dir()), reverse=True):
                        path.rmdir()
                    base.rmdir()
                except OSError:
                    if time.monotonic() > give_up_at:
                        raise
                    time.sleep(0.1)
