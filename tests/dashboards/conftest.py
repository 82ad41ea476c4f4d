"""A real season, watched by a real Prometheus and a collector of traces."""

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from deadheat.cli.operator import demo
from deadheat.engine.games.folder import bots_of
from deadheat.league.config import Settings
from tests.dashboards.collector import Collector
from tests.deployment import free_port

DASHBOARDS = Path(__file__).resolve().parents[2] / "dashboards"
RULES = ("rules.yml", "alerts.yml")
PATIENCE_S = 60

SEASONS = 2
"""If all that the late bot plays happens between two scrapes, no rate rises, so another season is played."""


def make_late_bot(folder: Path) -> Path:
    """Make a random bot, too slow at one ROLL in thirty: often enough for a season, seldom enough for a trial."""
    source = (bots_of("yacht-auction") / "random" / "main.py").read_text()
    late = 'if command == "ROLL" and random.random() < 1 / 30:\n            __import__("time").sleep(2)\n        '
    path = folder / "late.py"
    path.write_text(source.replace('if command == "READY"', late + 'if command == "READY"'))
    return path


@dataclass(frozen=True)
class Watched:
    """A real season in which a bot was too slow, and its monitoring: `prometheus` is a real server's address."""

    prometheus: str
    collector: Collector
    log: Path


@pytest.fixture(scope="package")  # a wider scope would keep its servers running during all later tests
def watched(tmp_path_factory: pytest.TempPathFactory, engine_required: None) -> Iterator[Watched]:
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus is installed (Debian: prometheus)")
    folder = tmp_path_factory.mktemp("watched")
    settings = Settings(data_dir=folder / "data", port=free_port())
    settings.data_dir.mkdir()
    late = demo.Entrant("eve", "late", make_late_bot(folder))
    url = f"http://127.0.0.1:{settings.port}"
    collector = Collector()
    with contextlib.ExitStack() as ends:
        ends.callback(collector.close)
        server = start_server(settings, collector)
        ends.callback(end, server)
        watcher, port = start_prometheus(folder, settings.port)
        ends.callback(end, watcher)
        demo.wait_until_ready(url, server, settings)
        upload_until_ready(url, late)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "ENTRANTS", (*demo.ENTRANTS[2:4], late))
            address = f"http://127.0.0.1:{port}"
            for _ in range(SEASONS):
                demo.play_season(url, settings, 30)
                if saw_the_late_bot(address):
                    break
            else:
                raise AssertionError("no time-out of the late bot arrived in Prometheus")
        yield Watched(address, collector, demo.log_file(settings))


def start_server(settings: Settings, collector: Collector) -> subprocess.Popen[bytes]:
    """Start `deadheat serve` with traces for the collector and logs as JSON; other tests are unaffected."""
    told = {"DATA_DIR": settings.data_dir, "PORT": settings.port, "TRACES_URL": collector.url, "LOG_FORMAT": "json"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(f"DEADHEAT_{name}", str(value))
        return demo.start_server(settings)


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(PATIENCE_S)
    finally:
        process.kill()


def upload_until_ready(url: str, entrant: demo.Entrant) -> None:
    """Upload until a trial match passes: with about twelve prompts to be late at, two uploads in three do."""
    with demo.signed_in(url, entrant.author) as client:
        for _ in range(20):
            with contextlib.suppress(demo.Broken):
                demo.ready_bot(client, entrant)
                return
    raise AssertionError("twenty uploads and none was quick enough once")


def start_prometheus(folder: Path, target: int, alertmanager: int | None = None) -> tuple[subprocess.Popen[bytes], int]:
    """Start a Prometheus that scrapes, and evaluates our rules, every second; return its port, too. Alerts go at once
    to the Alertmanager on port `alertmanager`, if any.
    """
    config: dict[str, Any] = yaml.safe_load((DASHBOARDS / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [
        copy_rules(DASHBOARDS / "prometheus" / name, folder, alertmanager is None) for name in RULES
    ]
    ((managers,),) = (manager["static_configs"] for manager in config["alerting"]["alertmanagers"])
    managers["targets"] = [f"127.0.0.1:{alertmanager}"] if alertmanager else []
    job, _workers = config["scrape_configs"]
    job["static_configs"] = [{"targets": [f"127.0.0.1:{target}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address=127.0.0.1:{port}",
        "--rules.alert.resend-delay=1s",  # alerts that fire before Alertmanager is known are sent again
    ]
    with (folder / "prometheus.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log), port


def copy_rules(source: Path, folder: Path, patient: bool) -> str:
    """Copy a file of rules, and return its path; impatient alerts fire at once."""
    rules = yaml.safe_load(source.read_text())
    for group in rules["groups"]:
        group.pop("interval", None)
        for rule in group["rules"]:
            if not patient:
                rule.pop("for", None)
    (folder / source.name).write_text(yaml.safe_dump(rules))
    return str(folder / source.name)


def saw_the_late_bot(address: str) -> bool:
    """Wait until rules were evaluated over the finished season, and return whether they saw its time-outs."""
    late = 'deadheat:timeouts:ratio5m > 0 and on() sum(deadheat_faults_total{fault="timeout"}) > 0'
    seen = bool(answered(address, late))
    time.sleep(2)  # two more rounds, so that rates have two samples
    return seen


def answered(address: str, expression: str) -> list[Any]:
    """Return the answer as soon as there is one, else an empty one after `PATIENCE_S`. On a busy host a scrape may
    take more than its second; then Prometheus answers nothing until the next one succeeds.
    """
    end = time.monotonic() + PATIENCE_S
    while not (result := answer(address, expression)) and time.monotonic() < end:
        time.sleep(0.5)
    return result


def answer(address: str, expression: str) -> list[Any]:
    body = httpx.get(f"{address}/api/v1/query", params={"query": expression}).json()
    assert body["status"] == "success", f"{expression}: {body}"
    result: list[Any] = body["data"]["result"]
    return result
