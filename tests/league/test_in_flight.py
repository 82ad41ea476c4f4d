"""What is played while a league is migrated to contests goes on, and people see nothing of it.

`in_flight.jsonl.gz` was written by the code before contests (revision 0061): all rows of a league in which an
evaluation, a gate, two requests and a panel were being played, what people saw of it then ("before"), and once that
code had played everything to its end ("after").
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from sqlmodel import col, select

from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.service.exports import Scope, export_page
from deadheat.league.service.people.person import Person
from deadheat.league.service.views import contests
from deadheat.league.service.views import former as views
from deadheat.league.service.views.matches import matches
from deadheat.league.states import ContestKind, JobState, Role
from deadheat.league.tables import Bot, Entry, Series
from deadheat.league.words import Exported
from tests.league.outcomes import won
from tests.league.world import World

pytestmark = pytest.mark.databases

FILE = Path(__file__).parent / "in_flight.jsonl.gz"
LINES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
SEEN = {name: values for name, values in LINES if name in ("before", "after")}
HIGHEST = 20
"""The highest number of a gate, a request or a run against the panel in these views."""


class Migrated(World):
    """A league on a database that has its people and machines."""

    def _begin(self) -> None:
        pass


def stored(value: Any) -> Any:
    if not isinstance(value, dict) or not value.keys() & {"at", "bytes"}:
        return value
    return datetime.fromisoformat(value["at"]) if "at" in value else bytes.fromhex(value["bytes"])


def make(database: Database) -> None:
    """Make the league at revision 0061."""
    with database._migrating() as config:
        command.upgrade(config, "0061")
    schema = sa.MetaData()
    schema.reflect(database.engine)
    with database.engine.begin() as connection:
        for name, values in LINES:
            if name not in SEEN:
                row = {column: stored(value) for column, value in values.items()}
                connection.execute(schema.tables[name].insert().values(row))
        for table in schema.tables.values() if database.engine.dialect.name == "postgresql" else ():
            if "id" in table.c:
                highest = sa.select(sa.func.max(table.c.id)).scalar_subquery()
                counter = sa.func.pg_get_serial_sequence(table.name, "id")
                connection.execute(sa.select(sa.func.setval(counter, highest)))


def seen(world: World, season_id: int = 1) -> dict[str, Any]:
    """Return what people see of a season: its exports, and what is played beside the ladder."""
    found: dict[str, Any] = {}
    with world.db.reading() as session:
        for table in {*Exported} - {Exported.SOURCES, Exported.STANDINGS}:
            rows: list[Any] = []
            after: int | None = 0
            while after is not None:
                page, after = export_page(session, Scope(season_id), table, after)
                rows += page
            found[table.value] = rows
        for bot in session.exec(select(Bot).order_by(col(Bot.id))).all():
            owner = Person(bot.owner_id, "owner", Role.AUTHOR)
            found[f"requests of bot {bot.id}"] = views.asked(session, owner, season_id=season_id)
            found[f"panels of bot {bot.id}"] = views.panel_results(session, owner, bot.id)
            entered = session.exec(select(Entry.id).where(Entry.season_id == season_id, Entry.bot_id == bot.id)).first()
            found[f"gates of bot {bot.id}"] = views.challenges(session, owner, season_id, bot.id) if entered else []
    text = json.dumps(found, default=lambda one: asdict(one) if is_dataclass(one) else str(one), sort_keys=True)  # type: ignore[arg-type]
    return dict(json.loads(text))


def newer_wins(match: MatchJob) -> MatchOutcome:
    return won(match, match.seats.index(max(match.seats)))


def test_what_is_in_flight_goes_on_and_everybody_sees_the_same(empty: Settings, monkeypatch) -> None:
    database = Database(empty)
    make(database)
    with monkeypatch.context() as broken:
        broken.setattr(sa, "MetaData", lambda: 1 / 0)  # after some of its statements
        with pytest.raises(ZeroDivisionError):
            database.migrate()
    database.migrate()
    database.close()
    world = Migrated(empty)
    now = seen(world)
    for name, before in SEEN["before"].items():
        assert now[name] == before, name
    for request in (one for name, rows in SEEN["before"].items() if name.startswith("requests") for one in rows):
        number = request["id"]
        assert world.read(views.asked_challenge, world.boss, number).id == number
        contest_id = world.read(contests.number_of, ContestKind.REQUEST, number)
        assert bool(world.read(matches, contest_id=contest_id)) is bool(request["games_planned"])
    waiting = select(Series.id).where(Series.state == JobState.QUEUED).order_by(col(Series.id))
    world.play_left(world.rows(waiting), newer_wins)
    world.play_all(newer_wins)
    later = seen(world)
    for name, after in SEEN["after"].items():
        assert plain(later[name]) == plain(after), name
    world.close()


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out dice, which are drawn anew, and the numbers of what began after the migration."""
    numbers, dice = {"id", "gate_id", "panel_id"}, {"seed", "commitment"}
    return [
        {
            name: value
            for name, value in row.items()
            if name not in dice and not (name in numbers and (value or 0) >= HIGHEST)
        }
        for row in rows
    ]
