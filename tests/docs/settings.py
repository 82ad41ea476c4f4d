"""Write what pages repeat from the code:

    python -m tests.docs.settings

writes every setting from league/config.py to docs/reference/settings.md and deploy/env.example, every metric to
docs/reference/metrics.md, and from league/states.py a season's states to docs/export.md and the commands that lead to
them to docs/client.md.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric

from deadheat.api import metrics as of_api
from deadheat.league.config import Settings
from deadheat.league.states import SEASON_STEPS, SeasonState
from deadheat.workers import metrics as of_workers
from tests.api.site import Site
from tests.cli.command import ROOT

PAGE = ROOT / "docs" / "reference" / "settings.md"
METRICS = ROOT / "docs" / "reference" / "metrics.md"
EXPORT = ROOT / "docs" / "export.md"
CLIENT = ROOT / "docs" / "client.md"
EXAMPLE = ROOT / "deploy" / "env.example"
HEAD = "| setting | default | what it is |\n|---|---|---|\n"
METRICS_HEAD = "| metric | kind | labels | what it is |\n|---|---|---|---|\n"


def states() -> str:
    """Return a season's states as the table of its export lists them."""
    return f"| `state` | {', '.join(f'`{state}`' for state in SeasonState)} |\n"


def steps() -> str:
    """Return the commands that move a season to another state, in their order."""
    return ", ".join(f"`season {step.command}`" for step in SEASON_STEPS.values())


def table() -> str:
    """Return a table of all settings: variable, default and description."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in {None, ""} else f"`{field.default}`"
        rows.append(f"| `DEADHEAT_{name.upper()}` | {default} | {field.description} |\n")
    return HEAD + "".join(rows)


def metrics() -> str:
    """Return a table of all metrics: name, kind, labels and description."""
    rows = {}
    for metric, labels in _metrics():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        named = ", ".join(f"`{label}`" for label in labels)
        rows[name] = f"| `{name}` | {metric.type} | {named} | {metric.documentation} |\n"
    return METRICS_HEAD + "".join(row for _, row in sorted(rows.items()))


def _metrics() -> Iterator[tuple[Metric, tuple[str, ...]]]:
    for module in (of_workers, of_api):
        for counted in vars(module).values():
            if isinstance(counted, MetricWrapperBase):
                (metric,) = counted.describe()
                yield metric, counted._labelnames
    with TemporaryDirectory() as folder, closing(Site(Path(folder))) as site:
        (Path(folder) / "blobs").mkdir()
        shared = site.app.state.services
        for gauge in (*of_api._Database(shared).collect(), *of_api._Disk(shared).collect()):
            yield gauge, getattr(gauge, "_labelnames", ())


def example(text: str) -> str:
    """Return an updated env.example: headings stay, and a new setting follows the one before it."""
    parts = text.rstrip("\n").split("\n\n")
    place = 0
    for name, field in Settings.model_fields.items():
        line = f"#DEADHEAT_{name.upper()}="
        here = [number for number, part in enumerate(parts) if f"\n{line}" in part]
        if not here:
            parts.insert(place + 1, "")
        place = here[0] if here else place + 1
        parts[place] = f"# {field.description}\n{line}{'' if field.default is None else field.default}"
    return "\n\n".join(parts) + "\n"


def rewrite(page: Path, old: str, new: str) -> None:
    """Replace what the pattern `old` finds once on a page."""
    text, found = re.subn(old, lambda _: new, page.read_text(encoding="utf-8"))
    assert found == 1, f"{page} has {old} {found} times"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite(PAGE, re.escape(HEAD) + r"(\|.*\n)*", table())
    rewrite(METRICS, re.escape(METRICS_HEAD) + r"(\|.*\n)*", metrics())
    rewrite(EXPORT, r"\| `state` \| `scheduled`, `open`.*\n", states())
    rewrite(CLIENT, r"`season open`.*`season close`", steps())
    EXAMPLE.write_text(example(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
