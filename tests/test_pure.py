"""A test of the quick lane fails if it reaches out of its process."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pure import Impure, release, watch


def connects() -> None:
    with socket.socket() as opened:
        opened.connect(("127.0.0.1", 9))


@pytest.mark.parametrize(
    "act",
    [
        connects,
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: os.system("true"),
        os.fork,
        lambda: sqlite3.connect(":memory:"),
    ],
)
def test_a_pure_test_may_not(act: Callable[[], object]) -> None:
    watch()
    with pytest.raises(Impure):
        act()
    assert release()


def test_a_pair_of_sockets_within_the_process_is_pure() -> None:
    watch()
    for end in socket.socketpair():
        end.close()
    assert release() == []


REACHES_OUT = """
import os, pytest

@pytest.mark.quick
def test_refused():
    os.system("true")

@pytest.mark.quick
def test_that_survives_the_refusal():
    try:
        os.system("true")
    except Exception:
        pass

@pytest.mark.quick
def test_pure():
    pass

def test_without_the_marker():
    pass
"""


def test_the_quick_lane_runs_marked_tests_and_fails_those_that_reach_out(tmp_path: Path) -> None:
    (tmp_path / "test_quick.py").write_text(REACHES_OUT)
    (tmp_path / "test_other.py").write_text("import nothing_of_this_name")  # would fail if it were imported
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    quick: pure")
    plugins = ["-p", "no:schemathesis", "-p", "tests.lanes", "-p", "tests.pure"]
    command = [sys.executable, "-m", "pytest", *plugins, "--quick", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "2 failed, 1 passed" in done.stdout, done.stdout
    assert "test_that_survives" in done.stdout and "test_refused" in done.stdout
