"""The audit log is a chain that reveals every later change."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import func, select

from deadheat.league.service.ground.audit import audit_log, first_broken, record
from deadheat.league.tables import AuditRecord, Match
from tests.league.ground import in_threads, settings
from tests.league.world import World


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

    in_threads(*(partial(write, f"w{number}") for number in range(4)))
    assert world.read(first_broken) is None
    assert world.one(select(func.count()).select_from(AuditRecord)) == 21


@pytest.mark.databases
def test_the_database_agrees_with_the_hash_of_any_text(world: World) -> None:
    letters = [chr(code) for code in (*range(1, 0x180), 0x2028, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F3B2, 0x10FFFF)]
    with world.db.transaction() as session:
        for start in range(0, len(letters), 32):
            some = "".join(letters[start : start + 32])
            record(session, some, "tested", some, {some: some})
        record(session, "", "", "", {})
    assert world.read(first_broken) is None


@pytest.mark.databases
def test_what_belongs_to_a_season_and_what_concerns_a_bot_are_found(world: World) -> None:
    for _ in range(2):
        world.season(2)
        for series_id in world.tick():
            world.finish(world.claimed(series_id))
    with world.db.transaction() as session:
        of_first, of_second = (session.exec(select(Match).where(Match.season_id == one)).first() for one in (1, 2))
        assert of_first is not None and of_second is not None
        for subject in (f"match/{of_first.id}", f"series/{of_first.series_id}", f"match/{of_second.id}"):
            record(session, "boss", "tested", subject)
        record(session, "boss", "tested", "announcement/1", {"season": 1, "title": 'of "season":2,'})
        record(session, "boss", "tested", "season/12", {"bot": 1})

    def tested(thing: str) -> list[str]:
        return [one.subject for one in world.read(audit_log, about=[thing]) if one.action == "tested"]

    assert tested("season/1") == ["announcement/1", f"series/{of_first.series_id}", f"match/{of_first.id}"]
    assert (tested("season/2"), tested("bot/1")) == ([f"match/{of_second.id}"], ["season/12"])
    assert tested("bot/2") == tested("thing") == []


def execute(world: World, statement: str) -> None:
    with world.db.engine.begin() as connection:
        connection.execute(text(statement))


def broken(world: World) -> int | None:
    return world.read(first_broken)
