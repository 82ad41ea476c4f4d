"""A migrated league keeps its data and what they mean; no migration loses or changes anything."""

import gzip
import json
from dataclasses import asdict, is_dataclass
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlmodel import SQLModel, col, select

from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.service.exports import Scope, export_page
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.games import announce_games
from deadheat.league.service.series.hosts import host_seen
from deadheat.league.service.views import contests
from deadheat.league.service.views import former as views
from deadheat.league.service.views.matches import matches
from deadheat.league.states import ContestKind, JobState, Purpose, Role, SeasonState
from deadheat.league.tables import Bot, Entry, Match, RatingSnapshot, Season, Series
from deadheat.league.words import Exported
from tests.league.filled import Filled, fill, filled, reflected
from tests.league.ground import drifted, settings
from tests.league.outcomes import won
from tests.league.world import World

pytestmark = pytest.mark.databases


def test_no_migration_loses_or_changes_anything_and_the_newest_code_reads_it(empty: Settings, monkeypatch) -> None:
    database = Database(empty)
    with database._migrating() as config:
        scripts = ScriptDirectory.from_config(config)
    monkeypatch.setattr(ScriptDirectory, "from_config", lambda config: scripts)  # loading them again costs seconds
    schema, before = sa.MetaData(), list[Filled]()
    for revision in [script.revision for script in scripts.walk_revisions()][::-1]:
        with database._migrating() as config:
            command.upgrade(config, revision)
        with database.engine.begin() as connection:
            known, schema = schema, reflected(connection, schema)
            kept(revision, before, list(filled(connection, schema)))
            fill(connection, known, schema)
            before = list(filled(connection, schema))
        everywhere(revision, before, schema)
    assert drifted(database) is None
    with database.reading() as session:
        for mapper in SQLModel._sa_registry.mappers:
            found = session.exec(select(mapper.class_)).all()
            assert found, mapper.class_
            assert all(row.model_dump() for row in found)
    database.close()


def kept(revision: str, before: list[Filled], after: list[Filled]) -> None:
    """Check that every earlier row still has its values."""
    found = {(row.table, row.key): row.values for row in after}
    if revision in MOVED:
        before = [moved for row in before for moved in MOVED[revision](row)]
    for row in before:
        now = found[row.table, row.key]
        assert {name: now[name] for name in row.values} == row.values, f"{revision} changed {row.table} {row.key}"


def to_meetings(row: Filled) -> list[Filled]:
    """Return where a row is after 0060."""
    values = {**row.values}
    if row.table == "series":
        values["meeting_id"] = values.pop("pairing_id")
        return [Filled("series", row.key, values)]
    if row.table != "evaluation_pairing":
        return [row]
    place = {name: values[name] for name in ("id", "evaluation_id", "round", "board")}
    seats = [(values[f"{one}_id"], values[f"{one}_points"]) for one in ("first", "second")]
    players = [
        Filled("meeting_player", (row.key[0], seat), {"version_id": version, "points": points})
        for seat, (version, points) in enumerate(seats)
        if version is not None
    ]
    return [Filled("meeting", row.key, {**place, "settled": values["first_points"] is not None}), *players]


def to_contests(row: Filled) -> list[Filled]:
    """Return where a row is after 0062."""
    values, table = {**row.values}, row.table.replace("evaluation", "contest")
    if table == "contest":
        values["kind"] = "evaluation" if values["stage"] is None else "stage"
    if "evaluation_id" in values:
        values["contest_id"] = values.pop("evaluation_id")
    return [Filled(table, row.key, values)]


def to_one_contest(row: Filled) -> list[Filled]:
    """Return where a row is after 0063, unless the tests of rows in flight look at what becomes of it."""
    if row.table != "series":
        return [] if row.table in ("challenge", "panel_run") else [row]
    values = {**row.values}
    if (challenge_id := values.pop("challenge_id")) is not None:
        values["meeting_id"] = challenge_id + 2  # the meetings that were there
    return [Filled("series", row.key, values)]


def to_game_tables(row: Filled) -> list[Filled]:
    """Return where a row is after 0066: a match of a person has a seat for each player."""
    if row.table != "exhibition":
        return [row]
    values = {**row.values}
    person = {name: values.pop(name) for name in ("user_id", "open_user_id", "resigned", "fault")}
    version_id, seat, asked_at = (values.pop(name) for name in ("version_id", "seat", "asked_at"))
    line = values.pop("answer")
    reply = json.dumps([seat, line, 0, None, None, 0], separators=(",", ":")) if values["state"] == "running" else None
    person |= {"kind": "person", "version_id": None, "ready_at": asked_at, "delivered_at": asked_at, "reply": reply}
    program = {"kind": "program", "version_id": version_id, "user_id": None}
    seats = [(number, person if number == seat else program) for number in range(values["seats"])]
    of_it = [Filled("table_seat", (*row.key, number), sitting) for number, sitting in seats]
    return [Filled("game_table", row.key, values), *of_it]


MOVED = {"0060": to_meetings, "0062": to_contests, "0063": to_one_contest, "0066": to_game_tables}
"""Where the rows of a migration that moves them are after it."""


def everywhere(revision: str, there: list[Filled], schema: sa.MetaData) -> None:
    """Check that every table has a row and every column a value, so that everything is compared."""
    found: dict[str, set[str]] = {}
    for row in there:
        found.setdefault(row.table, set()).update(name for name, value in row.values.items() if value is not None)
    tables = {table.name: set(table.columns.keys()) for table in schema.tables.values()}
    del tables["alembic_version"]
    assert found == tables, revision


AT = "2026-01-01 12:00:00.000000+00:00"

FIRST_LEAGUE: tuple[tuple[str, dict[str, object]], ...] = (
    ("user_account", {"id": 7, "name": "ada", "name_key": "ada", "role": "author", "created_at": AT}),
    ("bot", {"id": 3, "owner_id": 7, "game": "yacht-auction", "name": "b", "name_key": "b", "created_at": AT}),
    (
        "bot_version",
        {"id": 5, "bot_id": 3, "number": 1, "filename": "bot.py", "size_bytes": 1, "source_sha256": ""}
        | {"language": "python", "entry": "", "created_at": AT, "state": "ready", "attempt": 1, "queued_at": AT}
        | {"nudge_at": AT, "reason": "", "log": "", "program_sha256": ""},
    ),
    (
        "season",
        {"id": 2, "game": "yacht-auction", "name": "Winter", "name_key": "winter", "state": "open"}
        | {"series_length": 10, "log_serial": 4, "rated_serial": 4, "created_at": AT},
    ),
    ("division", {"season_id": 2, "number": 1, "name": "A"}),
    ("entry", {"id": 9, "season_id": 2, "bot_id": 3, "version_id": 5, "follows": True, "created_at": AT}),
    (
        "series",
        {"id": 4, "season_id": 2, "state": "queued", "attempt": 0, "queued_at": AT, "nudge_at": AT, "created_at": AT},
    ),
    (
        "match",
        {"id": 6, "series_id": 4, "season_id": 2, "number": 0, "seed": b"", "commitment": "", "state": "done"}
        | {"rated": True, "transcript_sha256": "", "created_at": AT, "finished_at": AT},
    ),
    ("participant", {"match_id": 6, "seat": 1, "version_id": 5, "bot_id": 3, "rank": 1}),
    (
        "rating_snapshot",
        {"id": 1, "season_id": 2, "log_sha256": "", "config": "{}", "standings": "{}", "created_at": AT},
    ),
)
"""The rows of a league that has played, in the schema of the first release."""


def make_first_league(database: Database) -> None:
    """Make the schema of the first release, and fill it with `FIRST_LEAGUE`."""
    with database._migrating() as config:
        command.upgrade(config, "0023")
    with database.engine.begin() as connection:
        for name, values in FIRST_LEAGUE:
            places = ", ".join(f":{column}" for column in values)
            connection.execute(text(f"INSERT INTO {name} ({', '.join(values)}) VALUES ({places})"), values)


def test_a_season_of_the_first_release_goes_on_as_it_was(empty: Settings) -> None:
    first_league = Database(empty)
    make_first_league(first_league)
    first_league.migrate()
    assert drifted(first_league) is None
    with first_league.reading() as session:
        season = session.exec(select(Season)).one()
        entry = session.exec(select(Entry)).one()
        assert (season.state, season.seats, season.ladder, season.stages) == (SeasonState.OPEN, 2, True, None)
        assert (season.log_serial, season.rated_serial) == (4, 4)
        assert (entry.id, entry.follows, entry.division, entry.gate) == (9, True, 1, None)
        assert session.exec(select(Series.purpose)).all() == [Purpose.LADDER]
        assert session.exec(select(Match.rated, Match.asked)).all() == [(True, None)]
        assert session.exec(select(RatingSnapshot.id, RatingSnapshot.whole)).all() == [(1, True)]
    first_league.close()


def test_a_file_that_the_first_release_wrote_itself_is_brought_up_to_date(tmp_path: Path) -> None:
    """0.2.0 indented its tables with tabs, and the schema in one piece does not."""
    first_league = Database(settings(tmp_path))
    make_first_league(first_league)
    with first_league.engine.begin() as connection:
        connection.execute(text("PRAGMA writable_schema = ON"))
        as_written = text("UPDATE sqlite_master SET sql = replace(sql, :ours, :theirs) WHERE type = 'table'")
        connection.execute(as_written, {"ours": ",\n    ", "theirs": ", \n\t"})
        connection.execute(text("PRAGMA writable_schema = RESET"))
    first_league.migrate()
    assert drifted(first_league) is None
    first_league.close()


FILE = Path(__file__).parent / "in_flight.jsonl.gz"
LINES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
SEEN = {name: values for name, values in LINES if name in ("before", "after")}
HIGHEST = 20
"""The highest number of a gate, a request or a run against the panel in these views."""


class Migrated(World):
    """A league on a database that has its people and machines, when API and worker start with the games of today."""

    def _begin(self) -> None:
        with self.db.transaction() as session:
            announce_games(session)
        with self.work.transaction() as session:
            host_seen(session, self.host)


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
    told = dict(json.loads(text))
    panels = [row for name in told if name.startswith("panels of") for row in told[name]]
    asked = [row for name in told if name.startswith("requests of") for row in told[name]]
    for rows, newer in (  # than what was recorded
        ([each for row in panels for each in row["opponents"]], ("opponent_faults", "llr", "outcome")),
        (panels, ("elo0", "elo1", "llr")),
        (asked, ("opponents",)),
        (told["season"], ("panel_test", "players", "move_seconds")),
    ):
        for row, name in product(rows, newer):
            del row[name]
    return told


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
        contest_id = world.read(contests.must_see, world.boss, number, ContestKind.REQUEST).id
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
