"""A container runtime that cannot work is refused when a part starts, not in the middle of a match."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import deadheat
from tests.league.ground import migrated_file


@pytest.mark.containers
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["worker", "--queues", "build"], marks=pytest.mark.all),
        ["worker", "--queues", "play"],
        pytest.param(["serve"], marks=pytest.mark.all),
        ["check-host"],
    ],
    ids=" ".join,
)
def test_a_runtime_that_the_engine_does_not_have_is_refused_in_a_sentence(arguments: list[str], tmp_path: Path) -> None:
    shutil.copy(migrated_file(), tmp_path)  # a worker looks at its database first
    done = deadheat(*arguments, DEADHEAT_RUNTIME="nobodys", DEADHEAT_DATA_DIR=str(tmp_path), DEADHEAT_PORT="0")
    assert done.returncode == 1, done.stderr
    assert "has no runtime 'nobodys'" in done.stderr and "Traceback" not in done.stderr
