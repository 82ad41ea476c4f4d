"""Hooks and fixtures of all tests; those marked `containers` need a Docker Engine and the judge image.

A skipped test must never look like a pass. On a laptop a test may be skipped because an engine or something else is
missing, and the summary then says so in capitals; with CI=true it fails.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from deadheat.sandbox.images import own_image

if TYPE_CHECKING:
    from deadheat.sandbox.docker import DockerSandbox

pytest_plugins = ["tests.lanes", "tests.pure", "tests.alone"]

JUDGE_IMAGE = own_image("deadheat/judge:core")
ANSWER_TIMEOUT_S = 20

SERVERS = {"tests/cluster", "tests/dashboards"}
"""Folders of tests that share servers, which take minutes to start."""

WAITING = (
    *("tests/end_to_end/", "tests/docs/test_commands.py", "tests/hostile/test_zoo.py", "tests/cluster"),
    *("tests/site/test_everybody.py", "tests/dashboards", "tests/hostile/", "tests/workers/", "tests/sandbox/"),
    *("tests/site/", "tests/deploy/", "tests/benchmarks/"),
)
"""Where tests wait for containers, servers and a browser more than they compute; the slowest come first."""

CI = os.environ.get("CI") == "true"

# Treat each process of a run as a separate machine: tests do not wait for processors that other tests or people use.
os.environ["DEADHEAT_LOCK_DIR"] = tempfile.mkdtemp(prefix="deadheat-test-locks-")
atexit.register(shutil.rmtree, os.environ["DEADHEAT_LOCK_DIR"], ignore_errors=True)

# Shells make what they start in the background ignore Ctrl-C, and programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def environment_as_before() -> Iterator[None]:
    """Restore the environment after a test: some commands set variables for the processes that they would start."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@cache
def engine_problem() -> str | None:
    """Say why no container can run here, in a sentence without its full stop, or return None."""
    # ./scripts/test has just asked or started an engine, and knows better whether and why that failed.
    if (told := os.environ.get("DEADHEAT_ENGINE_PROBLEM")) is not None:
        return told or None
    if os.geteuid() != 0:
        return "bots are confined only when this runs as root"
    if not docker_succeeds("version"):
        return "no Docker Engine answers"
    if not docker_succeeds("image", "inspect", JUDGE_IMAGE):
        return f"the engine has no image {JUDGE_IMAGE}; deploy/images/build makes it"
    return None


def docker_succeeds(*arguments: str) -> bool:
    """Say whether a docker command succeeds; the library leaves its socket open if nobody answers, an error here."""
    try:
        done = subprocess.run(["docker", *arguments], capture_output=True, check=False, timeout=ANSWER_TIMEOUT_S)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def require_engine() -> None:
    """Skip the running test if containers cannot run here."""
    if problem := engine_problem():
        pytest.skip(problem)


class Together(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Schedules runs in several processes. The tests of a file stay together, because what they share is made once; so
    do those of a folder in `SERVERS`.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = file.rpartition("/")[0]
        return folder if folder in SERVERS else file

    def remove_node(self, node: Any) -> str | None:
        """Forget what a crashed process had finished. xdist 3.8 would assign it again, and wait for ever for a process
        whose last unit has no test left.
        """
        units = self.assigned_work[node]
        self.assigned_work[node] = {scope: unit for scope, unit in units.items() if not all(unit.values())}
        crashed: str | None = super().remove_node(node)
        return crashed

    def _assign_work_unit(self, node: Any) -> None:
        """Let every second process start with tests that wait, and the others with tests that compute, so that
        processors are neither idle nor contended.
        """
        scopes = list(self.workqueue)
        if self.nodes.index(node) % 2:
            wanted = [scope for place in WAITING for scope in scopes if scope.startswith(place)]
        else:
            wanted = [scope for scope in scopes if not scope.startswith(WAITING)]
        if wanted:
            self.workqueue.move_to_end(wanted[0], last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse two tests with one id, as several processes share tests out by id and would run only one of them. (Since
    pytest 9.2, ids of schemathesis 4.32 lack the parameter, which this adds.)
    """
    for item in items:
        if not item.nodeid.endswith(f"::{item.name}"):
            assert item.parent is not None
            item._id = item.parent.id.child(item.name)
    twice = [nodeid for nodeid, count in Counter(item.nodeid for item in items).items() if count > 1]
    assert not twice, f"tests that have one id: {twice}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("containers"):
        require_engine()


@pytest.fixture(scope="session")
def engine_required() -> None:
    """Skip in wider fixtures that start containers, because they are set up before a test's own marker is seen."""
    require_engine()


@pytest.fixture
def docker_sandbox(tmp_path: Path) -> Iterator[DockerSandbox]:
    """Containers of the judge image, in this test's own folder."""
    from deadheat.league.config import Settings
    from deadheat.sandbox.docker import DockerSandbox

    opened = DockerSandbox(Settings().image, tmp_path / "run")
    yield opened
    opened.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"Skipped, which CI=true does not allow: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if skipped := terminalreporter.stats.get("skipped", []):
        terminalreporter.section(f"{len(skipped)} TESTS WERE NOT RUN", sep="!", red=True, bold=True)
        for reason, count in Counter(map(_reason, skipped)).most_common():
            terminalreporter.line(f"{count}: {reason}")
        terminalreporter.line("With CI=true they fail.")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return why.removeprefix("Skipped: ")
