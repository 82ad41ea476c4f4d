"""A series costs a handful of statements, however many matches it has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import Session

from deadheat.league.jobs import SeriesJob
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings import appeals, rulings
from deadheat.league.service.seasons.seasons import seasons
from deadheat.league.service.series import carrying_out, turns
from deadheat.league.service.views import voids
from deadheat.league.states import SeasonState
from tests.league.ground import settings
from tests.league.world import World

MOST = {"plan": 25, "claim": 7, "renew": 1, "finish": 14, "sweep": 1, "rank": 10}
"""The most statements per step in a season of two bots; most of those in planning serve all its series, and
one of a claim says which season's turn it is."""


def statements(world: World, act: Callable[[], object]) -> int:
    """Count the statements that reach the database; each part of a batch that is sent in parts counts."""
    asked: list[str] = []

    def note(*arguments: object) -> None:
        asked.append(str(arguments[2]))

    engine = world.write(Session.get_bind)
    event.listen(engine, "before_cursor_execute", note)
    act()
    event.remove(engine, "before_cursor_execute", note)
    return sum(not statement.startswith("BEGIN") for statement in asked)


@pytest.mark.databases
def test_a_series_costs_as_many_statements_whatever_its_length(world: World) -> None:
    """Compare series of 4 and 50 matches, each in its own season, from planning to ranking."""
    short, long = (_of_a_series(world, length) for length in (4, 50))
    assert short == long
    assert {step: count for step, count in long.items() if count > MOST[step]} == {}


def _of_a_series(world: World, length: int) -> dict[str, int]:
    season_id = world.season(2, games_per_pair=length, series_length=length)
    jobs: list[SeriesJob | None] = []
    steps: dict[str, Callable[[], object]] = {
        "plan": world.tick,
        "claim": lambda: jobs.append(world.write(turns.claim_next_series, 0, "w1", world.host)),
        "renew": lambda: world.write(carrying_out.renew_series, _only(jobs)),
        "finish": lambda: world.finish(_only(jobs)),
        "sweep": lambda: world.write(sweep),
        "rank": lambda: world.write(refit, season_id),
    }
    found = {step: statements(world, act) for step, act in steps.items()}
    assert len(_only(jobs).matches) == length
    world.set_state(season_id, SeasonState.CLOSED)
    return found


def _only(jobs: list[SeriesJob | None]) -> SeriesJob:
    (job,) = jobs
    assert job is not None
    return job


LARGE = {"match", "series", "participant", "attempt", "bot_version", "exhibition", "audit_log", "challenge"}
"""Tables that grow with what is played and uploaded."""

FEW = "USING INDEX ix_match_held"
"""The index of held matches, which may be scanned because they are few."""


def test_a_sweep_and_the_desk_read_large_tables_by_their_indexes(tmp_path: Path) -> None:
    """Both run again and again, so neither may read a table as a whole."""
    world = World(settings(tmp_path))
    world.season(3, series_length=2, games_per_pair=2)
    world.tick()
    asked: list[tuple[str, Any]] = []
    for use in (world.read, world.write):
        event.listen(use(Session.get_bind), "before_cursor_execute", lambda *given: asked.append(given[2:4]))
    world.write(sweep)
    with world.db.reading() as session:
        voids.decisions(session, world.boss, seasons(session))
        rulings.held_by_game(session)
        rulings.held_matches(session, world.boss, 50)
        voids.flagged_voids(session, world.boss, [1])
        appeals.waiting_appeals(session, world.boss, after=0, limit=50)
        scanned = {
            row[3]
            for statement, given in tuple(asked)
            if statement.startswith("SELECT")
            for row in session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)
            if row[3].startswith("SCAN") and row[3].split()[1] in LARGE and not row[3].endswith(FEW)
        }
    world.close()
    assert len(asked) > 6
    assert scanned == set()
