"""What is common to all tests: those marked `containers` need a Docker Engine and the judge image.

A missing engine must never look like a pass. On a laptop such a test is skipped and the summary says so in capitals;
with CI=true it fails.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache

import pytest

JUDGE_IMAGE = "deadheat/judge:core"
ANSWER_TIMEOUT_S = 20

_skipped = pytest.StashKey[list[str]]()


@cache
def engine_problem() -> str | None:
    """Why no container can be had here, as a sentence without its full stop; None when one can be."""
    # ./scripts/test, which tried to start an engine, knows better than we why it could not.
    if told := os.environ.get("DEADHEAT_ENGINE_PROBLEM"):
        return told
    if os.geteuid() != 0:
        return "bots are confined only when this runs as root"
    if not docker_succeeds("version"):
        return "no Docker Engine answers"
    if not docker_succeeds("image", "inspect", JUDGE_IMAGE):
        return f"the engine has no image {JUDGE_IMAGE}; deploy/images/build makes it"
    return None


def docker_succeeds(*arguments: str) -> bool:
    """The command line, not the library: that leaves its socket open when nobody answers, which is an error here."""
    try:
        done = subprocess.run(["docker", *arguments], capture_output=True, check=False, timeout=ANSWER_TIMEOUT_S)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def require_engine(config: pytest.Config) -> None:
    """Skip or fail the running test when containers cannot be had."""
    problem = engine_problem()
    if problem is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true and {problem}", pytrace=False)
    config.stash.setdefault(_skipped, []).append(problem)
    pytest.skip(problem)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("containers"):
        require_engine(item.config)


@pytest.fixture(scope="session")
def engine_required(request: pytest.FixtureRequest) -> None:
    """For fixtures of a wider scope that start containers: they are set up before a test's own marker is seen."""
    require_engine(request.config)


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    yield
    if skipped := config.stash.get(_skipped, []):
        terminalreporter.section("CONTAINER TESTS WERE NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.line(f"{len(skipped)} skipped: {skipped[0]}. With CI=true they fail.")
