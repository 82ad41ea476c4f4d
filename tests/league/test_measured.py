"""The counts of all processes of a host add up, even after these have ended, and leave no files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from deadheat.league import measured

COUNTS = """
import os, sys
from prometheus_client import Counter, Gauge, Histogram
Counter("c_total", "C.", ["season"]).labels("1").inc(3)
Histogram("h", "H.", buckets=(1, 2)).observe(1.5)
Gauge("g", "G.", multiprocess_mode="livesum").set(5)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


class Counting:
    """A process that counts 3 and then waits until it is killed."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
        command = [sys.executable, "-c", COUNTS]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def told(folder: Path) -> dict[str, float]:
    registry = CollectorRegistry()
    measured.Sums(registry, folder, "w1")
    lines = generate_latest(registry).decode().splitlines()
    assert all('host="w1"' in line for line in lines if line[0] != "#"), "every figure says whose it is"
    lines = [line.replace('{host="w1"}', "").replace('host="w1",', "") for line in lines]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_files_of_processes_that_were_killed_go_and_what_they_counted_stays(tmp_path: Path) -> None:
    killed, lives = Counting(tmp_path), Counting(tmp_path)
    before = told(tmp_path)
    assert (before['c_total{season="1"}'], before["h_count"], before["g"]) == (6, 2, 10)
    killed.kill()
    Counting(tmp_path).kill()
    measured.fold(tmp_path)
    measured.fold(tmp_path)
    found = told(tmp_path)
    assert (found['c_total{season="1"}'], found['h_bucket{le="2.0"}'], found["h_sum"]) == (9, 3, 4.5)
    assert found["g"] == 5, "what a dead process has now is nothing"
    files = {path.name for path in tmp_path.glob("*.db")}
    mine = {f"{kind}_{lives.process.pid}.db" for kind in ("counter", "histogram", "gauge_livesum")}
    assert files == mine | {"counter_gone.db", "histogram_gone.db"}
    measured.begin(tmp_path)
    assert told(tmp_path) == found, "somebody else counts here"
    lives.kill()
    measured.begin(tmp_path)
    assert list(tmp_path.glob("*.db")) == []


def test_a_file_that_was_just_made_spoils_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    killed = Counting(tmp_path)
    killed.kill()
    (tmp_path / f"counter_{killed.process.pid}.db").write_bytes(b"")
    measured.fold(tmp_path)
    assert told(tmp_path)["h_count"] == 1
    assert "cannot be read" in caplog.text


def test_of_two_that_tell_the_same_sum_the_second_is_told(tmp_path: Path) -> None:
    script = "import sys, pathlib, league.measured as m; print(m.told_alone(pathlib.Path(sys.argv[1])), flush=True)"
    run = [sys.executable, "-c", script + "; sys.stdin.read()", str(tmp_path)]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "True\n"
        assert not measured.told_alone(tmp_path)
