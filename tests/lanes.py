"""Three lanes of tests: `pytest --quick` runs pure ones, `pytest` those to pass before a commit, `pytest --all` all.

A test is in the quick lane if its file, or the test itself, is marked `quick`; `tests/pure.py` says what it must not do
and makes it fail if it does. Other files are not even imported there.

Tests that the short lane leaves out are marked, and the summary counts them by folder; a test that is named by its id
(FILE::TEST) always runs. There are three ways to leave something to `--all`:

* `@pytest.mark.all` marks a test of another depth or combination of what the short lane already looks at.
* A fixture whose parameters are databases marks PostgreSQL as `twin`; its tests then run on SQLite only, except those
  with `@pytest.mark.databases`: locks, races, migrations, JSON, text and whatever else differs there.
* `scaled(full, short)` for the length of a loop or a flood, and `examples(full)` for those of a property.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHORT_EXAMPLES, DEEP_EXAMPLES = 20, 100
SHARE = SHORT_EXAMPLES / DEEP_EXAMPLES

# No test asserts absolute times, so no property does: on a busy host one example may take seconds.
for name, count in (("short", SHORT_EXAMPLES), ("deep", DEEP_EXAMPLES)):
    settings.register_profile(name, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=count)

LEFT = "left to --all"
_left = pytest.StashKey[Counter[str]]()


class Lane:
    """The lane of this process; modules ask it when they are imported, before there is a fixture to ask."""

    everything = False
    quick = False


def scaled(full: int, short: int) -> int:
    """Return `full` in a run of everything, and `short` in another."""
    return full if Lane.everything else short


def examples(full: int) -> settings:
    """Return settings for a property with `full` examples in a run of everything."""
    return settings(max_examples=scaled(full, max(1, round(full * SHARE))))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run everything, not only what protects a commit")
    parser.addoption("--quick", action="store_true", help="run only pure tests, while you write")


def pytest_configure(config: pytest.Config) -> None:
    Lane.everything, Lane.quick = bool(config.getoption("all")), bool(config.getoption("quick"))
    if not Lane.quick:
        config.pluginmanager.import_plugin("tests.savings")  # imports the league's database, which pure tests lack
    settings.load_profile("deep" if Lane.everything else "short")
    config.stash[_left] = Counter()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files in which nothing is marked `quick`, and folders without such a file, before they are imported."""
    if not Lane.quick:
        return None
    return not any("mark.quick" in path.read_text() for path in _test_files(collection_path)) or None


def _test_files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return path.rglob("test_*.py")
    return [path] if path.suffix == ".py" else []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if Lane.quick:
        items[:] = [item for item in items if item.get_closest_marker("quick")]
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
    """Copy what one process left out: each collects the same tests, so all left out the same."""
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
    """Return whether the command line names the test."""
    asked = (argument for argument in config.args if "::" in argument)
    return any(item.nodeid == name or item.nodeid.startswith((f"{name}[", f"{name}::")) for name in asked)
