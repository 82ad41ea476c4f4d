"""What dashboards and alerts ask: of metrics that exist, in expressions that a real Prometheus answers."""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from api import metrics as api_metrics
from cli import demo
from league.config import Settings
from workers import metrics as worker_metrics
from workers.context import BOTS

DASHBOARDS = BOTS.parent / "dashboards"
RULES = ("rules.yml", "alerts.yml")


def make_late_bot(folder: Path) -> Path:
    """The random bot, too slow at one ROLL in thirty: often enough for a season, seldom enough for a trial."""
    source = (BOTS / "yacht-auction" / "random" / "main.py").read_text()
    late = 'if command == "ROLL" and random.random() < 1 / 30:\n            __import__("time").sleep(2)\n        '
    path = folder / "late.py"
    path.write_text(source.replace('if command == "READY"', late + 'if command == "READY"'))
    return path


def panels() -> Iterator[tuple[str, str]]:
    """Every panel's expression, with where it stands."""
    for path in sorted((DASHBOARDS / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{path.name}: {panel['title']}", target["expr"]


def rules() -> Iterator[tuple[str, str, bool]]:
    """Every rule's expression, with its name and whether it is an alert."""
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
    tested = promtool("test", "rules", "alerts.test.yml")
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


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, engine_required: None) -> Iterator[str]:
    """The address of a real Prometheus that has watched a real season in which a bot was too slow."""
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus is installed (Debian: prometheus)")
    folder = tmp_path_factory.mktemp("watched")
    settings = Settings(data_dir=folder / "data", port=free_port())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("DATA_DIR", settings.data_dir), ("PORT", settings.port)):
            patch.setenv(f"DEADHEAT_{name}", str(value))
        late = demo.Entrant("eve", "late", make_late_bot(folder))
        patch.setattr(demo, "ENTRANTS", (*demo.ENTRANTS[2:4], late))
        settings.data_dir.mkdir()
        server = demo.start_server(settings)
        watcher = start_prometheus(folder, settings.port)
        try:
            demo.wait_until_ready(f"http://127.0.0.1:{settings.port}", server, settings)
            upload_until_ready(f"http://127.0.0.1:{settings.port}", late)
            demo.play_season(f"http://127.0.0.1:{settings.port}", settings, 3)
            address = f"http://127.0.0.1:{watcher.port}"
            wait_for_scrapes(address)
            yield address
        finally:
            for process in (server, watcher.process):
                process.send_signal(signal.SIGTERM)
                process.wait()


def upload_until_ready(url: str, entrant: demo.Entrant) -> None:
    """Its trial match has about twelve prompts that it may be too slow at, so two uploads in three get past it."""
    with demo.signed_in(url, entrant.author) as client:
        for _ in range(20):
            with contextlib.suppress(demo.Broken):
                demo.ready_bot(client, entrant)
                return
    raise AssertionError("twenty uploads and none was quick enough once")


class Watcher:
    """A Prometheus process and its port."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port


def start_prometheus(folder: Path, target: int) -> Watcher:
    """Scrapes and evaluates every second, with the rules of this repository and nothing kept."""
    config: dict[str, Any] = yaml.safe_load((DASHBOARDS / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(DASHBOARDS / "prometheus" / name) for name in RULES]
    (job,) = config["scrape_configs"]
    job["static_configs"] = [{"targets": [f"127.0.0.1:{target}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        return Watcher(subprocess.Popen(command, stdout=log, stderr=log), port)


def wait_for_scrapes(address: str) -> None:
    """Until rules have been evaluated over what the finished season left behind."""
    end = time.monotonic() + 60
    while not answer(address, 'deadheat:timeouts:ratio5m > 0 and on() sum(deadheat_faults_total{fault="timeout"}) > 0'):
        assert time.monotonic() < end, "no time-out of the late bot arrived in Prometheus"
        time.sleep(0.5)
    time.sleep(2)  # two more rounds, so that rates have two samples


def answer(address: str, expression: str) -> list[Any]:
    response = httpx.get(f"{address}/api/v1/query", params={"query": expression})
    body = response.json()
    assert body["status"] == "success", f"{expression}: {body}"
    result: list[Any] = body["data"]["result"]
    return result


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.containers
def test_every_panel_and_rule_has_an_answer_in_a_running_league(prometheus: str):
    empty = [where for where, expression in panels() if not answer(prometheus, expression)]
    empty += [name for name, expression, alert in rules() if not alert and not answer(prometheus, expression)]
    assert not empty


@pytest.mark.containers
def test_every_alert_is_evaluated_and_none_that_means_lost_work_fires(prometheus: str):
    groups = httpx.get(f"{prometheus}/api/v1/rules").json()["data"]["groups"]
    alerts = {rule["name"]: rule for group in groups for rule in group["rules"] if rule["type"] == "alerting"}
    assert set(alerts) == {name for name, _, alert in rules() if alert}
    assert all(rule["health"] == "ok" for rule in alerts.values())
    firing = {name for name, rule in alerts.items() if rule["state"] == "firing"}
    assert not firing & {"DeadheatDown", "DeadheatCanaryWrong", "DeadheatErrors", "DeadheatBuildsFail"}
