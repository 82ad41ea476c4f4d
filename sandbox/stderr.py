"""The stderr of a plain program: a file in memory that never blocks it, and whose two ends are kept.

As in a container, the first 8 KiB and the last 48 KiB stay (`sandbox/images/init.c`). There init reads a pipe while the
bot runs. Here nobody could: the referee's process does nothing else while a clock runs. So the program appends to a
file, which is cut whenever the referee reads the program's counters anyway. Text written between two readings needs
memory, which `MAX_FILE_BYTES` bounds.
"""

from __future__ import annotations

import fcntl
import os

HEAD_BYTES, TAIL_BYTES = 8 * 1024, 48 * 1024

CUT_BYTES = 4 * 1024 * 1024
"""The size at which the file is cut. A check costs a microsecond, a cut some fifty."""

MAX_FILE_BYTES = 1024 * 1024 * 1024
"""The largest file that a plain program may write, as its limit RLIMIT_FSIZE: an endless loop of messages must not take
all the memory before its time is over. At 4 GB/s, the speed of `yes`, that takes a quarter of a second."""


class Stderr:
    """The file that a program gets as its stderr. Close it."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("stderr")  # a third of the cost of a file in /tmp, and needs no removal
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_APPEND)  # writes go to the end, even after the file is cut
        self._head = b""
        self._left_out = 0

    def cut(self) -> None:
        """Drop the middle if the file is large. Text that the program writes at this very moment may be lost too."""
        size = os.lseek(self.fd, 0, os.SEEK_END)  # a third of the cost of fstat; writes go to the end anyway
        if size < CUT_BYTES:
            return
        head = b"" if self._head else os.pread(self.fd, HEAD_BYTES, 0)
        tail = os.pread(self.fd, TAIL_BYTES, size - TAIL_BYTES)
        os.ftruncate(self.fd, 0)
        os.write(self.fd, tail)
        self._head = self._head or head
        self._left_out += size - len(head) - len(tail)

    def kept(self) -> bytes:
        """Return the text kept so far, without moving the file's offset, which the program shares."""
        size = os.fstat(self.fd).st_size
        if not size and not self._left_out:
            return b""
        head = self._head or os.pread(self.fd, HEAD_BYTES, 0)
        rest = size if self._head else size - len(head)
        tail = os.pread(self.fd, min(rest, TAIL_BYTES), size - min(rest, TAIL_BYTES))
        left_out = self._left_out + rest - len(tail)
        return head + (b"\n[... %d bytes left out ...]\n" % left_out if left_out > 0 else b"") + tail

    def close(self) -> None:
        """Release the file and its memory."""
        os.close(self.fd)
