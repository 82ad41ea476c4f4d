"""What a claim, a planning and a sweep cost while few series wait, and while a hundred times as many do.

    ./scripts/bench growth [--short]

On SQLite, in one process and in turns: CPU time of each step, the median. The series wait in one season, and a planning
fills another one, whose series have all been played. Beside it is shown how SQLite finds the series: whatever it reads
as a whole grows with the queue.
"""

import statistics
import sys
import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import select as columns
from sqlalchemy.dialects import sqlite
from sqlmodel import Session, col, func, select

from deadheat.league.service.ground.steps import insert_rows, set_values
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.series.games import games_here
from deadheat.league.service.series.turns import claim_next_series, oldest
from deadheat.league.states import JobState
from deadheat.league.tables import Match, Participant, Series
from tests.benchmarks.leagues import leagues
from tests.benchmarks.targets import Targets, arguments
from tests.league.clock import START
from tests.league.ground import HOST
from tests.league.world import World

FEW, MANY = 1_000, 100_000
TARGET = 1.05


def main() -> int:
    short = arguments(__doc__, "a tenth of the series and fewer rounds").parse_args().short
    few, many, rounds = (FEW, MANY // 10, 20) if short else (FEW, MANY, 100)
    targets = Targets(short)
    with leagues(2) as made:
        worlds = dict(zip((few, many), made, strict=True))
        for count, world in worlds.items():
            fill(world, count)
        compare(worlds, rounds, targets)
        print(*plan_of_claim(worlds[many]), sep="\n")
    return targets.report()


def compare(worlds: dict[int, World], rounds: int, targets: Targets) -> None:
    few, many = worlds
    steps: dict[str, Callable[[World], object]] = {
        "claim": lambda world: world.write(claim_next_series, 0, "w1", HOST),
        "plan": World.tick,
        "sweep": lambda world: world.write(sweep),
    }
    spent_ms: dict[tuple[str, int], list[float]] = {(step, count): [] for step in steps for count in worlds}
    for turn in range(rounds):
        for step, act in steps.items():
            for count in (few, many) if turn % 2 else (many, few):  # the second run finds warm caches
                world = worlds[count]
                if step == "plan":
                    world.write(_play)
                began_ns = time.process_time_ns()
                act(world)
                spent_ms[step, count].append((time.process_time_ns() - began_ns) / 1e6)
    for step in steps:
        before, after = (statistics.median(spent_ms[step, count]) for count in (few, many))
        times = targets.shown(step, after / before, most=TARGET)
        print(f"{step:6} {before:7.2f} ms at {few}, {after:7.2f} at {many}: {times}")


def plan_of_claim(world: World) -> list[str]:
    """Tell how SQLite finds the oldest series that waits."""
    asked = oldest(games_here(), "sqlite").compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    with world.db.reading() as session:
        found = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}").all()
    return sorted({f"    {row[3]}" for row in found if "series" in row[3]})


def fill(world: World, waiting: int) -> None:
    """Make a season in which that many more series wait than it plans, and one to plan."""
    for _ in range(2):
        world.season(20, games_per_pair=None)
        world.tick()
    world.write(_copy, waiting)


def _play(session: Session) -> None:
    """End all series of the second season."""
    over = {"state": JobState.DONE, "finished_at": START, "lease_until": None}
    set_values(session, Series, col(Series.season_id) == 2, **over)


def _copy(session: Session, waiting: int) -> None:
    """Copy the first series, with one match each."""
    series, match = (
        dict(session.connection().execute(columns(table.__table__).limit(1)).mappings().one())  # type: ignore[union-attr]
        for table in (Series, Match)
    )
    seated = session.exec(select(Participant).where(Participant.match_id == match["id"])).all()
    first, first_match = (session.exec(select(func.max(col(table.id)))).one() + 1 for table in (Series, Match))
    numbers = range(waiting)
    later = {"nudge_at": series["queued_at"] + timedelta(days=1)}
    rows = [
        {**series, **later, "id": first + n, "queued_at": series["queued_at"] + timedelta(milliseconds=n)}
        for n in numbers
    ]
    insert_rows(session, Series, rows)
    insert_rows(session, Match, [{**match, "id": first_match + n, "series_id": first + n} for n in numbers])
    seats = [{"seat": one.seat, "version_id": one.version_id, "bot_id": one.bot_id} for one in seated]
    insert_rows(session, Participant, [{"match_id": first_match + n, **seat} for n in numbers for seat in seats])


if __name__ == "__main__":
    sys.exit(main())
