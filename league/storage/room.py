"""The free space on our disks, and the folder in which blobs are stored, if they are files."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Room:
    """The free space of a file system for users other than root."""

    free_bytes: int
    size_bytes: int
    free_files: int
    size_files: int  # 0: the file system creates inodes as needed

    @property
    def free_ratio(self) -> float:
        """The smaller free share of two resources: bytes, and inodes, which millions of small blobs use up first."""
        files = self.free_files / self.size_files if self.size_files else 1.0
        return min(self.free_bytes / max(1, self.size_bytes), files)


def room_at(folder: Path) -> Room:
    """Return the space on the file system of a folder. Raises OSError."""
    found = os.statvfs(folder)
    # Only root may use a full disk's reserve, so it does not count.
    return Room(
        free_bytes=found.f_bavail * found.f_frsize,
        size_bytes=found.f_blocks * found.f_frsize,
        free_files=found.f_favail,
        size_files=found.f_files,
    )


def blob_folder(url: str) -> Path | None:
    """Return the folder in which a store with that URL keeps its blobs, or None if it has none."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
