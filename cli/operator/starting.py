"""Checks and prepares a deployment's parts before they start, so that mistakes are reported at once."""

from __future__ import annotations

import gc
import logging
import os
import socket
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from deadheat.cli.console import fail, note
from deadheat.cli.operator import organiser_token, read_settings

if TYPE_CHECKING:
    from deadheat.league.config import Settings

log = logging.getLogger(__name__)

ANNOUNCE_SECONDS = 5
"""The pause between two tries to record the games of this API."""

PARTS = (
    *("uvicorn", "deadheat.api.app", "deadheat.workers.tasks", "deadheat.workers.keeper", "deadheat.workers.scheduler"),
    *("celery.bin.worker", "celery.apps.worker", "celery.concurrency.prefork"),
)
"""The modules that the processes of `serve` import. Modules that these import in turn are not listed."""


def arrive(settings: Settings) -> None:
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


def announce_games(settings: Settings) -> None:
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


def prepare(settings: Settings) -> Path:
    """Migrate the database, make sure that there is an organiser, and return the path of the token."""
    from deadheat.league.database import Database

    settings.data_dir.mkdir(parents=True, exist_ok=True)
    settings.data_dir.chmod(0o700)  # no other user of this host may read password hashes, sources and logs
    file = organiser_token.token_file(settings)
    with closing(Database(settings)) as database:
        database.migrate()
        if why_not := organiser_token.keep_token(database, file):
            note(why_not, "note:")
    return file


def metrics_environment(settings: Settings) -> dict[str, str]:
    """Make this process and its children add up their counts in one folder, and return their environment. Call this
    before anything imports prometheus_client, which reads PROMETHEUS_MULTIPROC_DIR only once.
    """
    directory = settings.metrics_dir or settings.data_dir.absolute() / "metrics"
    os.environ.update(DEADHEAT_METRICS_DIR=str(directory), PROMETHEUS_MULTIPROC_DIR=str(directory))
    from deadheat.league import measured

    measured.begin(directory)
    return dict(os.environ)


def set_multiprocess(settings: Settings) -> None:
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


def serve_metrics(settings: Settings, port: int) -> None:
    directory = settings.metrics_dir
    if directory is None:
        fail("--metrics-port needs DEADHEAT_METRICS_DIR: the worker's processes add up their metrics there")
    from deadheat.workers.exposition import expose

    tell_metrics(directory)
    try:
        expose(settings, directory, port)
    except OSError as error:
        fail(f"cannot listen on port {port}: {error.strerror}; choose another --metrics-port")


def warm() -> None:
    """Import the modules of a deployment's parts, so that forks need not. None of them opens or starts anything."""
    gc.disable()  # searching new modules for garbage would take a fifth of the time and find none
    for module in PARTS:
        import_module(module)
    gc.collect()
    gc.freeze()  # otherwise each part's first collection writes to all the pages that it shares with the others
    gc.enable()


def slot_count(settings: Settings) -> int:
    from deadheat.sandbox.host.slots import plan

    return len(plan(settings.slots, sorted(os.sched_getaffinity(0)), people_count(settings)))


def people_count(settings: Settings) -> int:
    from deadheat.sandbox.host.slots import people

    return people(settings.exhibitions, len(os.sched_getaffinity(0)))
