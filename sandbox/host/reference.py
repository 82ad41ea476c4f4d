"""Reference bots: programs with known verdicts, for checks of a host and for canary matches.

One program plays them all; each prompt is an order that says which one.
"""

from __future__ import annotations

from pathlib import Path

from deadheat.engine.core import NS_PER_S
from deadheat.sandbox.box import Program

CODE = """
import sys, time
for line in sys.stdin:
    read_at = time.monotonic()
    order, _, milliseconds = line.strip().partition(" ")
    if order == "SLEEP":
        until = read_at + float(milliseconds) / 1000
        time.sleep(max(0.0, until - time.monotonic() - 0.0005))
        while time.monotonic() < until: pass
    elif order == "WORK":
        until = time.process_time() + float(milliseconds) / 1000
        while time.process_time() < until: pass
    elif order == "SPIN":
        while True: pass
    print("OK", flush=True)
"""

CHATTER = "CHATTER"
"""The order to answer at once."""

SPIN = "SPIN"
"""The order to compute forever: late on any host that gives it a CPU."""

REFERENCE_WATCH_NS = 3 * NS_PER_S
"""How long past its deadline a reference bot is watched: a check is repeated anyway, and holds a slot meanwhile."""


def sleep(milliseconds: float) -> str:
    """Make the order to answer after this time, and to sleep most of it."""
    return f"SLEEP {milliseconds}"


def work(milliseconds: float) -> str:
    """Make the order to answer after using this much CPU time; the host decides how long that takes."""
    return f"WORK {milliseconds}"


def reference_program(folder: Path) -> Program:
    """Write the reference program into an empty folder."""
    (folder / "main.py").write_text(CODE)
    return Program(folder, ("/usr/bin/python3", "main.py"), "reference")
