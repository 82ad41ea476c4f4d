"""The folder in which the processes of one host combine their metrics (`DEADHEAT_METRICS_DIR`).

Theory of operation
-------------------
prometheus_client has each process write files named after it, sums them on request, and removes none: the counts of a
process remain after it has ended. A sum that fell would look like a counter that restarted, and Prometheus would take
all that is left for an increase. So the files of ended processes are merged into one for each kind of metric (`fold`),
under a lock shared with readers: the sum is the same before and after. It is reset when a deployment starts and no
process uses the folder (`begin`).

A reader reports the sum of the whole folder, so if Prometheus asks two readers, everything counts twice (`told_alone`).
"""

import contextlib
import fcntl
import logging
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

log = logging.getLogger(__name__)

FOLD_SECONDS = 20
"""The interval between two searches for files of processes that have ended."""

GONE = "gone"
"""The text that replaces the process's number in a file's name."""


class Sums(MultiProcessCollector):
    """A collector of the counts of all processes of a folder, labelled with their machine."""

    def __init__(self, registry: CollectorRegistry, folder: Path, host: str) -> None:
        self._here = {"host": host}
        super().__init__(registry, str(folder))  # type: ignore[no-untyped-call]  # it has no types
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        with _locked(self._folder, fcntl.LOCK_SH):
            metrics: list[Metric] = list(super().collect())  # type: ignore[no-untyped-call]
        for metric in metrics:
            metric.samples = [sample._replace(labels={**self._here, **sample.labels}) for sample in metric.samples]
        return metrics


def begin(folder: Path) -> None:
    """Start counting from zero for a new deployment, unless another process counts in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    fold(folder)
    with _locked(folder, fcntl.LOCK_EX):
        files = list(folder.glob("*.db"))
        if all(_process(file) is None for file in files):
            for file in files:
                file.unlink()


def fold(folder: Path) -> None:
    """Add up the counts of ended processes, and remove their files."""
    with _locked(folder, fcntl.LOCK_EX):
        for file in folder.glob("*.db"):
            number = _process(file)
            if number is None or _lives(number):
                continue
            kind = file.stem.partition("_")[0]
            if kind != "gauge":  # our gauges show what a process has now: nothing after its end
                _add(file, folder / f"{kind}_{GONE}.db")
            file.unlink()


def told_alone(folder: Path) -> bool:
    """Say whether no other process reports this folder's sum. If so, this process reports it until it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "told", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)  # held until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    return True


def _add(file: Path, total: Path) -> None:
    sums = MmapedDict(str(total))  # type: ignore[no-untyped-call]
    with contextlib.closing(sums):
        try:
            for key, value, at, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
                sums.write_value(key, sums.read_value(key)[0] + value, at)  # type: ignore[no-untyped-call]
        except (RuntimeError, struct.error):  # its process was killed just after it created the file
            log.warning("%s cannot be read, and what it counted is lost", file)


def _process(file: Path) -> int | None:
    """Return the number of the process that writes to a file, from the end of its name, or None if there is none."""
    number = file.stem.rpartition("_")[2]
    return int(number) if number.isdigit() else None


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    lock = os.open(folder / "lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, how)
        yield
    finally:
        os.close(lock)
