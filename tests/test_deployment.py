"""Servers that tests start beside each other get different ports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.deployment import ROOT, free_port


def test_no_two_processes_get_one_port_and_none_that_the_kernel_hands_out() -> None:
    code = "from tests.deployment import free_port; print(*(free_port() for _ in range(3)))"
    ours = {free_port() for _ in range(3)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    theirs = set(map(int, done.stdout.split()))
    assert len(ours) == len(theirs) == 3
    assert not ours & theirs
    handed_out = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(ours | theirs) < handed_out
