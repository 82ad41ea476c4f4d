"""The whole product as its newcomers meet it: one command, real HTTP, real containers. Twice."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import docker
import pytest

from deadheat.sandbox.containers import LABEL
from tests.deployment import free_port
from tests.stillness import judged, unless_still

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.containers


def demo(folder: Path, matches: int) -> dict[str, Any]:
    environment = {**os.environ, "DEADHEAT_DATA_DIR": str(folder), "DEADHEAT_PORT": str(free_port())}
    command = [sys.executable, "-m", "deadheat.cli.operator.demo", "--once", "--json", "--matches", str(matches)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    log = folder / "logs" / "serve.log"
    assert done.returncode == 0, f"{done.stderr}\n{log.read_text()[-4000:] if log.exists() else ''}"
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def finished_matches(folder: Path) -> dict[int, int]:
    with contextlib.closing(sqlite3.connect(folder / "deadheat.sqlite3")) as database:
        rows = database.execute("SELECT season_id, count(*) FROM match WHERE state = 'done' GROUP BY season_id")
        return dict(rows.fetchall())


def test_the_demonstration_runs_twice_and_loses_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    unless_still(lambda: run_twice(tmp_path_factory.mktemp("league")))


def run_twice(tmp_path: Path) -> None:
    first = demo(tmp_path, 81)  # 10 pairs each play a series of ten: 81 is rounded up
    assert set(first) == {"matches", "voids", "leaderboard", "url", "seconds"}
    assert first["matches"] == 100
    # No innocent bot commits a fault, however busy the machine; abandoned matches would be missing from the 100 above.
    assert sum(row["other_faults"] for row in first["leaderboard"]) == 0
    judged(sum(row["timeouts"] for row in first["leaderboard"]) == 0, first["leaderboard"])
    order = [row["bot"] for row in first["leaderboard"]]
    assert order[:3] == ["expert", "counter", "greedy"]
    assert sum(row["games"] for row in first["leaderboard"]) == 200

    second = demo(tmp_path, 20)
    assert second["url"].endswith("/seasons/2")
    assert [row["version"] for row in second["leaderboard"]] == [1] * 5  # nothing was uploaded again
    assert finished_matches(tmp_path) == {1: 100, 2: 20}
    client = docker.APIClient(version="auto")
    ours = [c for c in client.containers(all=True) if str(tmp_path) in c["Labels"].get(LABEL, "")]
    assert ours == []
    client.close()
