"""Ctrl-C ends a command."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.command import ROOT

IGNORED = """
import signal, time
from deadheat.cli.console import interruptible

class Fragile:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # as where an import ends: what is raised here, Python ignores

try:
    with interruptible():
        Fragile()
        time.sleep(30)
except KeyboardInterrupt:
    print("ended")
"""


def test_ctrl_c_ends_a_command_even_where_python_ignores_it() -> None:
    command = [sys.executable, "-c", IGNORED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
