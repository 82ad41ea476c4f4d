"""Runs a Python bot, and at its end writes where its CPU time went to stderr, as one line that `play` takes away again.

It is copied beside the bot's files and started in place of the bot. CPU time, because a bot's wall-clock time is mostly
the wait for its next line. A bot that is killed, or ends by `os._exit`, leaves no line.
"""

import cProfile
import json
import os
import runpy
import sys
import time
from pathlib import Path

MARK = "deadheat-profile: "
MOST_ROWS = 40
"""The functions told of, by their own time: 4 kB, which fits into what is kept of stderr's end."""


def rows(profile: cProfile.Profile) -> list[list[object]]:
    """Return the functions with file, line, name, calls, and seconds of their own and with all that they called."""
    told: list[list[object]] = []
    for entry in sorted(profile.getstats(), key=lambda entry: -entry.inlinetime):
        if isinstance(entry.code, str):
            where: list[object] = ["", 0, entry.code.strip("<>")]
        else:
            file = os.path.relpath(entry.code.co_filename)  # of the bot, or else of a library
            name = Path(file).name if file.startswith(os.pardir) else file
            where = [name, entry.code.co_firstlineno, entry.code.co_name]
        if "<frozen" not in str(where[0]):
            told.append([*where, entry.callcount, round(entry.inlinetime, 6), round(entry.totaltime, 6)])
    return told[:MOST_ROWS]


def main() -> None:
    """Run the program named by the first argument as if it had been started itself."""
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    profile = cProfile.Profile(time.process_time)
    try:
        profile.runcall(runpy.run_path, sys.argv[0], run_name="__main__")
    finally:
        sys.stderr.write(f"\n{MARK}{json.dumps(rows(profile))}\n")


if __name__ == "__main__":
    main()
