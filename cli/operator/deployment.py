"""Run a deployment: everything in one process tree, or its parts one by one."""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deadheat.cli.console import fail, note
from deadheat.cli.operator import read_settings, starting
from deadheat.cli.operator.tree import FINISH_SECONDS, Tree, end_without_parent

if TYPE_CHECKING:
    from deadheat.league.config import Settings

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

    settings = starting.safe_settings()
    note("Starting Deadheat: the API, the scheduler and the workers ...")  # what follows takes seconds on a busy host
    starting.check_port(settings)
    starting.check_sandbox(settings)
    token_file = starting.prepare(settings)
    tree = Tree(starting.metrics_environment(settings), forks=True)
    starting.arrive(settings)
    slots = starting.slot_count(settings)
    tree.add("api", ["api"])
    for queue in (CONTROL, *_named(JOBS)):
        tree.add_jobs(queue, queue, slots if queue == SERIES.queue else 1)
    tree.add_jobs(DELIVERIES, DELIVERIES, 1)
    _add_exhibitions(tree, settings)
    tree.add("keeper", ["keeper"])
    tree.add("scheduler", ["scheduler"])
    note(f"Deadheat at http://{settings.host}:{settings.port}/  (organiser's token: {token_file})")
    note(f"{slots} match{'es' if slots > 1 else ''} at a time. Stop with Ctrl-C.")
    starting.warm()
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
    settings = starting.safe_settings()
    if descriptor < 0:
        starting.check_port(settings)
        starting.check_schema(settings)
    if processes > 1:
        _share_port(settings, processes)
        return
    starting.set_multiprocess(settings)
    if descriptor < 0:
        starting.tell_metrics(settings.metrics_dir)
    import uvicorn

    from deadheat.api.edge.connections import capped
    from deadheat.league import telemetry

    telemetry.begin(settings, "api")
    starting.announce_games(settings)
    config = uvicorn.Config(
        "deadheat.api.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        http=capped(settings),
        lifespan="on",
        ws="none",
        log_config=None,  # as in all our processes, logging is already set up
        access_log=False,
        server_header=False,
        proxy_headers=False,  # api.app trusts those that the settings name
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run([socket.socket(fileno=descriptor)] if descriptor >= 0 else None)


def _share_port(settings: Settings, processes: int) -> None:
    """Listen on one port that `processes` children share. While one restarts, another accepts its connections."""
    starting.tell_metrics(settings.metrics_dir)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=2048) as listening:
        tree = Tree(starting.metrics_environment(settings), pass_fds=(listening.fileno(),))
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
) -> None:
    """Run a worker, which takes jobs from the queue until it is told to stop.

    SIGTERM lets it finish; what takes too long is handed back to the queue.

    If it plays, this machine is checked first (see `check-host`), and again whenever its fitness is in doubt.
    """
    from deadheat.league.service.jobs.builds import BUILDS
    from deadheat.league.service.series.carrying_out import SERIES

    settings, taken = starting.safe_settings(), _named(queues)
    starting.set_multiprocess(settings)
    if settings.metrics_dir is not None:
        starting.metrics_environment(settings)
    starting.check_schema(settings)
    if set(taken) != {CONTROL}:
        starting.check_sandbox(settings, waits=True)
    if metrics_port:
        starting.serve_metrics(settings, metrics_port)
    tree = Tree(dict(os.environ), finish_seconds, alive_file)
    if SERIES.queue in taken:
        starting.arrive(settings)
        tree.add("keeper", ["keeper"])
        _add_exhibitions(tree, settings)
    if CONTROL in taken:
        tree.add_jobs(DELIVERIES, DELIVERIES, 1)
    if BUILDS.queue in taken:
        tree.add_jobs("builds", BUILDS.queue, 1)  # builds do not wait until a process has ended its series
    tree.add_jobs("jobs", ",".join(taken), concurrency or starting.slot_count(settings) + 1)
    tree.run()


def _named(queues: str) -> list[str]:
    """Return the names of these queues without repetition, with `jobs` expanded."""
    from deadheat.league.service.jobs.sweep import KINDS

    jobs = [life.queue for life in KINDS if life.takes_slot]
    return list(dict.fromkeys(name for word in queues.split(",") for name in (jobs if word == JOBS else [word])))


def _add_exhibitions(tree: Tree, settings: Settings) -> None:
    """Run people's matches against bots in separate processes, because each lasts as long as the person likes."""
    from deadheat.league.service.jobs.exhibiting import EXHIBITIONS

    if settings.exhibitions:
        tree.add_jobs("exhibitions", EXHIBITIONS.queue, starting.people_count(settings))


def jobs(queues: str, concurrency: int) -> None:
    """Take jobs from these queues: the part of a worker that does the work."""
    settings = read_settings()
    starting.set_multiprocess(settings)
    from deadheat.workers.tasks import app

    end_without_parent()
    name = f"{queues.replace(',', '-')}-{os.getpid()}@%h"
    words = ["--quiet", "worker", f"--queues={queues}", f"--concurrency={concurrency}", f"--hostname={name}"]
    words += [f"--loglevel={settings.log_level}", "--pool=prefork"]
    app.worker_main([*words, "--without-gossip", "--without-mingle", "--without-heartbeat"])


def keeper() -> None:
    """Keep this machine's fitness to judge known: the part of a worker that looks after its host."""
    settings = read_settings()
    starting.set_multiprocess(settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # exiting leaves every `with`, so no container stays behind
    from deadheat.league import telemetry
    from deadheat.workers.context import context
    from deadheat.workers.keeper import Keeper

    telemetry.begin(settings, "keeper")
    Keeper(context()).run()


def scheduler(alive_file: AliveFile = None) -> None:
    """Run a scheduler, which has series planned, lost work recovered and rankings made. Several may run."""
    settings = starting.safe_settings()
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
