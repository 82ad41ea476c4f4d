"""Dashboards and alerts use existing metrics, in expressions that a real Prometheus answers."""

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel
from grafana_foundation_sdk.models.prometheus import Dataquery

from deadheat.api import metrics as api_metrics
from deadheat.workers import metrics as worker_metrics
from tests.cli.command import ROOT
from tests.dashboards.conftest import DASHBOARDS, RULES, Watched, answered


def panels() -> Iterator[tuple[str, str]]:
    for path in sorted((DASHBOARDS / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{path.name}: {panel['title']}", target["expr"]


def rules() -> Iterator[tuple[str, str, bool]]:
    """Yield every rule's name, its expression and whether it is an alert."""
    for name in RULES:
        for group in yaml.safe_load((DASHBOARDS / "prometheus" / name).read_text())["groups"]:
            for rule in group["rules"]:
                yield rule.get("record") or rule["alert"], rule["expr"], "alert" in rule


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("promtool") is None:
        pytest.skip("no promtool is installed (Debian: prometheus)")
    return subprocess.run(
        ["promtool", *arguments],
        cwd=DASHBOARDS / "prometheus",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_dashboards_are_what_their_builder_writes():
    built = runpy.run_path(str(DASHBOARDS / "grafana" / "build.py"))
    files = {path.stem: path.read_text() for path in (DASHBOARDS / "grafana" / "dashboards").glob("*.json")}
    assert files == {name: built["text"](name) for name in built["DASHBOARDS"]}


def test_the_rules_are_well_formed_and_each_alert_fires_when_it_should_and_only_then():
    checked = promtool("check", "rules", *RULES)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", "alerts.test.yml", "pages.test.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    tests = yaml.safe_load((DASHBOARDS / "prometheus" / "alerts.test.yml").read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", ()) if case.get("exp_alerts")}
    silent = {
        case["alertname"] for test in tests for case in test.get("alert_rule_test", ()) if "exp_alerts" not in case
    }
    assert fired == silent == {name for name, _, alert in rules() if alert}


def test_every_metric_that_is_asked_for_exists_in_the_code():
    source = "".join(Path(str(module.__file__)).read_text() for module in (api_metrics, worker_metrics))
    known = set(re.findall(r'"(deadheat_\w+)"', source))
    recorded = {name for name, _, alert in rules() if not alert}
    asked = [*panels(), *((name, expression) for name, expression, _ in rules())]
    for where, expression in asked:
        for word in re.findall(r"deadheat[_:][\w:]+", expression):
            plain = re.sub(r"_(bucket|sum|count)$", "", word)
            assert word in recorded or plain in known, f"{where} asks for {word}"


def test_what_every_api_host_tells_is_counted_once():
    source = Path(str(api_metrics.__file__)).read_text()
    gauges = set(re.findall(r'(?:GaugeMetricFamily|_gauge)\(\s*"(deadheat_\w+)"', source))
    assert len(gauges) > 10
    once = re.compile(r"(?:max|min)(?: by \([\w, ]+\))? ?\(\s*(deadheat_\w+)")
    asked = [*panels(), *((name, expression) for name, expression, _ in rules())]
    for where, expression in asked:
        for gauge in gauges:
            uses = re.findall(rf"\b{gauge}\b", expression)
            assert once.findall(expression).count(gauge) == len(uses), f"{where} counts {gauge} of each API host"


@pytest.mark.containers
@pytest.mark.all
def test_every_panel_and_rule_has_an_answer_in_a_running_league(watched: Watched):
    empty = [where for where, expression in panels() if not answered(watched.prometheus, expression)]
    empty += [name for name, expression, alert in rules() if not alert and not answered(watched.prometheus, expression)]
    assert not empty


@pytest.mark.containers
@pytest.mark.all
def test_every_alert_is_evaluated_and_none_that_means_lost_work_fires(watched: Watched):
    groups = httpx.get(f"{watched.prometheus}/api/v1/rules").json()["data"]["groups"]
    alerts = {rule["name"]: rule for group in groups for rule in group["rules"] if rule["type"] == "alerting"}
    assert set(alerts) == {name for name, _, alert in rules() if alert}
    assert all(rule["health"] == "ok" for rule in alerts.values())
    firing = {name for name, rule in alerts.items() if rule["state"] == "firing"}
    assert not firing & {"DeadheatDown", "DeadheatCanaryWrong", "DeadheatErrors", "DeadheatBuildsFail"}


@pytest.mark.parametrize("file", [DASHBOARDS / "prometheus", ROOT / "deploy" / "services" / "prometheus"])
def test_workers_elsewhere_are_a_line_in_a_file(file: Path, tmp_path: Path) -> None:
    for path in [*(DASHBOARDS / "prometheus").glob("*.yml"), file / "prometheus.yml"]:
        shutil.copy(path, tmp_path)
    workers = tmp_path / "workers.yml"
    assert yaml.safe_load(workers.read_text()) == []
    jobs = yaml.safe_load((tmp_path / "prometheus.yml").read_text())["scrape_configs"]
    (asked,) = (job for job in jobs if job["job_name"] == "deadheat-workers")
    assert asked["file_sd_configs"] == [{"files": ["workers.yml"]}]
    (example,) = re.findall(r"^# (- targets: .*)$", workers.read_text(), re.MULTILINE)
    workers.write_text(example)
    done = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert done.returncode == 0, done.stdout + done.stderr
    workers.write_text("- target: []")
    assert promtool("check", "config", str(tmp_path / "prometheus.yml")).returncode != 0, "it is looked at"


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
