"""`deadheat doctor`, `check-host`: the state of a deployment, a machine's fitness to judge, and remedies.

A check uses the real part as its users do, and changes nothing that matters: a blob named `check` is written, and a
container and its folder are removed again.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from pydantic import ValidationError
from rich.text import Text

from deadheat.cli.console import fail, note
from deadheat.cli.operator import read_settings
from deadheat.cli.output import Output, says

if TYPE_CHECKING:
    from deadheat.league.config import Settings
    from deadheat.league.database import Database
    from deadheat.sandbox.host.fitness import Report
    from deadheat.workers.context import Context


def check_engine(settings: Settings) -> Iterator[Finding]:
    """Check the engine, the image and the folder that both must see, as root, which a match needs."""
    from deadheat.sandbox.box import SandboxError
    from deadheat.sandbox.docker import DockerSandbox
    from deadheat.sandbox.runtimes import NO_PARSER, NO_PARSER_CURE

    if settings.sandbox == "local":
        return
    if os.geteuid() != 0:
        yield Finding("engine", Verdict.WRONG, "A worker that plays must be root.", "start it as root")
        return
    run_dir = settings.data_dir.absolute() / "run"
    try:
        sandbox = DockerSandbox(settings.image, run_dir, settings.runtime)
    except SandboxError as error:
        yield Finding("engine", Verdict.WRONG, f"{error.detail[:1].upper()}{error.detail[1:]}.", CURES["engine"])
        return
    with closing(sandbox):
        yield Finding("engine", Verdict.GOOD, f"The Docker Engine answers and has {settings.image}.")
        try:
            sandbox.prove()
        except SandboxError as error:
            cure = "docs/how-to/machines.md, What a machine must allow, has the settings"
            if NO_PARSER in error.detail:
                cure = NO_PARSER_CURE
            yield Finding("rooms", Verdict.WRONG, f"{error.detail[:1].upper()}{error.detail[1:]}.", cure)
        else:
            sentence = f"Bots get rooms here, and containers see {run_dir} as this process does."
            yield Finding("rooms", Verdict.GOOD, sentence)


def _check_fitness(settings: Settings) -> Iterator[Finding]:
    """Run the host check that a worker runs when it starts, and yield its remarks and faults."""
    from deadheat.sandbox.docker import DockerSandbox
    from deadheat.sandbox.host.check import QUICK_ROUNDS, check_host
    from deadheat.sandbox.host.fitness import Level
    from deadheat.workers.context import Context

    if settings.sandbox == "local" or os.geteuid() != 0:
        return
    context = Context(settings)
    sandbox = DockerSandbox(settings.image, context.run_dir, settings.runtime, settings.only_plays)
    with closing(sandbox), context.slots.take() as cpus:
        report = check_host(sandbox, cpus, QUICK_ROUNDS, bots=context.slots.bots)
    for finding in report.findings:
        if finding.level is not Level.GOOD:
            verdict = Verdict.WRONG if finding.level is Level.UNFIT else Verdict.REMARK
            yield Finding("fitness", verdict, finding.text, finding.mend)
    if report.fit:
        yield Finding("fitness", Verdict.GOOD, "This machine is fit to judge.")


class Verdict(StrEnum):
    """The result of a check."""

    GOOD = "good"
    REMARK = "remark"  # works, but could be better
    WRONG = "wrong"


class MachineRole(StrEnum):
    """The task of this machine in a deployment."""

    ALL = "all"
    API = "api"
    SCHEDULER = "scheduler"
    CONTROL = "control"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report. `cure`: the remedy, if there is one."""

    about: str
    verdict: Verdict
    text: str
    cure: str = ""


Check = Callable[["Settings"], Iterator[Finding]]

CURES = {
    "database": "is it running, and is DEADHEAT_DATABASE_URL right?",
    "broker": "is it running, not full and not a replica, and is DEADHEAT_BROKER_URL right?",
    "blobs": "is DEADHEAT_BLOB_URL right, and may we write there (AWS_... for S3)?",
    "engine": "./scripts/bootstrap installs an engine, deploy/images/build builds the image",
}
"""The remedy for a part that cannot be reached at all, by part."""


CLOCK_SECONDS = 1.0
"""The largest difference between this machine's clock and the database's, which alone decides leases."""

OLD_QUEUE_SECONDS = 600
SLOW_SECONDS = 1.0
LOW_DISK_SHARE, LOW_DISK_BYTES = 0.05, 2 * 1024**3
STA_UNSYNC = 0x0040


def look(settings: Settings, role: MachineRole) -> Iterator[Finding]:
    for about, roles, check in CHECKS:
        if role is not MachineRole.ALL and role not in roles:
            continue
        try:
            yield from check(settings)
        except Exception as error:  # noqa: BLE001  a doctor who faints helps nobody, and any library may be in trouble
            message = (str(error).splitlines() or [""])[0]
            yield Finding(about, Verdict.WRONG, f"{type(error).__name__}: {message}", CURES.get(about, ""))


def check_settings(settings: Settings) -> Iterator[Finding]:
    """Check for guessable secrets, readable files, and settings that contradict each other."""
    from deadheat.league.safety import plain_text, unsafe_settings

    about = "settings"
    strict = settings.model_copy(update={"environment": "production"})
    refused = {str(unsafe) for unsafe in unsafe_settings(settings)}
    for unsafe in (*unsafe_settings(strict), *plain_text(settings)):
        verdict = Verdict.WRONG if str(unsafe) in refused else Verdict.REMARK
        yield Finding(about, verdict, f"{unsafe.setting}: {unsafe.why}", unsafe.mend)
    if settings.environment != "production":
        cure = "set DEADHEAT_ENVIRONMENT=production before you admit strangers"
        yield Finding(about, Verdict.REMARK, "Unsafe settings only cause remarks.", cure)
    if settings.database_url.startswith("postgresql") and not settings.broker_url:
        cure = "set DEADHEAT_BROKER_URL to a Redis"
        yield Finding(about, Verdict.REMARK, "Messages are files, so all processes must run on this machine.", cure)
    if settings.judge_unfit:
        cure = "unset DEADHEAT_JUDGE_UNFIT"
        yield Finding(about, Verdict.REMARK, "Unfit machines judge anyway.", cure)
    if settings.data_dir.is_dir() and settings.data_dir.stat().st_mode & 0o007 and not settings.database_url:
        cure = f"chmod 700 {settings.data_dir}"
        yield Finding(about, Verdict.REMARK, f"Others on this machine can read {settings.data_dir}.", cure)
    if not refused:
        yield Finding(about, Verdict.GOOD, f"A {settings.environment} deployment starts with these settings.")


def check_database(settings: Settings) -> Iterator[Finding]:
    """Check that the database answers, has this version's schema and a clock close to ours, and that our role there is
    no superuser and owns no tables.
    """
    from sqlalchemy import text

    from deadheat.league.storage.schema import SchemaAge, WrongSchema, age_of, revision

    about = "database"
    database = _database(settings)
    if database is None:
        cure = "`deadheat serve` makes one, or `deadheat upgrade --no-backup`"
        yield Finding(about, Verdict.WRONG, "There is no league yet.", cure)
        return
    with closing(database):
        began_at = time.monotonic()
        with database.engine.connect() as connection:
            server = connection.dialect.name == "postgresql"
            version = connection.execute(text("SHOW server_version" if server else "SELECT sqlite_version()")).scalar()
            clock = connection.execute(text("SELECT clock_timestamp()")).scalar_one() if server else None
            may = connection.execute(text(TOO_MUCH)).scalar() if server else None
        took_ms = (time.monotonic() - began_at) * 1000
        if may:
            cure = (
                "create the roles of docs/how-to/install-by-hand.md; name this process's own in DEADHEAT_DATABASE_URL"
            )
            yield Finding(about, Verdict.REMARK, f"Whoever takes over this process can {may}.", cure)
        kind = "PostgreSQL" if server else "SQLite"
        schema = revision(database.engine)
        age = age_of(schema)
        if age is SchemaAge.CURRENT:
            yield Finding(about, Verdict.GOOD, f"{kind} {version} answers in {took_ms:.0f} ms, with schema {schema}.")
        else:
            yield Finding(about, Verdict.WRONG, str(WrongSchema(schema, age)), "see the message, and back up first")
        if clock is not None:
            apart = abs((clock.astimezone(UTC) - datetime.now(UTC)).total_seconds())
            if apart > CLOCK_SECONDS + took_ms / 1000:
                differ = f"This machine's and the database's are {apart:.1f} s apart."
                cure = "synchronise both with time servers (`timedatectl set-ntp true`)"
                yield Finding("clock", Verdict.REMARK, differ, cure)
            else:
                yield Finding("clock", Verdict.GOOD, "This machine's agrees with the database's.")


TOO_MUCH = """
SELECT CASE WHEN rolsuper THEN 'run any program on the database''s machine'
            WHEN pg_has_role(relowner, 'MEMBER') THEN 'change the tables and the audit log' END
FROM pg_roles LEFT JOIN pg_class ON pg_class.oid = to_regclass('audit_log') WHERE rolname = current_user
"""


def check_broker(settings: Settings) -> Iterator[Finding]:
    """Check that messages can be sent and that the broker drops none silently."""
    from deadheat.workers.broker.queue import check

    check(settings, 5)
    kind = "Redis" if settings.broker.startswith("redis") else "The folder of messages"
    yield Finding("broker", Verdict.GOOD, f"{kind} takes messages.")
    if settings.broker.startswith("redis"):
        import redis

        with redis.Redis.from_url(settings.broker, socket_timeout=5) as client:
            memory = client.info("memory")
        policy = memory.get("maxmemory_policy", POLICY)
        if memory.get("maxmemory") and policy != POLICY:
            drops = f"A full Redis may drop or refuse messages ({policy}); they are sent again later."
            yield Finding("broker", Verdict.REMARK, drops, f"set maxmemory-policy to {POLICY}")


POLICY = "volatile-lru"
"""A full Redis then drops counts of requests, which strangers can fill it with, before it refuses a message."""


def _check_blobs(settings: Settings) -> Iterator[Finding]:
    """Check that a written blob can be read. None is deleted: Deadheat never does that, so the store may forbid it."""
    from deadheat.league.blobs import Blobs

    began_at = time.monotonic()
    Blobs(settings.blobs).check()
    took = time.monotonic() - began_at
    where = urlsplit(settings.blobs).scheme
    verdict = Verdict.GOOD if took < SLOW_SECONDS else Verdict.REMARK
    cure = "" if verdict is Verdict.GOOD else "use a nearer store; every match writes there"
    yield Finding("blobs", verdict, f"The store ({where}) was written to and read from in {took * 1000:.0f} ms.", cure)


def _check_clock(_: Settings) -> Iterator[Finding]:
    """Check that a service keeps this machine's clock right."""
    words = (ctypes.c_long * 64)()  # struct timex: a mode, offset, frequency, two errors, then the status
    known = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(words)) >= 0
    if not known or ctypes.c_int.from_buffer(words, 5 * ctypes.sizeof(ctypes.c_long)).value & STA_UNSYNC:
        unset = "According to the kernel, nothing synchronises this machine's clock."
        cure = "synchronise it with time servers (`timedatectl set-ntp true`), unless its host does"
        yield Finding("clock", Verdict.REMARK, unset, cure)
    else:
        yield Finding("clock", Verdict.GOOD, "According to the kernel, this machine's clock is synchronised.")


def check_disk(settings: Settings) -> Iterator[Finding]:
    """Check for free space where we write: our own files, and blobs if they are files."""
    from deadheat.league.blobs import blob_folder, room_at  # they need the server's packages

    folders = {}
    own = settings.data_dir.absolute()
    if own.exists() or not settings.database_url:  # with both elsewhere, only workers write here
        # In a worker's container only `run` lies outside the container.
        folders[_there(own / "run" if (own / "run").is_dir() else own)] = "DEADHEAT_DATA_DIR"
    blobs = blob_folder(settings.blobs)
    if blobs is not None:
        folders.setdefault(_there(blobs), "DEADHEAT_BLOB_URL")
    disks: set[int] = set()
    for folder, setting in folders.items():
        disk = folder.stat().st_dev
        if disk in disks:
            continue
        disks.add(disk)
        room, cure = room_at(folder), f"free some space, or move it ({setting})"
        free = f"{room.free_bytes / 1024**3:.1f} GiB free on the disk of {folder}"
        if room.free_bytes < max(LOW_DISK_BYTES, LOW_DISK_SHARE * room.size_bytes):
            yield Finding("disk", Verdict.WRONG, f"Only {free}.", cure)
        elif room.free_ratio < LOW_DISK_SHARE:
            yield Finding("disk", Verdict.WRONG, f"{free}, but only {room.free_files} inodes.", cure)
        else:
            yield Finding("disk", Verdict.GOOD, f"{free}.")


def _there(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _check_running(settings: Settings) -> Iterator[Finding]:
    """Check for a working scheduler, machines that judge, and a moving queue. A new deployment has none of them."""
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.league.service.series import hosts as league_hosts
    from deadheat.league.service.views.queues import is_sampled, queues
    from deadheat.league.storage.schema import WrongSchema, must_fit

    database = _database(settings)
    if database is None:
        return
    try:
        with closing(database):
            must_fit(database.engine)
            with database.reading() as session:
                hosts = league_hosts.hosts(session)
                waiting, scheduled = queues(session).queues, is_sampled(session)
    except (SQLAlchemyError, WrongSchema):
        return  # `check_database` has reported it
    judging = [host.name for host in hosts if host.judges]
    if judging:
        yield Finding("workers", Verdict.GOOD, f"{len(judging)} of {len(hosts)} machines judge: {', '.join(judging)}.")
    else:
        cure = "start a worker; `deadheat workers` says why an existing one does not judge"
        yield Finding("workers", Verdict.REMARK, "No machine is judging.", cure)
    if scheduled:
        yield Finding("scheduler", Verdict.GOOD, "Its tasks are carried out.")
    else:
        cure = "start `deadheat scheduler` and a worker of the queue control (or `serve`)"
        yield Finding("scheduler", Verdict.REMARK, "Its tasks have not been carried out lately.", cure)
    for queue in waiting:
        if queue.oldest_seconds > OLD_QUEUE_SECONDS:
            text = f"The oldest {queue.name} job has waited for {queue.oldest_seconds / 60:.0f} minutes."
            yield Finding("queue", Verdict.REMARK, text, "add workers, or make them fit")


def _database(settings: Settings) -> Database | None:
    """Return the database, or None if it has no file yet."""
    from deadheat.league.database import Database, is_there

    return Database(settings) if is_there(settings.database) else None


EVERYBODY = frozenset(MachineRole)
PLAYS = frozenset({MachineRole.WORKER})
CHECKS: tuple[tuple[str, frozenset[MachineRole], Check], ...] = (
    ("settings", EVERYBODY, check_settings),
    ("database", EVERYBODY, check_database),
    ("broker", EVERYBODY, check_broker),
    ("blobs", EVERYBODY, _check_blobs),
    ("clock", EVERYBODY, _check_clock),
    ("disk", EVERYBODY, check_disk),
    ("running", frozenset({MachineRole.API}), _check_running),
    ("engine", PLAYS, check_engine),
    ("fitness", PLAYS, _check_fitness),
)


COLOURS = {"good": "green", "remark": "magenta", "unfit": "red", "wrong": "red"}


def _finding_lines(verdict: str, text: str, cure: str) -> Iterator[Text]:
    yield Text.assemble((f"{verdict:>6}", COLOURS[verdict]), f"  {text}")
    if cure and verdict != Verdict.GOOD:
        yield Text(f"        fix:  {cure}")


@says
def doctor(
    role: Annotated[
        MachineRole, typer.Option(help="This machine's role; checks only what it needs.")
    ] = MachineRole.ALL,
) -> Iterator[Output]:
    """Check everything that a deployment needs and say how to fix problems; exit code 1 if there are any."""
    try:
        settings = read_settings()
    except ValidationError as error:
        names = (f"DEADHEAT_{str(problem['loc'][0]).upper()}: " if problem["loc"] else "" for problem in error.errors())
        fail("; ".join(name + problem["msg"] for name, problem in zip(names, error.errors(), strict=True)))
    count = wrong = 0
    for finding in look(settings, role):
        count += 1
        wrong += finding.verdict is Verdict.WRONG
        yield Output(asdict(finding), _finding_lines(finding.verdict, f"{finding.about}: {finding.text}", finding.cure))
    verdict = Text(f"{wrong} {'is' if wrong == 1 else 'are'} WRONG", "red") if wrong else "nothing is wrong"
    yield Output((), Text.assemble(f"{count} things checked, ", verdict, "."), code=1 if wrong else 0)


@says
def check_host(
    quick: Annotated[
        bool, typer.Option("--quick", help="Take two seconds instead of ten, as workers do when they start.")
    ] = False,
) -> Iterator[Output]:
    """Say whether this machine is fit to judge; exit code 1 if it is not.

    On a machine that plays, the check waits for a free slot. If it finds a league's machine unfit, the league is
    notified and gives it nothing to play.
    """
    from deadheat.engine.core import TransportError
    from deadheat.sandbox.host import check
    from deadheat.workers.context import Context

    context = Context(read_settings())
    try:
        sandbox = context.sandbox
        with context.slots.take() as cpus:
            rounds = check.QUICK_ROUNDS if quick else check.FULL_ROUNDS
            report = check.check_host(sandbox, cpus, rounds, bots=context.slots.bots)
    except TransportError as error:
        fail(error.detail)
    lines = chain.from_iterable(
        _finding_lines(finding.level, finding.text, finding.mend) for finding in report.findings
    )
    verdict = "This machine is fit to judge." if report.fit else Text("This machine is NOT fit to judge.", "red")
    yield Output(report.as_dict(), chain(lines, [verdict]))
    if not report.fit:
        _end_fitness(context, report)
        raise typer.Exit(1)


def _end_fitness(context: Context, report: Report) -> None:
    """Tell the league that this machine may not judge until its keeper's next check finds it fit."""
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.league.service.series.hosts import RECHECK_SECONDS, record_check

    facts = report.as_dict() | {"slots": len(context.slots.slots)}
    try:
        with context.database.transaction() as session:
            record_check(session, context.host, facts, report.reasons, RECHECK_SECONDS)
    except SQLAlchemyError:
        note("No league was notified: its database does not answer, or there is none.")
