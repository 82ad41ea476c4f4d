"""A migrated league keeps its data and what they mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text
from sqlmodel import select

from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.states import Purpose, SeasonState
from deadheat.league.tables import Entry, Match, RatingSnapshot, Season, Series
from tests.league.ground import drifted, settings

pytestmark = pytest.mark.databases

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
