"""Two lanes of tests: `pytest` runs those to pass before a commit, `pytest --all` runs everything.

What the short lane leaves out is marked, and the summary counts it by folder; a test that is named by its id
(FILE::TEST) always runs. There are three ways to leave something to `--all`:

* `@pytest.mark.all` on a test: another depth or another combination of what the short lane already looks at.
* A fixture whose parameters are databases gives the PostgreSQL one `twin`; its tests then run on SQLite only, but for
  those with `@pytest.mark.databases`: locks, races, migrations, JSON, text and whatever else differs there.
* `scaled(full, short)` for the length of a loop or a flood, and `examples(full)` for those of a property.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

QUICK_EXAMPLES, DEEP_EXAMPLES = 20, 100
SHARE = QUICK_EXAMPLES / DEEP_EXAMPLES

# No test asserts absolute times, so properties do not either: on a busy host one example may take seconds.
for name, count in (("quick", QUICK_EXAMPLES), ("deep", DEEP_EXAMPLES)):
    settings.register_profile(name, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=count)

LEFT = "left to --all"
_left = pytest.StashKey[Counter[str]]()


class Lane:
    """The lane that this process runs: modules ask when they are imported, before there is a fixture to ask."""

    everything = False


def scaled(full: int, short: int) -> int:
    """Return how far to go: `full` in a run of everything, else `short`."""
    return full if Lane.everything else short


def examples(full: int) -> settings:
    """Return the settings of a property that has `full` examples in a run of everything."""
    return settings(max_examples=scaled(full, max(1, round(full * SHARE))))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run everything, not only what protects a commit")


def pytest_configure(config: pytest.Config) -> None:
    Lane.everything = bool(config.getoption("all"))
    settings.load_profile("deep" if Lane.everything else "quick")
    config.stash[_left] = Counter()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if Lane.everything:
        return
    left = [item for item in items if _for_all(item) and not _asked_for(config, item)]
    gone = set(left)
    items[:] = [item for item in items if item not in gone]
    counted = Counter(item.nodeid.partition("::")[0].rpartition("/")[0] for item in left)
    config.stash[_left] = counted
    if hasattr(config, "workeroutput"):
        config.workeroutput[LEFT] = dict(counted)
    config.hook.pytest_deselected(items=left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Each process collects the same tests, so what one of them left out is what all did."""
    config: pytest.Config = node.config  # type: ignore[attr-defined]
    if left := getattr(node, "workeroutput", {}).get(LEFT):
        config.stash[_left] = Counter(left)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left = config.stash[_left]
    if left:
        terminalreporter.section(f"{sum(left.values())} tests {LEFT}", sep="-")
        for folder, count in sorted(left.items()):
            terminalreporter.line(f"{count:5} {folder}")


def _for_all(item: pytest.Item) -> bool:
    twin = item.get_closest_marker("twin") and not item.get_closest_marker("databases")
    return bool(twin or item.get_closest_marker("all"))


def _asked_for(config: pytest.Config, item: pytest.Item) -> bool:
    """Return whether the command line names the test itself."""
    asked = (argument for argument in config.args if "::" in argument)
    return any(item.nodeid == name or item.nodeid.startswith((f"{name}[", f"{name}::")) for name in asked)
