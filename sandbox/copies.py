"""Copies of programs in which plain programs run, so that no match finds what an earlier one left, as under the judge.

A copy's files and folders may only be read. Who may write nevertheless, such as root, changes the state of the copy
(sizes, inodes and times of its files), and the next run gets a new one. Looking takes a few microseconds a file, a copy
of a small bot half a millisecond; so copies are kept for the next box of the same program.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

MOST_KEPT = 64
"""The most copies kept for the next box, each of at most `build.MAX_PROGRAM_BYTES`; mostly a few KiB."""

_State = list[tuple[str, int, int, int, int, int]]


class Copy:
    """A copy of a program's folder, made when it is first needed. Close it, or give it back to its `Copies`."""

    def __init__(self, original: Path, parent: Path) -> None:
        self.original = original
        self._parent = parent
        self._place: Path | None = None
        self._state: _State = []

    def fresh(self) -> Path:
        """Return the folder as the program was built. No process of an earlier run may be left. Raises OSError."""
        if self._place is None or self._changed(self._place):
            self.close()
            self._parent.mkdir(parents=True, exist_ok=True)
            self._place = Path(tempfile.mkdtemp(dir=self._parent)) / "bot"
            shutil.copytree(self.original, self._place)
            for path, _, mode, *_ in _state(self._place):
                os.chmod(path, mode & ~0o222)  # noqa: PTH101  a path's text costs a tenth of a Path
            self._state = _state(self._place)
        return self._place

    def _changed(self, place: Path) -> bool:
        try:
            return _state(place) != self._state
        except OSError:  # the program removed or locked a folder
            return True

    def close(self) -> None:
        """Remove the copy; idempotent. Never raises: what cannot be removed goes with the parent."""
        if self._place is not None:
            place, self._place = self._place, None
            with contextlib.suppress(OSError):  # the program removed or locked a folder
                for path, _, mode, *_ in _state(place):
                    if not stat.S_ISLNK(mode):  # which may lead anywhere
                        os.chmod(path, 0o700)  # noqa: PTH101  Windows, too, removes nothing that may only be read
            shutil.rmtree(place.parent, ignore_errors=True)


class Copies:
    """Copies below a folder, which its owner removes in the end."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._kept: list[Copy] = []

    def take(self, original: Path) -> Copy:
        """Return a copy that nobody else has."""
        for number, copy in enumerate(self._kept):
            if copy.original == original:
                return self._kept.pop(number)
        return Copy(original, self._parent)

    def give_back(self, copy: Copy) -> None:
        """Keep a copy for the next box of its program. The oldest go first."""
        self._kept.append(copy)
        while len(self._kept) > MOST_KEPT:
            self._kept.pop(0).close()


def _state(folder: Path) -> _State:
    return sorted(_entries(str(folder)))


def _entries(folder: str) -> Iterator[tuple[str, int, int, int, int, int]]:
    about = os.stat(folder)  # noqa: PTH116  as above
    yield folder, about.st_ino, about.st_mode, 0, about.st_mtime_ns, 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)
            else:
                about = entry.stat(follow_symlinks=False)
                yield entry.path, about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns
