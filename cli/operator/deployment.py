"""Runs a deployment: everything in one process tree, or its parts one by one. Each part is checked before it starts.

A tree of one process creates an organiser's token for itself. An operator's removals are respected: a revoked token is
not replaced, and an account that is no longer an organiser's is not promoted.
"""

from __future__ import annotations

import gc
import logging
import os
import secrets
import signal
import socket
import sys
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from deadheat.cli.console import fail, note
from deadheat.cli.operator import machines, read_settings
from deadheat.cli.operator.tree import FINISH_SECONDS, Tree, end_without_parent

if TYPE_CHECKING:
    from types import FrameType

    from deadheat.league.config import Settings
    from deadheat.league.database import Database
    from deadheat.league.service.rulings.closing import Standing


NAME = "organiser"


def token_file(settings: Settings) -> Path:
    return settings.data_dir / "organiser.token"


def standing(database: Database, file: Path) -> Standing:
    from deadheat.league.service.rulings.closing import token_standing

    try:
        secret = file.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        secret = ""
    with database.reading() as session:
        return token_standing(session, NAME, secret)


def keep_token(database: Database, file: Path) -> str:
    """Make sure that the file holds a valid token (a new one revokes the old one), or say why there is none."""
    from deadheat.league.service.rulings.closing import Standing, ensure_organiser

    status = standing(database, file)
    if status is Standing.LOST:
        partial = file.with_suffix(f".{secrets.token_hex(4)}")
        partial.touch(mode=0o600)
        with database.transaction() as session:
            partial.write_text(ensure_organiser(session, NAME) + "\n")
            partial.replace(file)  # before the commit: if that fails, the file holds an unknown token
    return taken_away(status, file)


def taken_away(status: Standing, file: Path) -> str:
    """Say in a sentence what an operator removed and how to restore it; empty if nothing was removed."""
    from deadheat.league.service.rulings.closing import Standing

    if status is Standing.REVOKED:
        return f"The organiser's token in {file} was revoked: delete the file, and `deadheat serve` makes a new one."
    if status is Standing.DEMOTED:
        demoted = f"The account of the token in {file} is no longer an organiser"
        return f"{demoted}; `deadheat user role {NAME} organiser` restores the role."
    return ""


log = logging.getLogger(__name__)

ANNOUNCE_SECONDS = 5
"""The pause between two tries to record the games of this API."""

PARTS = (
    *("uvicorn", "deadheat.api.app", "deadheat.workers.tasks", "deadheat.workers.keeper", "deadheat.workers.scheduler"),
    *("celery.bin.worker", "celery.apps.worker", "celery.concurrency.prefork"),
)
"""The modules that the processes of `serve` import. Modules that these import in turn are not listed."""


def _arrive(settings: Settings) -> None:
    """Forget this machine's known fitness before any of its workers starts."""
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.workers import keeper
    from deadheat.workers.context import Context

    context = Context(settings)
    try:
        keeper.arrive(context)
    except SQLAlchemyError as error:
        fail(f"the database does not answer, or has another schema (see `deadheat migrate`): {error}")
    finally:
        context.database.close()


def safe_settings() -> Settings:
    """Return the settings, if they are safe for a deployment."""
    from deadheat.league.safety import plain_text, refusal

    settings = read_settings()
    if why := refusal(settings):
        fail(why)
    if settings.environment == "production":
        for unsafe in plain_text(settings):
            note(str(unsafe), "warning:")
    return settings


def check_port(settings: Settings) -> None:
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; set DEADHEAT_PORT")


def check_schema(settings: Settings) -> None:
    """Refuse a database of another version. Accept an unavailable one, which may come back."""
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.league.database import Database
    from deadheat.league.storage.schema import WrongSchema, must_fit

    with closing(Database(settings)) as database:
        try:
            must_fit(database.engine)
        except WrongSchema as error:
            fail(str(error))
        except SQLAlchemyError as error:
            log.warning("the database does not answer yet: %s", error)


def _announce_games(settings: Settings) -> None:
    """Record this API's games in the background, trying again as long as the database is away."""
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.league.database import Database
    from deadheat.league.service.series import games

    def announce() -> None:
        while True:
            try:
                with closing(Database(settings)) as database, database.transaction() as session:
                    games.announce_games(session)
                    return
            except SQLAlchemyError as error:
                log.warning("the list of games could not be stored, trying again: %s", error)
                time.sleep(ANNOUNCE_SECONDS)

    Thread(target=announce, name="games", daemon=True).start()


def check_sandbox(settings: Settings, waits: bool = False) -> None:
    """Fail now instead of at the first upload. A caller that `waits` accepts problems that may pass, such as a missing
    engine or image.
    """
    from deadheat.league.causes import Cause, Trait
    from deadheat.sandbox.box import SandboxError
    from deadheat.sandbox.docker import DockerSandbox

    if settings.sandbox == "local":
        note("(DEADHEAT_SANDBOX=local): development only.", "Bots run WITHOUT isolation", "bold red")
        return
    try:
        DockerSandbox(settings.image, settings.data_dir / "run", settings.runtime).close()
    except SandboxError as error:
        if Trait.LASTING in Cause(error.cause).traits or not waits:
            fail(error.detail)


def _prepare(settings: Settings) -> Path:
    """Migrate the database, make sure that there is an organiser, and return the path of the token."""
    from deadheat.league.database import Database

    settings.data_dir.mkdir(parents=True, exist_ok=True)
    settings.data_dir.chmod(0o700)  # no other user of this host may read password hashes, sources and logs
    file = token_file(settings)
    with closing(Database(settings)) as database:
        database.migrate()
        if why_not := keep_token(database, file):
            note(why_not, "note:")
    return file


def _metrics_environment(settings: Settings) -> dict[str, str]:
    """Make this process and its children add up their counts in one folder, and return their environment. Call this
    before anything imports prometheus_client, which reads PROMETHEUS_MULTIPROC_DIR only once.
    """
    directory = settings.metrics_dir or settings.data_dir.absolute() / "metrics"
    os.environ.update(DEADHEAT_METRICS_DIR=str(directory), PROMETHEUS_MULTIPROC_DIR=str(directory))
    from deadheat.league import measured

    measured.begin(directory)
    return dict(os.environ)


def _set_multiprocess(settings: Settings) -> None:
    """Set the variable that prometheus_client reads on import. Call this before any metric is created."""
    if settings.metrics_dir is not None:
        settings.metrics_dir.mkdir(parents=True, exist_ok=True)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.metrics_dir)


def tell_metrics(directory: Path | None) -> None:
    """Prepare to serve the totals of a folder, and warn if another process already does."""
    from deadheat.league import measured

    if directory is None:
        return
    alone = measured.told_alone(directory)
    measured.fold(directory)
    if not alone:
        note(
            f"another process already reports the metrics in {directory}. A Prometheus that scrapes both counts "
            "everything twice: give this one a DEADHEAT_METRICS_DIR of its own.",
            "warning:",
        )


def _warm() -> None:
    """Import the modules of a deployment's parts, so that forks need not. None of them opens or starts anything."""
    gc.disable()  # searching new modules for garbage would take a fifth of the time and find none
    for module in PARTS:
        import_module(module)
    gc.collect()
    gc.freeze()  # otherwise each part's first collection writes to all the pages that it shares with the others
    gc.enable()


def slot_count(settings: Settings) -> int:
    from deadheat.sandbox.host.slots import plan

    return len(plan(settings.slots, sorted(os.sched_getaffinity(0)), _people_count(settings)))


def _people_count(settings: Settings) -> int:
    from deadheat.sandbox.host.slots import people

    return people(settings.exhibitions, len(os.sched_getaffinity(0)))


CONTROL = "control"  # see workers.broker.queue
DELIVERIES = "deliveries"  # see workers.broker.queue; goes with control
JOBS = "jobs"  # queues of all kinds of job that take slots; people's matches come with the series

AliveFile = Annotated[
    Path | None, typer.Option(help="Touch this file while all is well, for a container's health check.")
]


def serve() -> None:
    """Run everything here: API, scheduler, workers. Settings come from DEADHEAT_* (see deploy/env.example)."""
    from deadheat.cli.main import load
    from deadheat.league.service.series.carrying_out import SERIES

    settings = safe_settings()
    note("Starting Deadheat: the API, the scheduler and the workers ...")  # what follows takes seconds on a busy host
    check_port(settings)
    check_sandbox(settings)
    token_file = _prepare(settings)
    tree = Tree(_metrics_environment(settings), forks=True)
    _arrive(settings)
    slots = slot_count(settings)
    tree.add("api", ["api"])
    for queue in (CONTROL, *_named(JOBS)):
        tree.add_jobs(queue, queue, slots if queue == SERIES.queue else 1)
    tree.add_jobs(DELIVERIES, DELIVERIES, 1)
    _add_exhibitions(tree, settings)
    tree.add("keeper", ["keeper"])
    tree.add("scheduler", ["scheduler"])
    note(f"Deadheat at http://{settings.host}:{settings.port}/  (organiser's token: {token_file})")
    note(f"{slots} match{'es' if slots > 1 else ''} at a time. Stop with Ctrl-C.")
    _warm()
    if part := tree.run():
        load(part[0])(part[1:], prog_name="deadheat")


def api(
    host: Annotated[str, typer.Option(help="Address to listen on; empty: DEADHEAT_HOST.")] = "",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; none: DEADHEAT_PORT.")] = None,
    processes: Annotated[int, typer.Option(min=1, help="Number of processes, all on one port.")] = 1,
    descriptor: Annotated[int, typer.Option(hidden=True)] = -1,
) -> None:
    """Run the API alone."""
    chosen = {"DEADHEAT_HOST": host, "DEADHEAT_PORT": "" if port is None else str(port)}
    os.environ.update({name: value for name, value in chosen.items() if value})  # child processes read these
    settings = safe_settings()
    if descriptor < 0:
        check_port(settings)
        check_schema(settings)
    if processes > 1:
        _share_port(settings, processes)
        return
    _set_multiprocess(settings)
    if descriptor < 0:
        tell_metrics(settings.metrics_dir)
    import uvicorn

    from deadheat.api import watching
    from deadheat.api.edge.connections import SOCKET_BYTES, Socket, capped
    from deadheat.league import telemetry

    telemetry.begin(settings, "api")
    _announce_games(settings)
    config = uvicorn.Config(
        "deadheat.api.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        http=capped(settings),
        lifespan="on",
        ws=Socket,
        ws_max_size=SOCKET_BYTES,
        ws_per_message_deflate=False,
        log_config=None,  # as in all our processes, logging is already set up
        access_log=False,
        server_header=False,
        proxy_headers=False,  # api.app trusts those that the settings name
        timeout_graceful_shutdown=5,
    )

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            watching.leaving.set()
            super().handle_exit(sig, frame)

    Server(config).run([socket.socket(fileno=descriptor)] if descriptor >= 0 else None)


def _share_port(settings: Settings, processes: int) -> None:
    """Listen on one port that `processes` children share. While one restarts, another accepts its connections."""
    tell_metrics(settings.metrics_dir)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=2048) as listening:
        tree = Tree(_metrics_environment(settings), pass_fds=(listening.fileno(),))
        for number in range(1, processes + 1):
            tree.add(f"api {number}", ["api", "--descriptor", str(listening.fileno())])
        tree.run()


def worker(
    queues: Annotated[
        str, typer.Option(help="What to take: jobs (or the name of one kind, such as play), control.")
    ] = f"{JOBS},{CONTROL}",
    concurrency: Annotated[int, typer.Option(min=0, help="Jobs at a time; 0: the number of slots plus one.")] = 0,
    metrics_port: Annotated[int, typer.Option(help="Serve this host's metrics on this port; 0: none.")] = 0,
    finish_seconds: Annotated[
        float, typer.Option(min=0, help="Seconds to continue current work after SIGTERM.")
    ] = FINISH_SECONDS,
    alive_file: AliveFile = None,
    server: Annotated[str, typer.Option(help="Play for the league at this address, by a machine's token alone.")] = "",
    token_file: Annotated[Path | None, typer.Option(help="File with the token of `deadheat machine add`.")] = None,
    insecure: Annotated[bool, typer.Option(help="Allow http:// to another machine, where others can listen.")] = False,
) -> None:
    """Run a worker, which takes jobs from the queue until it is told to stop.

    SIGTERM lets it finish; what takes too long is handed back to the queue.

    If it plays, this machine is checked first (see `check-host`), and again whenever its fitness is in doubt.

    With --server it plays for a league over HTTP, and needs only --token-file: no database, queue or store.
    """
    if server:
        machines.play_for(server, token_file, concurrency, finish_seconds, alive_file, insecure=insecure)
        return
    from deadheat.league.service.jobs.builds import BUILDS
    from deadheat.league.service.series.carrying_out import SERIES

    settings, taken = safe_settings(), _named(queues)
    _set_multiprocess(settings)
    if settings.metrics_dir is not None:
        _metrics_environment(settings)
    check_schema(settings)
    if set(taken) != {CONTROL}:
        check_sandbox(settings, waits=True)
    if metrics_port:
        if settings.metrics_dir is None:
            fail("--metrics-port needs DEADHEAT_METRICS_DIR: the worker's processes add up their metrics there")
        from deadheat.workers.exposition import expose

        tell_metrics(settings.metrics_dir)
        try:
            expose(settings, settings.metrics_dir, metrics_port)
        except OSError as error:
            fail(f"cannot listen on port {metrics_port}: {error.strerror}; choose another --metrics-port")
    tree = Tree(dict(os.environ), finish_seconds, alive_file)
    if SERIES.queue in taken:
        _arrive(settings)
        tree.add("keeper", ["keeper"])
        _add_exhibitions(tree, settings)
    if CONTROL in taken:
        tree.add_jobs(DELIVERIES, DELIVERIES, 1)
    if BUILDS.queue in taken:
        tree.add_jobs("builds", BUILDS.queue, 1)  # builds do not wait until a process has ended its series
    tree.add_jobs("jobs", ",".join(taken), concurrency or slot_count(settings) + 1)
    tree.run()


def _named(queues: str) -> list[str]:
    """Return the names of these queues without repetition, with `jobs` expanded."""
    from deadheat.league.service.jobs.sweep import KINDS

    jobs = [life.queue for life in KINDS if life.takes_slot]
    return list(dict.fromkeys(name for word in queues.split(",") for name in (jobs if word == JOBS else [word])))


def _add_exhibitions(tree: Tree, settings: Settings) -> None:
    """Run people's matches against bots in separate processes, because each lasts as long as the person likes."""
    from deadheat.league.service.tables.programs import TABLES

    if settings.exhibitions:
        tree.add_jobs("exhibitions", TABLES.queue, _people_count(settings))


def jobs(queues: str, concurrency: int) -> None:
    """Take jobs from these queues: the part of a worker that does the work."""
    settings = read_settings()
    _set_multiprocess(settings)
    from deadheat.workers.tasks import app

    end_without_parent()
    name = f"{queues.replace(',', '-')}-{os.getpid()}@%h"
    words = ["--quiet", "worker", f"--queues={queues}", f"--concurrency={concurrency}", f"--hostname={name}"]
    words += [f"--loglevel={settings.log_level}", "--pool=prefork"]
    app.worker_main([*words, "--without-gossip", "--without-mingle", "--without-heartbeat"])


def keeper() -> None:
    """Keep this machine's fitness to judge known: the part of a worker that looks after its host."""
    settings = read_settings()
    _set_multiprocess(settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # exiting leaves every `with`, so no container stays behind
    from deadheat.league import telemetry
    from deadheat.workers.context import context
    from deadheat.workers.keeper import Keeper

    telemetry.begin(settings, "keeper")
    Keeper(context()).run()


def scheduler(alive_file: AliveFile = None) -> None:
    """Run a scheduler, which has series planned, lost work recovered and rankings made. Several may run."""
    settings = safe_settings()
    from deadheat.league import telemetry
    from deadheat.workers import scheduler

    telemetry.begin(settings, "scheduler")
    scheduler.run(alive_file)


def migrate() -> None:
    """Bring the database to this version's schema; `deadheat upgrade` backs it up first."""
    from deadheat.league.database import Database
    from deadheat.league.storage.schema import SchemaAge, WrongSchema, must_fit

    try:
        with closing(Database(read_settings())) as database:
            must_fit(database.engine, SchemaAge.NONE, SchemaAge.OLDER)
            database.migrate()
    except WrongSchema as error:
        fail(str(error))
    note("The database is up to date.")
