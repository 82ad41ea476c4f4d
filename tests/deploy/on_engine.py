"""The production deployment, brought up on this machine's engine, played on and brought down.

./scripts/deploy-check builds the images and starts this file; ordinary tests do not collect it, because it takes
minutes and ten services. It plays little: tests/cluster shows that nothing is lost whatever fails.
"""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from deadheat.cli.author.submit import read_bot
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.follow import wait_for_build
from tests.cli.command import GAME, RANDOM
from tests.deploy.compose import DEPLOY, compose_command, run
from tests.deployment import free_port

TAG = "check"
"""These tests have images of their own, beside those in use."""

UP_SECONDS = 240
(BASE_COPY,) = re.findall(
    r"exec postgres sh -c '(.*base/.*)'", (DEPLOY.parent / "docs" / "how-to" / "back-up.md").read_text()
)
STOP_SECONDS = 55
"""More than the 45 s that docs/how-to/scale.md promises, and less than the 60 s after which compose kills."""


@dataclass
class Deployment:
    name: str
    environment: Path
    port: int
    state: Path
    prometheus: str

    def compose(self, *arguments: str, seconds: float = UP_SECONDS) -> str:
        command = compose_command()
        assert command is not None
        of_this = ["--env-file", str(self.environment), "-p", self.name]
        of_this += [word for name in ("compose", "compose.archive") for word in ("-f", str(DEPLOY / f"{name}.yml"))]
        return run(*command, *of_this, *arguments, seconds=seconds)

    def deadheat(self, service: str, *arguments: str) -> str:
        return self.compose("exec", "-T", service, "deadheat", *arguments)

    def containers(self, service: str) -> list[str]:
        return self.compose("ps", "-q", service).split()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    """Two API processes, two schedulers, two workers, PostgreSQL, Redis, Prometheus and Alertmanager."""
    port, prometheus, alertmanager = (free_port() for _ in range(3))
    state = Path(tempfile.mkdtemp(prefix="deadheat-deploy-"))
    made = Deployment(f"deadheat-test-{os.getpid()}", state / "env", port, state, f"127.0.0.1:{prometheus}")
    run(str(DEPLOY / "secrets"), str(made.environment))
    own = {"STATE": str(state), "TAG": TAG, "LISTEN": f"127.0.0.1:{port}", "SETTINGS": str(state / "settings.env")}
    own["WORKER_SETTINGS"] = str(state / "worker.env")
    own |= {"PROMETHEUS_LISTEN": made.prometheus, "ALERTMANAGER_LISTEN": f"127.0.0.1:{alertmanager}"}
    own |= {"WORKER_NAME": ""}  # two workers here stand for two machines
    own |= {"BACKUP": str(state / "backup")}
    for folder in (state / "backup", state / "backup" / "wal", state / "backup" / "base"):
        folder.mkdir()
        os.chown(folder, 10001, 10001)
    chosen = {"JUDGE_UNFIT": "true", "SITE_URL": "https://league.example", "TRUSTED_PROXIES": "127.0.0.1"}
    for file, values in ((made.environment, own), (state / "settings.env", chosen), (state / "worker.env", chosen)):
        with file.open("a") as opened:
            opened.writelines(f"DEADHEAT_{name}={value}\n" for name, value in values.items())
    try:
        made.compose("--profile", "watch", "up", "-d", "--scale", "worker=2", "--scale", "scheduler=2")
        yield made
    finally:
        made.compose("--profile", "watch", "down", "--volumes", "--timeout", "60")
        shutil.rmtree(state)


def until(what: Callable[[], object], about: str, deployment: Deployment, seconds: float = UP_SECONDS) -> None:
    """Wait until `what` holds; if it does not, assert with the containers' logs."""
    give_up_at = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up_at, f"{about} within {seconds} s\n{deployment.compose('logs', '--tail=30')}"
        time.sleep(0.5)


def inspected(container: str) -> dict[str, object]:
    (found,) = json.loads(run("docker", "inspect", container))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def boss(deployment: Deployment) -> str:
    """An organiser's token, made as docs/how-to/install.md says."""
    until(lambda: answers(deployment), "the API answers", deployment)
    with Client(deployment.address) as client:
        client.sign_up("boss", "a long enough password")
        deployment.deadheat("control", "user", "role", "boss", "organiser")
        return client.issue_token("boss", "a long enough password").token


def answers(deployment: Deployment) -> bool:
    try:
        with Client(deployment.address) as client:
            client.call("GET", "/readyz")
    except Refused:
        return False
    return True


def test_every_service_becomes_healthy(deployment: Deployment) -> None:
    services = deployment.compose("config", "--services").split()
    assert {"api", "scheduler", "control", "worker", "postgres", "redis", "prometheus", "alertmanager"} <= set(services)
    running = [name for service in services if service != "grafana" for name in deployment.containers(service)]
    assert len(running) == 11  # one of which migrated

    def healthy() -> bool:
        return all(
            state.get("Health", {"Status": "healthy"})["Status"] == "healthy" and state["ExitCode"] == 0
            for state in (inspected(name)["State"] for name in running)
            if isinstance(state, dict)
        )

    until(healthy, "all containers are healthy", deployment)


def test_two_workers_play_a_season_and_a_stopped_one_loses_nothing(deployment: Deployment, boss: str) -> None:
    with Client(deployment.address, boss) as client:
        season = client.create_season({"name": "Spring", "game": GAME, "series_length": 20, "games_per_pair": 40})
        client.change_season(season.id, {"state": "open"})
    for author in ("ada", "bob", "eve"):
        with Client(deployment.address) as client:
            client.sign_up(author, "a long enough password")
            token = client.issue_token(author, "a long enough password").token
        with Client(deployment.address, token) as client:
            bot = client.own_bot(GAME, "chance")
            version = wait_for_build(client, client.upload(bot.id, *read_bot(Path(RANDOM))))
            assert version.state == "ready", version.reason
            client.enter(season.id, bot.id)
    until(lambda: ledger(deployment, "state = 'running'"), "a series is played", deployment)

    stopped = deployment.containers("worker")[0]
    began_at = time.monotonic()
    run("docker", "stop", "--time", "60", stopped, seconds=90)
    assert time.monotonic() - began_at < STOP_SECONDS
    state = inspected(stopped)["State"]
    assert isinstance(state, dict) and state["ExitCode"] == 0, deployment.compose("logs", "--tail=50", "worker")
    run("docker", "start", stopped)

    until(lambda: ledger(deployment, "state = 'done'") == 6, "all six series are played", deployment, 400)
    with Client(deployment.address, boss) as client:
        until(
            lambda: [row["games"] for row in board(client, season.id)] == [80, 80, 80],
            "the leaderboard has all 120 games",
            deployment,
        )


def board(client: Client, season_id: int) -> list[dict[str, int]]:
    rows: list[dict[str, int]] = client.call("GET", f"/v1/seasons/{season_id}/leaderboard")["rows"]
    return rows


def ledger(deployment: Deployment, condition: str) -> int:
    """Count the series that meet an SQL condition, in the database."""
    (container,) = deployment.containers("postgres")
    password = dict(line.split("=", 1) for line in deployment.environment.read_text().split())
    url = f"postgresql://deadheat:{password['DEADHEAT_DATABASE_PASSWORD']}@127.0.0.1/deadheat"
    return int(run("docker", "exec", container, "psql", url, "-Atc", f"SELECT count(*) FROM series WHERE {condition}"))


def test_a_league_can_be_backed_up_inside_and_the_doctor_finds_it_well(deployment: Deployment, boss: str) -> None:
    assert "from postgresql" in deployment.deadheat("control", "backup", "/tmp/backups")
    assert "It can be restored." in deployment.deadheat("control", "restore", "--check", "/tmp/backups")
    assert deployment.deadheat("control", "--version").startswith("deadheat ")
    assert "nothing is wrong" in deployment.deadheat("control", "doctor", "--role", "control")
    told = deployment.compose("exec", "-T", "worker", "sh", "-c", "deadheat doctor --role worker --json || true")
    found = [json.loads(line) for line in told.splitlines()]
    assert {"engine", "rooms", "fitness"} <= {finding["about"] for finding in found}
    wrong = [finding for finding in found if finding["verdict"] == "wrong"]
    assert [finding for finding in wrong if finding["about"] != "fitness"] == []  # a busy host may be unfit


def test_no_container_has_more_rights_than_it_needs(deployment: Deployment) -> None:
    for service in ("api", "scheduler", "control", "worker", "postgres", "redis", "prometheus", "alertmanager"):
        for name in deployment.containers(service):
            found = inspected(name)
            config, host = found["Config"], found["HostConfig"]
            assert isinstance(config, dict) and isinstance(host, dict)
            assert host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"]
            assert "no-new-privileges:true" in host["SecurityOpt"] and not host["Privileged"]
            assert any("docker.sock" in bind for bind in host["Binds"] or ()) is (service == "worker")
            assert config["User"] == ("0:0" if service == "worker" else "10001:10001")
            assert set(host["CapAdd"] or ()) == ({"SYS_NICE", "DAC_OVERRIDE"} if service == "worker" else set())
            assert run("docker", "exec", name, "sh", "-c", "touch /nothing 2>/dev/null || echo refused") == "refused\n"


def test_prometheus_sees_every_process(deployment: Deployment, boss: str) -> None:
    (prometheus,) = deployment.containers("prometheus")

    def up() -> bool:
        asked = ["promtool", "query", "instant", "http://127.0.0.1:9090", "sum by (job) (up)"]
        told = run("docker", "exec", prometheus, *asked)
        return 'job="deadheat"} => 1 ' in told and 'job="deadheat-workers"} => ' in told

    until(up, "Prometheus has scraped them", deployment)


def test_alertmanager_is_known_to_prometheus_and_takes_an_alert(deployment: Deployment) -> None:
    with httpx.Client(timeout=10) as client:
        found = client.get(f"http://{deployment.prometheus}/api/v1/alertmanagers").json()["data"]
    assert [manager["url"] for manager in found["activeAlertmanagers"]] == ["http://alertmanager:9093/api/v2/alerts"]
    (alertmanager,) = deployment.containers("alertmanager")
    own = ["docker", "exec", alertmanager, "amtool", "--alertmanager.url=http://127.0.0.1:9093", "alert"]
    run(*own, "add", "Trial", "severity=page")
    assert "Trial" in run(*own, "query")


def test_the_databases_log_is_archived_beside_a_base_copy(deployment: Deployment, boss: str) -> None:
    """What is in them can be restored: tests/deploy/test_roles.py."""
    folder = deployment.state / "backup"
    deployment.compose("exec", "-T", "postgres", "sh", "-c", BASE_COPY)
    assert [file.name for file in folder.glob("base/*/base.tar.gz")] == ["base.tar.gz"]
    until(lambda: [*folder.glob("wal/*.backup.gz")], "the log up to the copy is archived", deployment)
