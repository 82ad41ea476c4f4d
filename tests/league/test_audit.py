"""The log of decisions: chained, and every later change shows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import func, select

from deadheat.league.service.ground.audit import first_broken, record
from deadheat.league.tables import AuditRecord
from tests.league.world import World, settings


def test_a_change_below_the_database_is_found(tmp_path: Path) -> None:
    world = World(settings(tmp_path))
    world.season(2)
    for trigger in ("audit_log_no_update", "audit_log_no_delete"):
        execute(world, f"DROP TRIGGER {trigger}")
    assert broken(world) is None
    execute(world, "UPDATE audit_log SET actor = actor || 'x' WHERE id = 3")
    assert broken(world) == 3
    execute(world, "UPDATE audit_log SET actor = rtrim(actor, 'x') WHERE id = 3")
    assert broken(world) is None
    execute(world, "DELETE FROM audit_log WHERE id = 2")
    assert broken(world) == 3
    world.close()


@pytest.mark.databases
def test_records_written_at_once_still_form_one_chain(world: World) -> None:
    def write(name: str) -> None:
        db = world.connect()
        for number in range(5):
            with db.transaction() as session:
                record(session, name, "tested", f"thing/{number}", {"n": number})

    threads = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with world.db.reading() as session:
        assert first_broken(session) is None
        assert session.exec(select(func.count()).select_from(AuditRecord)).one() == 21


def execute(world: World, statement: str) -> None:
    with world.db.engine.begin() as connection:
        connection.execute(text(statement))


def broken(world: World) -> int | None:
    return world.read(first_broken)
