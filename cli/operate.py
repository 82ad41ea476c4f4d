"""Run a deployment: everything in one process tree, or its parts one by one."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from cli.console import err, fail, out
from league.config import Settings

log = logging.getLogger(__name__)

STOP_SECONDS = 30
"""How long children may take to finish what they are doing after SIGTERM; a series that is cut short is played
again, so nothing is lost by the bound."""

RESTART_SECONDS = 1.0
ORGANISER = "organiser"
PR_SET_PDEATHSIG = 1


def register(app: typer.Typer) -> None:
    """Add the operator's verbs."""
    app.command()(serve)
    app.command()(api)
    app.command()(worker)
    app.command()(scheduler)
    app.command()(migrate)
    app.command("check-host")(check_host)


def serve() -> None:
    """Run everything here: API, scheduler, workers. Settings come from DEADHEAT_* (see deploy/env.example)."""
    settings = Settings()
    _check_port(settings)
    _check_sandbox(settings)
    token_file = _prepare(settings)
    environment = _metrics_environment(settings, fresh=True)
    slots = _slot_count(settings)
    tree = Tree(environment)
    tree.add("api", ["api"])
    tree.add("control", ["worker", "--queues", "control", "--concurrency", "1"])
    tree.add("build", ["worker", "--queues", "build", "--concurrency", "1"])
    tree.add("play", ["worker", "--queues", "play", "--concurrency", str(slots)])
    tree.add("scheduler", ["scheduler"])
    err.print(f"Deadheat at [bold]http://{settings.host}:{settings.port}/[/]  (organiser's token: {token_file})")
    err.print(f"{slots} match{'es' if slots > 1 else ''} at a time. Stop with Ctrl-C.")
    tree.run()


def api() -> None:
    """Run the API alone."""
    import uvicorn

    settings = Settings()
    _set_multiprocess(settings)
    uvicorn.run(
        "api.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level.lower(),
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )


def worker(
    queues: Annotated[str, typer.Option(help="Which jobs to take: build, play, control.")] = "build,play,control",
    concurrency: Annotated[int, typer.Option(min=0, help="Jobs at a time; 0: one more than this host has slots.")] = 0,
    metrics_port: Annotated[int, typer.Option(help="Serve this host's metrics on that port; 0: do not.")] = 0,
) -> None:
    """Run a worker: takes jobs from the queue until it is told to stop; SIGTERM lets it finish its series."""
    settings = Settings()
    _set_multiprocess(settings)
    if metrics_port:
        _serve_metrics(metrics_port)
    from workers.tasks import app

    app.worker_main(
        [
            "--quiet",
            "worker",
            f"--queues={queues}",
            f"--concurrency={concurrency or _slot_count(settings) + 1}",
            f"--hostname={queues.replace(',', '-')}-{os.getpid()}@%h",
            f"--loglevel={settings.log_level}",
            "--pool=prefork",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
        ]
    )


def scheduler() -> None:
    """Run the scheduler: makes series, finds lost work, asks for rankings. One per deployment."""
    from workers.tasks import app

    app.Beat(loglevel=Settings().log_level, quiet=True).run()


def migrate() -> None:
    """Bring the database to this version's schema."""
    from league.database import Database

    database = Database(Settings())
    database.migrate()
    database.close()
    err.print("The database is up to date.")


def check_host(
    as_json: Annotated[bool, typer.Option("--json", help="The findings as one JSON object.")] = False,
) -> None:
    """Say whether this machine is fit to judge; exit code 1 if it is not."""
    from sandbox import check
    from sandbox.box import SandboxError
    from sandbox.docker import DockerSandbox

    settings = Settings()
    try:
        sandbox = DockerSandbox(settings.image, settings.data_dir / "run")
        findings = check.check_host(sandbox)
    except SandboxError as error:
        fail(error.detail)
    fit = check.fit(findings)
    if as_json:
        print(json.dumps({"fit": fit, "findings": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            colour = {check.Level.GOOD: "green", check.Level.REMARK: "yellow", check.Level.UNFIT: "red"}[finding.level]
            out.print(f"[{colour}]{finding.level:>6}[/]  {finding.text}", soft_wrap=True)
            if finding.mend:
                out.print(f"        mend: {finding.mend}", soft_wrap=True)
        out.print("This machine is fit to judge." if fit else "[red]This machine is NOT fit to judge.[/]")
    if not fit:
        raise typer.Exit(1)


@dataclass
class Child:
    """One process of the tree."""

    name: str
    arguments: list[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0


@dataclass
class Tree:
    """Children that are started again when they end, and that end with us."""

    environment: dict[str, str]
    children: list[Child] = field(default_factory=list)
    stopping: bool = False

    def add(self, name: str, arguments: Sequence[str]) -> None:
        """A child that runs `deadheat` with these arguments."""
        self.children.append(Child(name, [sys.executable, "-m", "cli.main", *arguments]))

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, then stop every child."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            while not self.stopping:
                for child in self.children:
                    self._keep(child)
                time.sleep(0.2)
        finally:
            self._stop()

    def _on_signal(self, *_: object) -> None:
        self.stopping = True

    def _keep(self, child: Child) -> None:
        if child.process is not None and child.process.poll() is not None:
            log.error("%s ended with code %s; starting it again", child.name, child.process.returncode)
            child.process = None
        if child.process is None and time.monotonic() - child.started_at > RESTART_SECONDS:
            child.started_at = time.monotonic()
            child.process = subprocess.Popen(
                child.arguments,
                env=self.environment,
                cwd=Path(__file__).resolve().parent.parent,
                start_new_session=True,  # a Ctrl-C is for us; we tell them
                preexec_fn=_die_with_parent,  # noqa: PLW1509  this process has one thread
            )

    def _stop(self) -> None:
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            process.terminate()
        give_up_at = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, give_up_at - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _check_port(settings: Settings) -> None:
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; set DEADHEAT_PORT")


def _check_sandbox(settings: Settings) -> None:
    """Say now what would otherwise be found out with the first upload."""
    from sandbox.box import SandboxError
    from sandbox.docker import DockerSandbox

    if settings.sandbox == "local":
        err.print("[bold red]Bots run WITHOUT isolation[/] (DEADHEAT_SANDBOX=local): development only.")
        return
    try:
        DockerSandbox(settings.image, settings.data_dir / "run").close()
    except SandboxError as error:
        fail(error.detail)


def _prepare(settings: Settings) -> Path:
    """Migrate, and make sure that there is an organiser; the file with that one's token."""
    from league.database import Database
    from league.service import ensure_organiser

    settings.data_dir.mkdir(parents=True, exist_ok=True)
    settings.data_dir.chmod(0o700)  # password hashes, sources and logs are nobody else's business on this host
    token_file = settings.data_dir / "organiser.token"
    database = Database(settings)
    database.migrate()
    if not token_file.exists():
        with database.transaction() as session:
            token = ensure_organiser(session, ORGANISER)
        partial = token_file.with_suffix(f".{secrets.token_hex(4)}")
        partial.touch(mode=0o600)
        partial.write_text(token + "\n")
        partial.rename(token_file)
    database.close()
    return token_file


def _metrics_environment(settings: Settings, fresh: bool) -> dict[str, str]:
    directory = settings.metrics_dir or settings.data_dir.absolute() / "metrics"
    directory.mkdir(parents=True, exist_ok=True)
    for stale in directory.glob("*.db") if fresh else ():
        stale.unlink()
    return {**os.environ, "DEADHEAT_METRICS_DIR": str(directory), "PROMETHEUS_MULTIPROC_DIR": str(directory)}


def _set_multiprocess(settings: Settings) -> None:
    """prometheus_client looks at this variable when it is imported, so it must be set before any metric is."""
    if settings.metrics_dir is not None:
        settings.metrics_dir.mkdir(parents=True, exist_ok=True)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.metrics_dir)


def _serve_metrics(port: int) -> None:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.multiprocess import MultiProcessCollector

    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        fail("--metrics-port needs DEADHEAT_METRICS_DIR: the worker's processes add up their metrics there")
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    start_http_server(port, registry=registry)


def _slot_count(settings: Settings) -> int:
    from sandbox.slots import plan

    return len(plan(settings.slots, sorted(os.sched_getaffinity(0))))
