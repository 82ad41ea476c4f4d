"""The deployment's PostgreSQL, started by the entrypoint of its image: who owns what, and who may do what."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
import yaml
from sqlmodel import select

from deadheat.league.database import Database
from deadheat.league.service.people.users import sign_up
from deadheat.league.storage.schema import SERVICE, WORKER
from deadheat.league.tables import AuditRecord, User
from tests.cli.command import ROOT, invoke, succeeded
from tests.deploy.compose import DEPLOY
from tests.deployment import free_port
from tests.league import postgres
from tests.league.ground import drifted, settings

MIGHTY = "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
OWNER, SUPERUSER = "deadheat_owner", "deadheat"
REFUSED = (
    "CREATE TABLE x (y int)",
    "DROP TABLE audit_log",
    "DELETE FROM alembic_version",
    "CREATE TEMPORARY TABLE x (y int)",
    "SELECT lo_creat(-1)",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_import('/etc/passwd')",
)
ROLES = {"DATABASE": SUPERUSER, "OWNER": OWNER, "SERVICE": SERVICE, "WORKER": WORKER}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the user as whom PostgreSQL runs; pytest's own are root's alone."""
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    made = Path(tempfile.mkdtemp(prefix="deadheat-roles-"))
    for name in ("entrypoint", "roles.sql"):
        shutil.copy(ROOT / "deploy" / "services" / "postgres" / name, made)
    if os.geteuid() == 0:
        shutil.chown(made, "postgres")
    yield made
    shutil.rmtree(made)


@contextmanager
def started(folder: Path) -> Iterator[dict[str, str]]:
    """Run the entrypoint; yield each role's URL."""
    port = str(free_port())
    environment = {f"DEADHEAT_{name}_PASSWORD": f"password-of-{role}" for name, role in ROLES.items()}
    environment |= {"PATH": f"{postgres.binaries()}:{os.environ['PATH']}", "PGPORT": port}
    environment |= {"PGDATA": str(folder / "15"), "PGHOST": str(folder)}
    user = "postgres" if os.geteuid() == 0 else None
    log = (folder / "log").open("ab")
    server = subprocess.Popen(
        [folder / "entrypoint", "postgres"], cwd=folder, env=environment, stdout=log, stderr=log, user=user, group=user
    )
    try:
        urls = {role: f"postgresql://{role}:password-of-{role}@127.0.0.1:{port}/deadheat" for role in ROLES.values()}
        until = time.monotonic() + 120
        while True:
            try:
                psycopg.connect(urls[WORKER]).close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None and time.monotonic() < until, (folder / "log").read_text()
                time.sleep(0.1)
        yield urls
    finally:
        server.send_signal(2)
        server.wait(60)
        log.close()


def asked(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(question.encode()).fetchone()
        assert found is not None
        return found[0]


def test_a_league_of_the_superuser_becomes_its_owners_and_services_are_no_superusers(
    folder: Path, tmp_path: Path
) -> None:
    chosen = settings(tmp_path)
    with started(folder) as urls:  # as deployments were before there were roles
        database = Database(chosen.model_copy(update={"database_url": urls[SUPERUSER]}))
        database.migrate()
        database.close()
    with started(folder) as urls:
        for role in (OWNER, SERVICE, WORKER):
            assert asked(urls[role], MIGHTY) is False
            with pytest.raises(psycopg.errors.InsufficientPrivilege), psycopg.connect(urls[role]) as connection:
                connection.execute("COPY alembic_version FROM PROGRAM 'id'")
        database = Database(chosen.model_copy(update={"database_url": urls[OWNER]}))
        database.migrate()
        assert drifted(database) is None
        database.close()
        owners = "SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relkind IN ('r', 'S') "
        owners += "AND relnamespace = 'public'::regnamespace"
        assert asked(urls[OWNER], owners) == OWNER
        assert asked(urls[SERVICE], "SELECT count(*) FROM user_account") == 0
        for role in (SERVICE, WORKER):
            for statement in REFUSED:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    asked(urls[role], statement)


ARCHIVED_SECONDS = 120
OPERATORS = (ROOT / "docs" / "how-to" / "back-up.md").read_text("utf-8")
CONFIGURATION = (DEPLOY / "postgres" / "archive.conf").read_text("utf-8")


@dataclass(frozen=True)
class Machine:
    """A folder that belongs to PostgreSQL's user, and its programs."""

    folder: Path
    user: str

    def run(self, program: str, *arguments: str | Path) -> None:
        programs = postgres.binaries()
        assert programs is not None
        who = {"user": self.user, "group": self.user} if os.geteuid() == 0 else {}
        command = [programs / program, *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **who)  # type: ignore[call-overload]
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    @contextmanager
    def server(self, data: Path) -> Iterator[str]:
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        control = ("-D", data, "-w", "-t", "60")
        self.run("pg_ctl", *control, "-l", self.folder / f"{data.name}.log", "-o", options, "start")
        try:
            yield f"postgresql://league@/postgres?host={quote(str(self.folder), safe='')}"
        finally:
            self.run("pg_ctl", *control, "-m", "fast", "stop")


@pytest.fixture
def machine() -> Iterator[Machine]:
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    folder = Path(tempfile.mkdtemp(prefix="deadheat-archive-"))
    try:
        for name in (folder / "wal", folder / "restored"):
            name.mkdir(mode=0o700)
        if os.geteuid() == 0:
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, user)
        yield Machine(folder, user)
    finally:
        shutil.rmtree(folder)


def names(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.exec(select(User.name).order_by(User.name)))


def archived(url: str) -> None:
    """Finish the piece of the log that is being written, and wait until it is in the archive."""
    with psycopg.connect(url, autocommit=True) as connection:
        (piece,) = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone() or ("",)
        is_there = "SELECT coalesce(last_archived_wal >= %s, false) FROM pg_stat_archiver"
        give_up_at = time.monotonic() + ARCHIVED_SECONDS
        while connection.execute(is_there, [piece]).fetchone() != (True,):
            assert time.monotonic() < give_up_at, "it is not archived"
            time.sleep(0.1)


def test_a_league_is_restored_to_a_moment_and_knows_it(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, base, restored = machine.folder / "data", machine.folder / "base", machine.folder / "restored"
    machine.run("initdb", "-D", data, "-U", "league", "-A", "trust", "-E", "UTF8", "--no-sync")
    with (data / "postgresql.conf").open("a") as file:
        file.write(CONFIGURATION.replace("/backup/", f"{machine.folder}/") + "max_connections = 300\n")
    with machine.server(data) as url, closing(Database(settings(tmp_path, database_url=url))) as league:
        league.migrate()
        with league.transaction() as session:
            sign_up(session, "ada", "a long enough password")
        machine.run("pg_basebackup", "-d", url, "-D", base, "-F", "tar", "-z", "-c", "fast", "-X", "fetch")
        with league.transaction() as session:
            sign_up(session, "bob", "a long enough password")
        with psycopg.connect(url) as connection:
            (moment,) = connection.execute("SELECT clock_timestamp()").fetchone() or ("",)
        with league.transaction() as session:
            sign_up(session, "eve", "a long enough password")
        assert names(league) == ["ada", "bob", "eve"]
        archived(url)
    shutil.rmtree(data)

    subprocess.run(["tar", "-xzf", base / "base.tar.gz", "-C", restored], check=True)
    told = re.findall(
        r"^    (restore_command = .*|recovery_target_action = .*|max_connections = .*)$", OPERATORS, re.MULTILINE
    )
    assert len(told) == 3
    with (restored / "postgresql.conf").open("a") as file:
        file.write("\n".join(told).replace("/backup/", f"{machine.folder}/"))
        file.write(f"\nrecovery_target_time = '{moment}'\n")
    (restored / "recovery.signal").touch()
    with machine.server(restored) as url:
        monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "there"))
        monkeypatch.setenv("DEADHEAT_DATABASE_URL", url)
        succeeded(invoke("backup", str(tmp_path / "backups")))
    monkeypatch.delenv("DEADHEAT_DATABASE_URL")
    succeeded(invoke("restore", str(tmp_path / "backups")))
    with closing(Database(settings(tmp_path / "there"))) as league:
        assert names(league) == ["ada", "bob"]
        with league.reading() as session:
            assert "league-restored" in session.exec(select(AuditRecord.action)).all()


def test_containers_archive_with_the_same_settings() -> None:
    words = yaml.safe_load((DEPLOY / "compose.archive.yml").read_text())["services"]["postgres"]["command"]
    given = dict(word.replace("$$", "$").split("=", 1) for word in words if "=" in word)
    assert given == {
        name: value.strip("'") for name, value in re.findall(r"^(\w+) = (.*)$", CONFIGURATION, re.MULTILINE)
    }
