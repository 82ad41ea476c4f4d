"""What the database's roles may do, on a real PostgreSQL: a worker plays and builds with its own."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from deadheat.cli.operator.doctor import MachineRole, Verdict, look
from deadheat.league.causes import Cause
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.records.matches import Over
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.ground.audit import audit_log, first_broken, record
from deadheat.league.service.tables import entering, places, queueing
from deadheat.league.service.tables.sitting import Agent
from deadheat.league.service.views.timeouts import timeouts
from deadheat.league.states import JobState, MatchState, TableState
from deadheat.league.storage.schema import HIDDEN, SERVICE, WORKER, WORKERS
from deadheat.league.tables import Match
from deadheat.league.verification.fairness import GENESIS, record_sha256
from deadheat.workers.play import play_series
from tests.league.conftest import execute, postgres_url  # noqa: F401  a fixture
from tests.league.ground import settings
from tests.workers.conftest import PlayingWorld
from tests.workers.test_play import assert_played_once
from tests.workers.test_tables import answering, beside_the_house

ADMIN = "league"
"""The superuser of the tests' server, who owns the tables of their databases."""


@pytest.fixture
def world(tmp_path: Path, unhurried: None, postgres_url: str) -> Iterator[PlayingWorld]:  # noqa: F811  the fixture
    execute(postgres_url, "CREATE DATABASE roles TEMPLATE template STRATEGY FILE_COPY")
    made = PlayingWorld(
        settings(tmp_path, sandbox="local", match_attempts=3, database_url=postgres_url.format("roles"))
    )
    yield made
    made.close()
    execute(postgres_url, "DROP DATABASE roles WITH (FORCE)")


def chosen(world: PlayingWorld, role: str) -> Settings:
    url = world.settings.database_url.replace(f"://{ADMIN}@", f"://{role}@")
    return world.settings.model_copy(update={"database_url": url})


def refused(world: PlayingWorld, role: str, *statements: str) -> None:
    with closing(Database(chosen(world, role))) as database:
        for statement in statements:
            with pytest.raises(ProgrammingError) as error, database.engine.begin() as it:
                it.execute(text(statement))
            assert isinstance(error.value.orig, InsufficientPrivilege), statement


def test_a_worker_plays_a_series_with_its_role_and_reads_no_secret(world: PlayingWorld) -> None:
    with world.context.database.reading() as session:
        assert session.connection().execute(text("SELECT current_user")).scalar_one() == WORKER
    series_id = world.queued(2)
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.DONE
    assert_played_once(world, series_id)
    columns = ((table, column) for table, hidden in HIDDEN.items() for column in hidden)
    refused(
        world,
        WORKER,
        *(f"SELECT {column} FROM {table}" for table, column in columns),
        *(f"SELECT * FROM {table}" for table in ("token", "identity", "newcomers", "appeal", "delivery")),
        "UPDATE user_account SET role = 'admin'",
        "UPDATE season SET state = 'closed'",
        "INSERT INTO token (label) VALUES ('')",
        "UPDATE audit_log SET actor = 'me'",
        "DELETE FROM audit_log",
        "UPDATE notice SET user_id = 1",
        "DELETE FROM notice",
        "CREATE TABLE mine (number int)",
        "COPY alembic_version FROM PROGRAM 'true'",
    )


def test_a_worker_with_its_own_role_finishes_a_rated_table_and_gives_one_up(world: PlayingWorld) -> None:
    ada, table_id = beside_the_house(world)
    asked = len(answering(world, ada, table_id))
    (counted,) = world.read(timeouts, None, Over.DAY, []).agents
    assert (counted.season_id, counted.turns, counted.late, counted.absent) == (1, asked, 0, 0)
    assert world.row(Match, 1).state is MatchState.DONE
    again = world.write(entering.queue, ada, 1, Agent("mine"), world.context.blobs.put(b"mine\n"))
    world.clock.turn(queueing.HOUSE_AFTER.total_seconds())
    assert world.write(queueing.sit_in, again)
    assert world.worked(places.abandon, again, TableState.QUEUED, Cause.NO_WORKER)
    assert world.row(Match, 2).state is MatchState.ABANDONED


FORGED: dict[str, dict[str, str]] = {
    "a false hash": {"sha256": "f" * 64},
    "the first record's hash": {"sha256": GENESIS},
    "no hash": {"sha256": ""},
    "a record before the newest": {"prev_sha256": GENESIS},
    "data that are no object": {"data": "[]"},
    "data that are no JSON": {"data": "{"},
    "a match without a number": {"subject": "match/x"},
    "a day that is none": {"at": "2026-02-30T00:00:00+00:00"},
    "no instant": {"at": "yesterday"},
    "a leap second": {"at": "2026-02-20T23:59:60+00:00"},
}


@pytest.mark.parametrize("what", FORGED)
def test_a_worker_cannot_add_what_stops_or_breaks_the_log(what: str, world: PlayingWorld) -> None:
    with world.db.transaction() as session:
        record(session, "boss", "tested", "thing/1")
    (newest,) = world.read(audit_log, limit=1)
    values = asdict(newest) | {"prev_sha256": newest.sha256, "data": "{}"} | FORGED[what]
    if "sha256" not in FORGED[what]:
        values["sha256"] = record_sha256(AuditRecord(**values))
    del values["id"]
    insert = text(f"INSERT INTO audit_log ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})")
    with closing(Database(chosen(world, WORKER))) as database:
        with pytest.raises(DBAPIError), database.engine.begin() as it:
            it.execute(insert, values)
        with database.transaction() as session:
            record(session, "worker", "tested", "thing/2")
    with world.db.transaction() as session:
        record(session, "boss", "tested", "thing/3")
    assert [one.id for one in world.read(audit_log, limit=3)] == [newest.id + 2, newest.id + 1, newest.id]
    assert world.read(first_broken) is None


@pytest.mark.parametrize("role", [SERVICE, WORKER])
def test_no_role_numbers_the_records_of_the_log(role: str, world: PlayingWorld) -> None:
    refused(world, role, "INSERT INTO audit_log (id) VALUES (2147483647)")


def test_a_temporary_table_does_not_stand_in_for_the_log(world: PlayingWorld) -> None:
    with world.db.transaction() as session:
        record(session, "boss", "tested", "thing/1")
    with closing(Database(chosen(world, WORKER))) as database, database.engine.connect() as it:
        it.execute(text("CREATE TEMPORARY TABLE audit_log (id int, sha256 text)"))
        of_another = {"prev_sha256": GENESIS, "data": "{}", "subject": "", "action": "", "actor": ""}
        forged = AuditRecord(id=0, at="2026-01-01T00:00:00+00:00", sha256="", **of_another)
        values = of_another | {"at": forged.at, "sha256": record_sha256(forged)}
        names = ", ".join(values), ", ".join(f":{name}" for name in values)
        with pytest.raises(DBAPIError, match="does not continue audit_log"):
            it.execute(text(f"INSERT INTO public.audit_log ({names[0]}) VALUES ({names[1]})"), values)


def test_roles_draw_numbers_only_for_rows_that_they_add(world: PlayingWorld) -> None:
    refused(world, WORKER, *(f"SELECT nextval('{table}_id_seq')" for table in ("token", "bot", "season")))
    refused(world, SERVICE, "SELECT setval('token_id_seq', 1)")


def test_the_service_appends_to_the_audit_log_and_changes_no_table(world: PlayingWorld) -> None:
    world.season(2)
    with world.db.reading() as session:
        assert session.connection().execute(text("SELECT count(*) FROM audit_log")).scalar_one() > 0
    refused(
        world,
        SERVICE,
        "UPDATE audit_log SET actor = 'me'",
        "DELETE FROM audit_log",
        "TRUNCATE audit_log",
        "ALTER TABLE audit_log DISABLE TRIGGER ALL",
        "DROP TABLE live_match",
        "UPDATE alembic_version SET version_num = ''",
        "CREATE TABLE mine (number int)",
        "COPY alembic_version FROM PROGRAM 'true'",
    )


def test_a_service_that_migrates_a_current_schema_does_no_harm(world: PlayingWorld) -> None:
    with closing(Database(chosen(world, SERVICE))) as database:
        database.migrate()
    world.season(2)


def test_workers_are_granted_tables_that_exist(world: PlayingWorld) -> None:
    with world.db.reading() as session:
        tables = session.connection().execute(text("SELECT relname FROM pg_class WHERE relkind = 'r'")).scalars().all()
    assert WORKERS.keys() <= {*tables} and HIDDEN.keys() <= WORKERS.keys()


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (ADMIN, "run any program on the database's machine"),
        ("owning", "change the tables and the audit log"),
        (SERVICE, ""),
        (WORKER, ""),
    ],
)
def test_the_doctor_remarks_on_a_role_that_may_too_much(role: str, may: str, world: PlayingWorld) -> None:
    with closing(Database(world.settings)) as database, database.engine.begin() as it:
        it.execute(text("CREATE ROLE owning LOGIN"))
        it.execute(text("ALTER TABLE audit_log OWNER TO owning"))
    found = [finding for finding in look(chosen(world, role), MachineRole.SCHEDULER) if finding.about == "database"]
    remarks = [finding.text for finding in found if finding.verdict is Verdict.REMARK]
    assert remarks == ([f"Whoever takes over this process can {may}."] if may else [])
    with closing(Database(world.settings)) as database, database.engine.begin() as it:
        it.execute(text("ALTER TABLE audit_log OWNER TO CURRENT_USER"))
        it.execute(text("DROP OWNED BY owning"))
        it.execute(text("DROP ROLE owning"))
