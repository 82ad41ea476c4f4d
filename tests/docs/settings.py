"""Write what pages repeat from the code:

    python -m tests.docs.settings

writes every setting from league/config.py to docs/reference/settings.md and deploy/env.example, every metric and
alert to docs/reference/metrics.md, a season's states from league/states.py to docs/reference/data-export.md, the help
of every command to docs/reference/commands.md, every fault to docs/reference/verdicts.md, every field of an observation
to docs/how-to/train.md, and the table of all pages to docs/README.md.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric

from deadheat.api import metrics as of_api
from deadheat.api.pages.texts.markdown import PAGES, SHELVES
from deadheat.cli.main import PANELS
from deadheat.engine import verdicts
from deadheat.engine.games import GAMES
from deadheat.league.config import Settings
from deadheat.league.states import SeasonState
from deadheat.training import VIEWS
from deadheat.workers import metrics as of_workers
from tests.api.site import Site
from tests.cli.command import ROOT, verbs

DOCS = ROOT / "docs"
PAGE = DOCS / "reference" / "settings.md"
METRICS = DOCS / "reference" / "metrics.md"
EXPORT = DOCS / "reference" / "data-export.md"
TRAINING = DOCS / "how-to" / "train.md"
VERDICTS = DOCS / "reference" / "verdicts.md"
COMMANDS = DOCS / "reference" / "commands.md"
INDEX = DOCS / "README.md"
EXAMPLE = ROOT / "deploy" / "env.example"
HEAD = "| setting | default | what it is |\n|---|---|---|\n"
METRICS_HEAD = "| metric | kind | labels | what it is |\n|---|---|---|---|\n"
ALERTS = ROOT / "dashboards" / "prometheus" / "alerts.yml"
ALERTS_HEAD = "| alert | urgency | what to do |\n|---|---|---|\n"
FAULTS_HEAD = "| verdict | what happened | cure |\n|---|---|---|\n"
FIELDS_HEAD = "| observed in {} | numbers | meaning |\n|---|---|---|\n"
EVERYWHERE = {"--server", "--token", "--json", "--help"}
"""Options of many commands, which the page's text explains."""


def index() -> str:
    """Return the table of contents of docs/, as GitHub shows it."""
    parts = []
    for shelf in SHELVES:
        pages = "".join(f"* [{PAGES[page]}]({page}.md)\n" for page in shelf.pages)
        parts.append(f"## {shelf.title}\n\n{pages}")
    head = "# Documentation\n\nEvery server shows these pages at `/docs`. [Decisions](decisions.md) are only here.\n\n"
    return head + "\n".join(parts)


def commands() -> str:
    """Return every command with its help, grouped as `deadheat help all` groups them."""
    known = dict(verbs())
    parts = []
    for panel, names in PANELS.items():
        parts.append(f"## {panel}\n")
        listed = [verb for name in names for verb in known if verb.split()[0] == name]
        parts += [_command(verb, known[verb]) for verb in listed]
    return "\n".join(parts)


def _command(verb: str, command: Any) -> str:
    usage, rows = ["deadheat", verb], []
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        if set(parameter.opts) & EVERYWHERE:
            continue
        value = parameter.metavar or parameter.opts[0].lstrip("-").upper().replace("_", "-")
        words = value
        if is_option:
            names = [", ".join(parameter.opts), *parameter.secondary_opts]
            words = "/".join(names) + (f" {value}" if parameter.metavar else "")
        if parameter.required and is_option:
            usage.append(words if parameter.secondary_opts else f"{parameter.opts[0]} {value}")
        elif not is_option:
            usage.append(value if parameter.required or value.startswith("[") else f"[{value}]")
        rows.append(f"| `{_cell(words)}` | {_cell(parameter.help or '')} |\n")
    table = f"\n| | |\n|---|---|\n{''.join(rows)}" if rows else ""
    return f"### {verb}\n\n    {' '.join(usage)}\n\n{_paragraphs(command.help)}\n{table}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _paragraphs(text: str) -> str:
    """Return a help's paragraphs; those that the terminal shows as they are (after a backspace) become code."""
    shown = []
    for part in text.strip().split("\n\n"):
        before, mark, kept = part.partition("\b\n")
        shown.append(part if not mark else f"{before}```\n{kept}\n```")
    return "\n\n".join(shown)


def states() -> str:
    """Return a season's states as the table of its export lists them."""
    return f"| `state` | {', '.join(f'`{state}`' for state in SeasonState)} |\n"


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


def alerts() -> str:
    """Return a table of all alerts: name, severity and what the alert itself says to do."""
    (group,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    rows = [
        f"| {rule['alert']} | {rule['labels']['severity']} | {rule['annotations']['action']} |\n"
        for rule in group["rules"]
    ]
    return ALERTS_HEAD + "".join(rows)


def faults() -> str:
    """Return a table of all verdicts: fault, what happened, cure."""
    rows = [f"| `{fault}` | {verdict.happened} | {verdict.cure} |\n" for fault, verdict in verdicts.VERDICTS.items()]
    return FAULTS_HEAD + "".join(rows)


def observed(game: str) -> str:
    """Return a table of the fields of a game's observations: names, how many numbers, meaning. One without a meaning of
    its own shares that of the field before it.
    """
    layout = VIEWS[game].layout
    rows: list[tuple[list[str], int]] = []
    for name, place in layout.fields.items():
        if layout.meanings[name]:
            rows.append(([], place.stop - place.start))
        rows[-1][0].append(name)
    cells = [
        (", ".join(f"`{name}`" for name in names), f"{size}{' each' * (len(names) > 1)}", layout.meanings[names[0]])
        for names, size in rows
    ]
    return FIELDS_HEAD.format(GAMES[game].title) + "".join(f"| {' | '.join(row)} |\n" for row in cells)


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
    rewrite(METRICS, re.escape(ALERTS_HEAD) + r"(\|.*\n)*", alerts())
    rewrite(EXPORT, r"\| `state` \| `scheduled`, `open`.*\n", states())
    rewrite(COMMANDS, r"(?s)(?<=-->\n).*", "\n" + commands())
    rewrite(VERDICTS, re.escape(FAULTS_HEAD) + r"(\|.*\n)*", faults())
    for game in VIEWS:
        head = FIELDS_HEAD.format(GAMES[game].title)
        rewrite(TRAINING, re.escape(head) + r"(\|.*\n)*", observed(game))
    INDEX.write_text(index(), encoding="utf-8")
    EXAMPLE.write_text(example(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
