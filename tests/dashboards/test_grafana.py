"""The dashboards fit the types that Grafana itself publishes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel
from grafana_foundation_sdk.models.prometheus import Dataquery

from tests.dashboards.conftest import DASHBOARDS

FILES = sorted((DASHBOARDS / "grafana" / "dashboards").glob("*.json"))

register_default_plugins()


def changed(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """Yield every place of ours that theirs lacks or changes; theirs may say more."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            yield from changed(value, theirs.get(name), f"{where}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from changed(one, other, f"{where}[{place}]")
    elif ours != theirs:
        yield f"{where}: {ours!r} became {theirs!r}"


def read(content: dict[str, Any]) -> tuple[Dashboard, dict[str, Any]]:
    """Return the dashboard, and what Grafana's types write of it: they drop all that they do not know."""
    dashboard = Dashboard.from_json(content)
    return dashboard, json.loads(json.dumps(dashboard, cls=JSONEncoder))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_grafana_knows_every_field_of_a_dashboard(file: Path) -> None:
    content = json.loads(file.read_text())
    dashboard, again = read(content)
    assert list(changed(content, again)) == []
    panels = [panel for panel in dashboard.panels or () if isinstance(panel, Panel)]
    assert len(panels) >= 6
    assert all(isinstance(target, Dataquery) and target.expr for panel in panels for target in panel.targets or ())
