"""Working folders that disappear with their owner, even when it is killed.

The owner holds a lock on the folder, which the kernel releases with the process; `sweep_folders` deletes folders that
nobody has locked. A moment passes between creating and locking a folder, so a sweep spares very young ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

YOUNG_SECONDS = 10


class LockedFolder:
    """A new folder below `parent`, locked until it is removed."""

    def __init__(self, parent: Path, purpose: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=parent))
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Delete the folder; may be called repeatedly."""
        if self._fd >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._fd)
            self._fd = -1


@contextlib.contextmanager
def locked_folder(parent: Path, purpose: str) -> Iterator[Path]:
    """Create a folder that exists for the duration of the block."""
    folder = LockedFolder(parent, purpose)
    try:
        yield folder.path
    finally:
        folder.remove()


def is_locked(path: Path) -> bool:
    """Say whether the folder exists and its owner is alive. Several processes may ask at once."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def sweep_folders(parent: Path, *purposes: str, young_seconds: float = YOUNG_SECONDS) -> int:
    """Delete the folders for these purposes whose owners are dead, and return their number."""
    swept = 0
    for purpose in purposes:
        for path in parent.glob(f"{purpose}-*"):
            with contextlib.suppress(OSError):  # BlockingIOError: its owner lives; any other: it is already gone
                if time.time() - path.stat().st_mtime < young_seconds:
                    continue
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                    swept += 1
                finally:
                    os.close(fd)
    return swept
