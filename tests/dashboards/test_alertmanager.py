"""From a firing rule to a notification: a real Prometheus, a real Alertmanager, a receiver of our own."""

import contextlib
import json
import queue
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dashboards.conftest import DASHBOARDS, end, start_prometheus
from tests.deployment import free_port
from tests.receiver import Receiver

CONFIG = DASHBOARDS / "prometheus" / "alertmanager.yml"
PATIENCE_SECONDS = 60


@pytest.fixture(autouse=True)
def installed() -> None:
    if shutil.which("amtool") is None or shutil.which("prometheus") is None:
        pytest.skip("no Alertmanager is installed (Debian: prometheus-alertmanager, prometheus)")


def amtool(*arguments: str) -> str:
    done = subprocess.run(["amtool", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Told(Receiver):
    """A webhook that keeps each path and what came there."""

    def __init__(self) -> None:
        self.received = queue.Queue[tuple[str, Any]]()
        super().__init__()

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.received.put((path, json.loads(body)))


@pytest.fixture
def told() -> Iterator[Told]:
    with contextlib.closing(Told()) as webhook:
        yield webhook


def test_the_configuration_is_accepted_and_so_are_the_receivers_that_it_suggests(tmp_path: Path) -> None:
    amtool("check-config", str(CONFIG))
    text = CONFIG.read_text()
    suggested = tmp_path / "suggested.yml"
    suggested.write_text(text.replace("\n    # ", "\n    "))
    amtool("check-config", str(suggested))
    receivers = {one["name"]: {*one} - {"name"} for one in yaml.safe_load(suggested.read_text())["receivers"]}
    assert receivers == {"pages": {"webhook_configs"}, "tickets": {"email_configs"}}


@pytest.mark.parametrize(("severity", "receiver"), [("page", "pages"), ("ticket", "tickets")])
def test_every_severity_has_its_receiver(severity: str, receiver: str) -> None:
    assert amtool("config", "routes", "test", f"--config.file={CONFIG}", f"severity={severity}").split() == [receiver]


def test_an_alert_that_fires_reaches_whoever_is_to_be_told(tmp_path: Path, told: Told) -> None:
    config = yaml.safe_load(CONFIG.read_text())
    for receiver in config["receivers"]:
        receiver["webhook_configs"] = [{"url": f"{told.url}/{receiver['name']}"}]
    for route in (config["route"], *config["route"]["routes"]):
        route["group_wait"] = "0s"
    (tmp_path / "alertmanager.yml").write_text(yaml.safe_dump(config))
    port, nobody = free_port(), free_port()
    with contextlib.ExitStack() as ends:
        command = [
            "prometheus-alertmanager",
            f"--config.file={tmp_path}/alertmanager.yml",
            f"--storage.path={tmp_path}/kept",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]
        log = ends.enter_context((tmp_path / "alertmanager.log").open("wb"))
        ends.callback(end, subprocess.Popen(command, stdout=log, stderr=log))
        ends.callback(end, start_prometheus(tmp_path, nobody, port)[0])
        heard: dict[str, tuple[str, str]] = {}
        while not {"DeadheatDown", "DeadheatNoWorker"} <= heard.keys():
            path, body = told.received.get(timeout=PATIENCE_SECONDS)
            for alert in body["alerts"]:
                heard[alert["labels"]["alertname"]] = (path, alert["annotations"]["summary"])
    assert heard["DeadheatDown"] == ("/pages", f"The API at 127.0.0.1:{nobody} does not answer.")
