"""Ctrl-C ends a command."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from deadheat.cli.console import ending_in_order, undivided
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_undivided_ends_before_a_signal_counts_unless_it_comes_twice(number: signal.Signals) -> None:
    reached: list[str] = []

    def interrupted(times: int) -> None:
        with ending_in_order():
            with undivided():
                for _ in range(times):
                    signal.raise_signal(number)
                reached.append("the end")
            reached.append("what follows")

    with pytest.raises(KeyboardInterrupt):
        interrupted(1)
    assert reached == ["the end"]
    with pytest.raises(KeyboardInterrupt):
        interrupted(2)
    assert reached == ["the end"]
