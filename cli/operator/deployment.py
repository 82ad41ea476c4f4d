"""Run a deployment: everything in one process tree, or its parts one by one."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from cli.console import err, fail, out, plain
from cli.operator import organiser_token
from league import telemetry
from league.config import Settings
from league.safety import refusal
from workers import stopping

if TYPE_CHECKING:
    from sandbox.fitness import Report
    from workers.context import Context

log = logging.getLogger(__name__)

FINISH_SECONDS = 20
"""How long children may take to finish what they are doing after SIGTERM."""

HAND_BACK_SECONDS = 25
"""How long after that they may take to hand back what they have not finished: the longest exchange, ten seconds
(the heartbeat ends a watch), and the end of the containers. Who takes longer is killed; its lease then runs out."""

RESTART_SECONDS = 1.0
PLAY = "play"  # the queue whose workers judge, see workers.queue
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


AliveFile = Annotated[
    Path | None, typer.Option(help="Touch this file while all is well, for a container's health check.")
]


def register(app: typer.Typer) -> None:
    """Add the operator's verbs."""
    app.command()(serve)
    app.command()(api)
    app.command()(worker)
    app.command(hidden=True)(jobs)
    app.command(hidden=True)(keeper)
    app.command()(scheduler)
    app.command()(migrate)
    app.command("check-host")(check_host)


def serve() -> None:
    """Run everything here: API, scheduler, workers. Settings come from DEADHEAT_* (see deploy/env.example)."""
    settings = _safe_settings()
    _check_port(settings)
    _check_sandbox(settings)
    token_file = _prepare(settings)
    _arrive(settings)
    slots = _slot_count(settings)
    tree = Tree(_metrics_environment(settings))
    tree.add("api", ["api"])
    tree.add("control", _jobs("control", 1))
    tree.add("build", _jobs("build", 1))
    tree.add("play", _jobs(PLAY, slots))
    _add_exhibitions(tree, settings)
    tree.add("keeper", ["keeper"])
    tree.add("scheduler", ["scheduler"])
    err.print(f"Deadheat at [bold]http://{settings.host}:{settings.port}/[/]  (organiser's token: {token_file})")
    err.print(f"{slots} match{'es' if slots > 1 else ''} at a time. Stop with Ctrl-C.")
    tree.run()


def api(
    host: Annotated[str, typer.Option(help="Address to listen on; empty: DEADHEAT_HOST.")] = "",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; none: DEADHEAT_PORT.")] = None,
    processes: Annotated[int, typer.Option(min=1, help="Number of processes, all on one port.")] = 1,
    descriptor: Annotated[int, typer.Option(hidden=True)] = -1,
) -> None:
    """Run the API alone."""
    chosen = {"DEADHEAT_HOST": host, "DEADHEAT_PORT": "" if port is None else str(port)}
    os.environ.update({name: value for name, value in chosen.items() if value})  # what we start looks there
    settings = _safe_settings()
    if descriptor < 0:
        _check_port(settings)
        _check_schema(settings)
    if processes > 1:
        _share_port(settings, processes)
        return
    _set_multiprocess(settings)
    if descriptor < 0:
        _tell_metrics(settings.metrics_dir)
    import uvicorn

    from api.edge.connections import allow_descriptors, guarded

    telemetry.begin(settings, "api")
    allow_descriptors()
    config = uvicorn.Config(
        "api.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        http=guarded(settings),
        lifespan="on",
        ws="none",
        log_config=None,  # as all our processes
        access_log=False,
        server_header=False,
        proxy_headers=False,  # api.app believes those that the settings name
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run([socket.socket(fileno=descriptor)] if descriptor >= 0 else None)


def _share_port(settings: Settings, processes: int) -> None:
    """Listen, and have that many children answer; what comes while one of them is started again waits for another."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=2048) as listening:
        tree = Tree(_metrics_environment(settings), pass_fds=(listening.fileno(),))
        for number in range(1, processes + 1):
            tree.add(f"api {number}", ["api", "--descriptor", str(listening.fileno())])
        tree.run()


def worker(
    queues: Annotated[str, typer.Option(help="Which jobs to take: build, play, control.")] = "build,play,control",
    concurrency: Annotated[int, typer.Option(min=0, help="Jobs at a time; 0: the number of slots plus one.")] = 0,
    metrics_port: Annotated[int, typer.Option(help="Serve this host's metrics on this port; 0: none.")] = 0,
    finish_seconds: Annotated[
        float, typer.Option(min=0, help="Seconds to continue current work after SIGTERM.")
    ] = FINISH_SECONDS,
    alive_file: AliveFile = None,
) -> None:
    """Run a worker: takes jobs from the queue until it is told to stop. SIGTERM lets it finish; what takes too long is
    handed back to the queue.

    Where it plays, this machine is checked first (see `check-host`), and again whenever its fitness is in doubt.
    """
    settings = _safe_settings()
    _set_multiprocess(settings)
    if settings.metrics_dir is not None:
        _metrics_environment(settings)
    _check_schema(settings)
    if {PLAY, "build"} & set(queues.split(",")):
        _check_sandbox(settings, waits=True)
    if metrics_port:
        _serve_metrics(settings, metrics_port)
    tree = Tree(dict(os.environ), finish_seconds, alive_file)
    if PLAY in queues.split(","):
        _arrive(settings)
        tree.add("keeper", ["keeper"])
        _add_exhibitions(tree, settings)
    tree.add("jobs", _jobs(queues, concurrency or _slot_count(settings) + 1))
    tree.run()


def _add_exhibitions(tree: Tree, settings: Settings) -> None:
    """People's matches against bots have processes of their own: each lasts as long as the person likes."""
    if settings.exhibitions:
        tree.add("exhibitions", _jobs("exhibition", settings.exhibitions))


def jobs(queues: str, concurrency: int) -> None:
    """Take jobs from these queues: the part of a worker that does the work."""
    settings = Settings()
    _set_multiprocess(settings)
    from workers.tasks import app

    _end_without_parent()
    app.worker_main(
        [
            "--quiet",
            "worker",
            f"--queues={queues}",
            f"--concurrency={concurrency}",
            f"--hostname={queues.replace(',', '-')}-{os.getpid()}@%h",
            f"--loglevel={settings.log_level}",
            "--pool=prefork",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
        ]
    )


def keeper() -> None:
    """Keep this machine's fitness to judge known: the part of a worker that looks after its host."""
    settings = Settings()
    _set_multiprocess(settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # leaves every `with`: no container stays behind
    from workers.context import context
    from workers.keeper import Keeper

    telemetry.begin(settings, "keeper")
    Keeper(context()).run()


def scheduler(alive_file: AliveFile = None) -> None:
    """Run the scheduler: makes series, finds lost work, asks for rankings. Of several one leads."""
    settings = _safe_settings()
    from workers.leader import LedScheduler, lease_of
    from workers.tasks import app

    clockwork = partial(LedScheduler, lease=lease_of(settings), alive_file=alive_file)
    beat = app.Beat(loglevel=settings.log_level, quiet=True, scheduler_cls=clockwork)  # type: ignore[arg-type]  # not only names
    beat.run()


def migrate() -> None:
    """Bring the database to this version's schema; `deadheat upgrade` backs it up before."""
    from league.database import Database
    from league.storage.schema import SchemaAge, WrongSchema, must_fit

    database = Database(Settings())
    try:
        must_fit(database.engine, SchemaAge.NONE, SchemaAge.OLDER)
        database.migrate()
    except WrongSchema as error:
        fail(str(error))
    finally:
        database.close()
    err.print("The database is up to date.")


def check_host(
    as_json: Annotated[bool, typer.Option("--json", help="Print facts and findings as a JSON object.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Take two seconds instead of ten, as workers do when they start.")
    ] = False,
) -> None:
    """Say whether this machine is fit to judge; exit code 1 if it is not. Waits for a free slot where it plays.

    If this machine plays in a league and is found unfit, the league is told and gives it nothing to play.
    """
    from engine.core import TransportError
    from sandbox import check
    from sandbox.fitness import Level
    from workers.context import Context

    context = Context(Settings())
    try:
        sandbox = context.sandbox
        with context.slots.take() as cpus:
            report = check.check_host(sandbox, cpus, check.QUICK_ROUNDS if quick else check.FULL_ROUNDS)
    except TransportError as error:
        fail(error.detail)
    if as_json:
        print(json.dumps(report.as_dict()))
    else:
        for finding in report.findings:
            colour = {Level.GOOD: "green", Level.REMARK: "magenta", Level.UNFIT: "red"}[finding.level]
            out.print(f"[{colour}]{finding.level:>6}[/]  {finding.text}", soft_wrap=True)
            if finding.mend:
                out.print(f"        fix:  {finding.mend}", soft_wrap=True)
        out.print("This machine is fit to judge." if report.fit else "[red]This machine is NOT fit to judge.[/]")
    if not report.fit:
        _end_fitness(context, report)
        raise typer.Exit(1)


def _end_fitness(context: Context, report: Report) -> None:
    """Tell the league that this machine may not judge, until its keeper's next check says otherwise."""
    from sqlalchemy.exc import SQLAlchemyError

    from league.service.series.hosts import record_check

    found = report.as_dict() | {"slots": len(context.slots.slots)}
    try:
        with context.database.transaction() as session:
            record_check(session, context.host, found, report.reasons, context.settings.recheck_seconds)
    except SQLAlchemyError:
        err.print("No league was notified: its database does not answer, or there is none.")


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
    finish_seconds: float = FINISH_SECONDS
    alive_file: Path | None = None  # touched while every child runs
    pass_fds: tuple[int, ...] = ()  # what children are given beside stdin, stdout and stderr
    children: list[Child] = field(default_factory=list)
    stopping: bool = False
    fold_at: float = 0.0  # by the monotonic clock

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
                if self.alive_file is not None and all(map(_runs, self.children)):
                    self.alive_file.touch()
                if time.monotonic() > self.fold_at:
                    self._fold()
                time.sleep(0.2)
        finally:
            self._stop()
            self._fold()

    def _fold(self) -> None:
        """Add up what processes counted that are gone, and remove their files."""
        from league import measured

        self.fold_at = time.monotonic() + measured.FOLD_SECONDS
        if folder := self.environment.get("PROMETHEUS_MULTIPROC_DIR"):
            try:
                measured.fold(Path(folder))
            except OSError as error:  # no room, or somebody took the folder away: matches are played all the same
                log.warning("what was counted by processes that are gone is not added up: %s", error)

    def _on_signal(self, *_: object) -> None:
        self.stopping = True

    def _keep(self, child: Child) -> None:
        if child.process is not None and child.process.poll() is not None:
            log.error("%s ended with code %s; starting it again", child.name, child.process.returncode)
            child.process = None
        if child.process is None and time.monotonic() - child.started_at > RESTART_SECONDS:
            child.started_at = time.monotonic()
            try:
                child.process = self._begin(child)
            except OSError as error:  # no memory, or too many files: the others go on
                log.error("%s cannot be started, trying again: %s", child.name, error)

    def _begin(self, child: Child) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            child.arguments,
            env=self.environment,
            cwd=Path(__file__).resolve().parents[2],
            start_new_session=True,  # a Ctrl-C is for us; we tell them
            pass_fds=self.pass_fds,
            preexec_fn=_die_with_parent,  # noqa: PLW1509  it makes one system call
        )

    def _stop(self) -> None:
        for child in filter(_runs, self.children):
            _process(child).terminate()
        for child in self._busy_after(self.finish_seconds):
            os.killpg(_process(child).pid, stopping.SIGNAL)
        for child in self._busy_after(HAND_BACK_SECONDS):
            os.killpg(_process(child).pid, signal.SIGKILL)
            _process(child).wait()

    def _busy_after(self, seconds: float) -> list[Child]:
        """Wait at most so long for the children's end; those that go on."""
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at and any(map(_runs, self.children)):
            time.sleep(0.05)
        return list(filter(_runs, self.children))


def _runs(child: Child) -> bool:
    return child.process is not None and child.process.poll() is None


def _process(child: Child) -> subprocess.Popen[bytes]:
    assert child.process is not None, "asked of children that run"
    return child.process


def _die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _end_without_parent() -> None:
    """Celery waits for what its processes do, which for a person's match may be an hour. It is for the tree to ask for
    that back (`Tree._stop`); where the tree was killed, whoever is left does so, and ends what does not answer.
    """
    from celery.signals import worker_shutting_down

    parent = os.getppid()

    def end() -> None:
        for seconds, number in ((FINISH_SECONDS, stopping.SIGNAL), (HAND_BACK_SECONDS, signal.SIGKILL)):
            time.sleep(seconds)
            os.killpg(os.getpid(), number)

    def look(**_: object) -> None:
        if os.getppid() != parent:
            threading.Thread(target=end, daemon=True).start()

    worker_shutting_down.connect(look, weak=False)


def _jobs(queues: str, concurrency: int) -> list[str]:
    return ["jobs", queues, str(concurrency)]


def _arrive(settings: Settings) -> None:
    """Before any worker of this machine starts: what was known of its fitness is known no more."""
    from sqlalchemy.exc import SQLAlchemyError

    from workers.context import Context
    from workers.keeper import arrive

    context = Context(settings)
    try:
        arrive(context)
    except SQLAlchemyError as error:
        fail(f"the database does not answer, or has another schema (see `deadheat migrate`): {error}")
    finally:
        context.database.close()


def _safe_settings() -> Settings:
    """The settings, if a deployment may be started with them."""
    settings = Settings()
    if why := refusal(settings):
        err.print(f"[red]error:[/] {escape(why)}", soft_wrap=True)
        raise typer.Exit(1)
    return settings


def _check_port(settings: Settings) -> None:
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; set DEADHEAT_PORT")


def _check_schema(settings: Settings) -> None:
    """A database of another version is nothing to work with; one that is away may come back."""
    from sqlalchemy.exc import SQLAlchemyError

    from league.database import Database
    from league.storage.schema import WrongSchema, must_fit

    database = Database(settings)
    try:
        must_fit(database.engine)
    except WrongSchema as error:
        fail(str(error))
    except SQLAlchemyError as error:
        log.warning("the database does not answer yet: %s", error)
    finally:
        database.close()


def _check_sandbox(settings: Settings, waits: bool = False) -> None:
    """Say now what would otherwise be found out with the first upload. Who `waits` bears that there is no engine or
    image yet, but not a runtime that will never work.
    """
    from sandbox.box import SandboxError
    from sandbox.docker import DockerSandbox

    if settings.sandbox == "local":
        err.print("[bold red]Bots run WITHOUT isolation[/] (DEADHEAT_SANDBOX=local): development only.")
        return
    try:
        DockerSandbox(settings.image, settings.data_dir / "run", settings.runtime).close()
    except SandboxError as error:
        if error.cause == "no-runtime" or not waits:
            fail(error.detail)


def _prepare(settings: Settings) -> Path:
    """Migrate, and make sure that there is an organiser; the file with that one's token."""
    from league.database import Database

    settings.data_dir.mkdir(parents=True, exist_ok=True)
    settings.data_dir.chmod(0o700)  # password hashes, sources and logs are nobody else's business on this host
    database = Database(settings)
    database.migrate()
    file = organiser_token.token_file(settings)
    if why_not := organiser_token.keep_token(database, file):
        err.print(f"[magenta]note:[/] {plain(why_not)}", soft_wrap=True)
    database.close()
    return file


def _metrics_environment(settings: Settings) -> dict[str, str]:
    """Of a tree whose processes add up what they count."""
    from league import measured

    directory = settings.metrics_dir or settings.data_dir.absolute() / "metrics"
    measured.begin(directory)
    return {**os.environ, "DEADHEAT_METRICS_DIR": str(directory), "PROMETHEUS_MULTIPROC_DIR": str(directory)}


def _set_multiprocess(settings: Settings) -> None:
    """prometheus_client looks at this variable when it is imported, so it must be set before any metric is."""
    if settings.metrics_dir is not None:
        settings.metrics_dir.mkdir(parents=True, exist_ok=True)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.metrics_dir)


def _tell_metrics(directory: Path | None) -> None:
    """This process is asked for what is added up there: whoever starts it must know if it is the second one."""
    from league import measured

    if directory is None:
        return
    alone = measured.told_alone(directory)
    measured.fold(directory)
    if not alone:
        err.print(
            f"[magenta]warning:[/] another process already tells the metrics in {plain(str(directory))}. A Prometheus "
            "that asks both counts everything twice: give this one a DEADHEAT_METRICS_DIR of its own.",
            soft_wrap=True,
        )


def _serve_metrics(settings: Settings, port: int) -> None:
    directory = settings.metrics_dir
    if directory is None:
        fail("--metrics-port needs DEADHEAT_METRICS_DIR: the worker's processes add up their metrics there")
    from workers.exposition import expose

    _tell_metrics(directory)
    try:
        expose(settings, directory, port)
    except OSError as error:
        fail(f"cannot listen on port {port}: {error.strerror}; choose another --metrics-port")


def _slot_count(settings: Settings) -> int:
    from sandbox.slots import plan

    return len(plan(settings.slots, sorted(os.sched_getaffinity(0))))
