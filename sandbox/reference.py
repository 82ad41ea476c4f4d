"""Reference bots: programs whose verdict is known beforehand, for checks of a host and for canary matches.

One program plays all of them; each prompt is an order that says which.
"""

from __future__ import annotations

from pathlib import Path

from sandbox.box import Program

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
"""A bot that answers at once."""

SPIN = "SPIN"
"""Compute for ever: late on any host that gives it a CPU."""


def sleep(milliseconds: float) -> str:
    """Answer so long after the order was read, mostly asleep."""
    return f"SLEEP {milliseconds}"


def work(milliseconds: float) -> str:
    """Answer after using so much CPU time: how long that takes is the host's doing."""
    return f"WORK {milliseconds}"


def reference_program(folder: Path) -> Program:
    """The program, written into an empty folder."""
    (folder / "main.py").write_text(CODE)
    return Program(folder, ("/usr/bin/python3", "main.py"), "reference")
