"""The schema and its migrations fit the tables, and transactions do not disturb each other."""

import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest
from sqlalchemy import event, inspect, make_url, text
from sqlalchemy.exc import DBAPIError, StatementError
from sqlmodel import Session, SQLModel, col, select, update

from deadheat.league.database import Database, _write_ahead, now
from deadheat.league.states import ContestKind, JobState, MatchState, Purpose, SeasonState
from deadheat.league.tables import AuditRecord, Contest, Division, Entry, Match, Participant, Season, Series, User
from tests.league.clock import START
from tests.league.ground import drifted, in_threads, settings
from tests.league.world import World

pytestmark = pytest.mark.databases


def test_the_migrations_make_exactly_the_tables(world: World) -> None:
    assert drifted(world.db) is None


def test_migrating_again_changes_nothing(world: World) -> None:
    before = set(inspect(world.db.engine).get_table_names())
    world.db.migrate()
    assert set(inspect(world.db.engine).get_table_names()) == before == {*SQLModel.metadata.tables, "alembic_version"}


def test_processes_that_migrate_together_wait_for_each_other(tmp_path: Path) -> None:
    def start() -> None:
        database = Database(settings(tmp_path))
        database.migrate()
        database.close()

    in_threads(start, start, start)


def test_a_new_database_is_opened_while_another_process_writes_in_it(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    file = make_url(chosen.database).database
    assert file is not None
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE").close()
        later = threading.Timer(0.3, lambda: other.execute("COMMIT").close())
        later.start()
        database = Database(chosen)
        with database.engine.connect() as connection:
            assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        later.join()
        database.close()


def test_a_database_that_cannot_be_written_is_not_waited_for(tmp_path: Path, monkeypatch) -> None:
    waits = mock.Mock(side_effect=AssertionError("it waits"))
    monkeypatch.setattr("deadheat.league.database.time", mock.Mock(monotonic=time.monotonic, sleep=waits))
    with closing(sqlite3.connect(tmp_path / "file")) as connection:
        connection.execute("CREATE TABLE one (x)").close()
    opened = closing(sqlite3.connect(f"file:{tmp_path}/file?mode=ro", uri=True))
    with opened as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        _write_ahead(connection)


def test_on_postgresql_all_machines_go_by_the_servers_clock(postgres_url: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.league.database.utc_now", lambda: START)  # this machine's clock is wrong
    monkeypatch.setattr("deadheat.league.database.ASK_CLOCK_SECONDS", 3600)  # however long this takes
    database = Database(settings(tmp_path, database_url=postgres_url.format("template1")))
    asked: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    with database.engine.connect() as connection:
        before = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    with database.reading() as session:
        event.listen(session.get_bind(), "before_cursor_execute", lambda *given: asked.append(given[2]))
        times = [now(session) for _ in range(5)]
        after = session.connection().execute(text("SELECT clock_timestamp()")).scalar_one()
    assert [before, *times, after] == sorted([before, *times, after])
    assert len([statement for statement in asked if "clock_timestamp" in statement]) == 3  # `now` asks at intervals
    assert times[0].tzinfo is UTC
    database.close()


def test_a_server_that_fell_silent_is_given_up_soon(postgres_url: str, tmp_path: Path) -> None:
    database = Database(settings(tmp_path, database_url=postgres_url.format("template1")))
    with database.engine.connect() as connection:
        given = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    assert (given["connect_timeout"], given["tcp_user_timeout"], given["keepalives_count"]) == ("5", "10000", "3")
    database.close()
    chosen = Database(settings(tmp_path, database_url=postgres_url.format("template1") + "&connect_timeout=9"))
    with chosen.engine.connect() as connection:
        given = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    assert given["connect_timeout"] == "9"
    chosen.close()


def test_a_reader_sees_one_instant(world: World) -> None:
    with world.db.reading() as reader:
        assert len(reader.exec(select(User)).all()) == 1
        world.author("late")
        assert len(reader.exec(select(User.name)).all()) == 1
    with world.db.reading() as reader:
        assert len(reader.exec(select(User)).all()) == 2


def test_dates_come_back_aware_and_in_utc(world: World) -> None:
    tokyo = datetime(2026, 5, 1, 9, 30, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
    with world.db.transaction() as session:
        session.add(User(name="x", name_key="x", created_at=tokyo))
    found = world.one(select(User.created_at).where(User.name == "x"))
    assert found == tokyo
    assert found.tzinfo is UTC


def test_a_naive_date_is_a_mistake(world: World) -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001  # on purpose
    with pytest.raises(StatementError, match="aware"), world.db.transaction() as session:
        session.add(User(name="x", name_key="x", created_at=naive))


def test_a_failed_transaction_leaves_nothing(world: World) -> None:
    def fail(session: Session) -> None:
        session.add(User(name="x", name_key="x", created_at=START))
        session.flush()
        raise RuntimeError("no")

    world.refused(RuntimeError, fail)
    with world.db.reading() as session:
        assert session.exec(select(User).where(User.name == "x")).first() is None


def test_readers_do_not_wait_for_a_writer(world: World) -> None:
    with world.db.transaction() as writer:
        writer.add(User(name="x", name_key="x", created_at=START))
        writer.flush()
        with world.connect().reading() as reader:
            assert reader.exec(select(User).where(User.name == "x")).first() is None


def test_writers_that_read_first_stand_in_line(world: World) -> None:
    """A deferred transaction would fail here, because another one writes between its read and its write."""
    world.season(0)
    before = world.one(select(Season.log_serial))

    def add(session: Session) -> None:
        session.exec(select(Season).with_for_update()).one().log_serial += 1

    world.at_once(add, add)
    assert world.one(select(Season.log_serial)) == before + 2


def test_the_audit_log_cannot_be_changed_even_by_its_owner(world: World) -> None:
    with closing(Database(world.settings)) as owned:
        for statement in ("UPDATE audit_log SET actor = 'nobody'", "DELETE FROM audit_log"):
            with pytest.raises(DBAPIError, match="append-only"), owned.engine.begin() as connection:
                connection.execute(text(statement))
    assert world.rows(select(AuditRecord.actor)) == ["system"]


def season_with(**values: Any) -> Season:
    plain: dict[str, Any] = {"game": "g", "name": "n", "name_key": "n", "created_at": START}
    return Season(**(plain | values))


def series_with(**values: Any) -> Series:
    return Series(season_id=1, queued_at=START, nudge_at=START, created_at=START, **values)


def gate_with(**values: Any) -> Contest:
    plain: dict[str, Any] = {
        "season_id": 1,
        "kind": ContestKind.GATE,
        "entry_id": 1,
        "matches": 400,
        "terms": {},
        "candidate_id": 1,
    }
    return Contest(**(plain | {"created_at": START} | values))


def wrong_rows(series_id: int) -> dict[str, tuple[SQLModel, str]]:
    """Return rows that the database must refuse, each with what its message names."""

    def match(**values: Any) -> Match:
        plain: dict[str, Any] = {"series_id": series_id, "season_id": 1, "number": 99, "seed": b"", "commitment": ""}
        return Match(created_at=START, **(plain | values))

    def sits(**values: Any) -> Participant:
        return Participant(**({"match_id": 1, "seat": 2, "version_id": 3, "bot_id": 3} | values))

    return {
        "done without a transcript": (match(state=MatchState.DONE, finished_at=START), "ck_match_transcript"),
        "a transcript of a match that is not done": (match(transcript_sha256="a" * 64), "ck_match_transcript"),
        "a rated match that is not done": (match(rated=True), "ck_match_rated"),
        "a scheduled match that has finished": (match(finished_at=START), "ck_match_finished"),
        "two matches of one number": (match(number=0), r"match\.number|uq_match_series_id_number"),
        "a series that runs without a lease": (series_with(state=JobState.RUNNING), "ck_series_lease"),
        "a lease on a series that does not run": (series_with(lease_until=START), "ck_series_lease"),
        "one version on two seats": (sits(version_id=1, bot_id=1), r"version_id.*match_id"),
        "two versions on one seat": (sits(seat=0), r"participant\.seat|pk_participant"),
        "a version of another bot": (sits(bot_id=1), r"FOREIGN KEY|fk_participant_version_id_bot_id"),
        "a participant of no match": (sits(match_id=999), r"FOREIGN KEY|fk_participant_match_id"),
        "a season that closes before it opens": (season_with(opens_at=START, closes_at=START), "ck_season_dates"),
        "an unknown state": (season_with(state=cast(SeasonState, "paused")), "ck_season_state"),
        "a season that freezes before it opens": (
            season_with(opens_at=START, freezes_at=START - timedelta(days=1)),
            "ck_season_opens_at_freezes_at",
        ),
        "finals before the freeze": (season_with(freezes_at=START, finals_at=START), "ck_season_freezes_at_finals_at"),
        "a table of one": (season_with(seats=1), "ck_season_seats"),
        "finals of one": (season_with(finals_top=1), "ck_season_finals_top"),
        "a quota of nothing": (season_with(versions_per_day=0), "ck_season_versions_per_day"),
        "a division of one": (Division(season_id=1, number=2, name="x", size=1), "ck_division_size"),
        "a division above the first": (Division(season_id=1, number=0, name="x"), "ck_division_number"),
        "a gate of nobody": (gate_with(entry_id=None), "ck_contest_entry"),
        "a gate that somebody asked for": (gate_with(asker_id=1), "ck_contest_asker"),
        "a private gate": (gate_with(private=True), "ck_contest_private"),
        "a gate with a number of evaluations": (gate_with(number=1), "ck_contest_evaluation"),
        "a gate that is played and has ended": (gate_with(ended_at=START), "ck_contest_ended"),
        "a series at a gate without a meeting": (series_with(purpose=Purpose.CHALLENGE), "ck_series_meeting"),
    }


def test_the_database_refuses(world: World, subtests: pytest.Subtests) -> None:
    world.season()
    series_id = world.tick()[0]
    world.bot()
    for case, (row, named) in wrong_rows(series_id).items():
        with subtests.test(case), pytest.raises(DBAPIError, match=named), world.db.transaction() as session:
            session.add(row)


def test_an_entry_is_in_a_division_that_its_season_has(world: World) -> None:
    season_id = world.season(1)
    with pytest.raises(DBAPIError, match=r"(?i)foreign key"), world.db.transaction() as session:
        session.exec(select(Entry).where(Entry.season_id == season_id)).one().division = 2


def test_a_place_in_the_finals_is_taken_once(world: World) -> None:
    season_id = world.season(2)
    everyone = update(Entry).where(col(Entry.season_id) == season_id).values(finals_seed=1)
    with pytest.raises(DBAPIError, match=r"(?i)unique"), world.db.transaction() as session:
        session.exec(everyone)
