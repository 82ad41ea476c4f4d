"""Working folders that disappear with their owner, even when it is killed.

The owner holds a lock on the folder, which the kernel releases with the process; `sweep_folders` deletes folders that
nobody has locked, but for very young ones, whose owner may not have locked them yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

YOUNG_SECONDS = 10


class LockedFolder:
    """A new folder below `parent`, locked until it is removed. Also a context manager that gives its path."""

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

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


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
            with contextlib.suppress(OSError):  # it is already gone
                if time.time() - path.stat().st_mtime >= young_seconds and not is_locked(path):
                    shutil.rmtree(path, ignore_errors=True)
                    swept += 1
    return swept
