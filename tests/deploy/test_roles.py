"""The deployment's PostgreSQL, started by the entrypoint of its image: who owns what, and who may do what."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from deadheat.league.database import Database
from deadheat.league.storage.schema import SERVICE, WORKER
from tests.cli.command import ROOT
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
