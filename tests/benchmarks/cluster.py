"""How much a cluster plays, what it spends besides playing, and whether a long queue slows it down. Needs root.

    ./scripts/bench cluster [--short]

(a) Matches a minute with one, two and three machines that play (`tests.cluster`), all on this one, so that more of them
help only as far as it has processors; series of 50, with all three also shorter ones; bots that do not think, default
times.
(b) Who spent the CPU time meanwhile: containers and engine; workers with their referees, who also write the results
down; queue, database, API and scheduler; housekeeping (tick, sweep, refit, publish), which has processes of its own
here, as in deploy/compose.yml. Everything but playing must be at most a tenth, and without housekeeping a twentieth.
With bots that think it is less.
(c) A queue of 100,000 series beside one of 1,000, in SQLite and PostgreSQL: what it costs to plan, to claim, to sweep
and to tell operators how the queue stands, and to send a message to a Redis that holds as many. Both sizes take turns.
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf
from pathlib import Path

from sqlalchemy import Connection, text
from sqlmodel import select

from deadheat.league.config import Settings
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.series import carrying_out, turns
from deadheat.league.service.views.queues import queues
from deadheat.league.states import JobState
from deadheat.league.tables import Series
from deadheat.workers.broker.queue import CONTROL, celery_app
from tests.benchmarks.cgroups import MeasuredGroup
from tests.benchmarks.engine_of_our_own import PrivateEngine
from tests.benchmarks.leagues import leagues
from tests.benchmarks.targets import Targets, arguments
from tests.cluster.cluster import API_MACHINES, WORKERS, Cluster
from tests.cluster.network import Machine
from tests.cluster.servers import until
from tests.league.clock import START
from tests.league.world import World

LENGTH = 50
SHORTER = (1, 2, 10)
BOTS = 4
AS_SHIPPED = {"LEASE_SECONDS": "30", "REQUEUE_SECONDS": "60"}

SERVERS_TARGET, BESIDE_TARGET = 5, 10
SERVERS_REACHED, BESIDE_REACHED = 6, 9
"""Percent of the whole CPU time; the second line is for four seconds."""

HOUSEKEEPING = "housekeeping"
SERVERS = {"db1": "database", "queue": "queue", "api1": "API and scheduler", "api2": "API and scheduler, second"}
GROWTH_TARGET = 1.5
"""In wall-clock time; `growth` measures CPU time."""
SMALL, LARGE = 1_000, 100_000
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


Spent = dict[str, float]
"""CPU seconds by consumer."""


def main() -> int:
    short = arguments(__doc__, "a few seconds of each, and 5,000 series for 100,000").parse_args().short
    targets = Targets(short)
    played(targets, 4 if short else 60, (2,) if short else SHORTER)
    backlog(targets, LARGE // 20 if short else LARGE, rounds=20 if short else 60)
    return targets.report()


# (a) and (b): played ----------------------------------------------------------------------------------------------


def played(targets: Targets, seconds: float, shorter: Sequence[int]) -> None:
    group = MeasuredGroup(f"deadheat-bench-{os.getpid()}")
    engine = PrivateEngine(Settings().image, group)
    try:
        with Cluster(settings=AS_SHIPPED, engine=engine, worker_queues="build,play") as cluster:
            for name in API_MACHINES:
                cluster.start(name, "worker", "--queues", CONTROL, "--concurrency", "2")
            spent = partial(_spent, cluster, group)
            bots = cluster.bots(BOTS)
            of_shorter = {}
            for length in shorter:
                season_id = cluster.season(bots, series_length=length)
                of_shorter[length] = _window(cluster, season_id, spent, seconds)
                cluster.close(season_id)
            season_id = cluster.season(bots, series_length=LENGTH)
            rows = {}
            for count in (3, 2, 1):
                for name in WORKERS[count:]:
                    cluster.machine(name).kill()
                rows[count] = _window(cluster, season_id, spent, seconds)
    finally:
        engine.close()
        group.close()
    report_rates(rows, seconds)
    for length, row in of_shorter.items():
        print(f"    {max(rows)} machines, series of {length:2}  {_rate(row, seconds)}")
    report_shares(targets, rows)


def report_rates(rows: dict[int, dict[str, float]], seconds: float) -> None:
    """Print the matches a minute. Results come series by series: a time in which none ended measures nothing."""
    print(f"(a) Matches a minute over {seconds:g} s, series of {LENGTH}, {os.cpu_count()} processors for everything")
    for count, row in sorted(rows.items()):
        print(f"    {count} machine{'s' if count > 1 else ' '}  {_rate(row, seconds)}")


def _rate(row: dict[str, float], seconds: float) -> str:
    return f"{row['matches'] / seconds * 60:6.0f}" if row["matches"] else "not measured: no series ended meanwhile"


def _window(cluster: Cluster, season_id: int, spent: Callable[[], Spent], seconds: float) -> dict[str, float]:
    """Wait until the machines play, then count matches, and CPU seconds by consumer, over some time."""
    at_first = cluster.played(season_id)
    until("they play", lambda: cluster.played(season_id) > at_first)
    time.sleep(seconds / 4)
    before, played_before = spent(), cluster.played(season_id)
    time.sleep(seconds)
    after, played_after = spent(), cluster.played(season_id)
    return {"matches": played_after - played_before, **{name: after[name] - before[name] for name in after}}


def _spent(cluster: Cluster, group: MeasuredGroup) -> Spent:
    housekeeping = {name: _cpu_s(cluster.machine(name), f"jobs\0{CONTROL}") for name in API_MACHINES}
    return {
        "containers and engine": group.cpu_ns() / 1e9,
        "machines that play": sum(_cpu_s(machine) for machine in cluster.machines()),
        **{name: _cpu_s(cluster.machine(name)) - housekeeping.get(name, 0.0) for name in SERVERS},
        HOUSEKEEPING: sum(housekeeping.values()),
    }


def _cpu_s(machine: Machine, word: str = "") -> float:
    """Return the CPU time of a machine's processes (with the word in their commands) and of their ended children."""
    ticks = 0
    for pid in machine.processes(word):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks * TICK_S


def report_shares(targets: Targets, rows: dict[int, dict[str, float]]) -> None:
    """Print who spent the CPU time while three machines played."""
    print("(b) Shares of the CPU time with three machines, and milliseconds a match")
    spent = {name: max(0.0, value) for name, value in rows[3].items() if name != "matches"}
    total, matches = sum(spent.values()), rows[3]["matches"]
    for name, value in spent.items():
        each = f"{1000 * value / matches:6.2f} ms" if matches else "     -"
        print(f"    {SERVERS.get(name, name):26} {100 * value / total:5.1f} %  {each}")
    servers = sum(spent[name] for name in SERVERS) / total
    beside = servers + spent[HOUSEKEEPING] / total
    for what, share, most, reached in (
        ("Ours beside playing, %", beside, BESIDE_TARGET, BESIDE_REACHED),
        ("Without housekeeping, %", servers, SERVERS_TARGET, SERVERS_REACHED),
    ):
        print(f"    {what}: {targets.shown(what, 100 * share, most=most, form='.1f', reached=reached)}")


# (c): a long queue ------------------------------------------------------------------------------------------------


def backlog(targets: Targets, large: int, rounds: int) -> None:
    print(f"(c) {large} series that wait, beside {SMALL}: milliseconds, and how many times as many")
    for name, on_postgresql in (("SQLite", False), ("PostgreSQL", True)):
        with leagues(2, on_postgresql) as (few, many):
            _fill(few, SMALL)
            _fill(many, large)
            for what in ACTS:
                times = _in_turns(few, many, what, rounds)
                _line(targets, f"{name}: {what}", *times, most=inf if what == UNBOUND else GROWTH_TARGET)
    with _redis(SMALL) as few_messages, _redis(large) as many_messages:
        times = [], []
        for number in range(10 * rounds):
            for send, taken in zip((few_messages, many_messages), times, strict=True):
                began_at = time.perf_counter()
                send(number)
                taken.append(time.perf_counter() - began_at)
        _line(targets, "Redis: to send a message", *times, most=GROWTH_TARGET)


def _line(targets: Targets, what: str, few: list[float], many: list[float], most: float) -> None:
    # The fastest fifth shows the cost when nothing else on the machine interferes.
    one, other = (statistics.quantiles(taken, n=5)[0] for taken in (few, many))
    times = targets.shown(what, other / one, most=most, form=".2f")
    print(f"    {what:46} {1000 * one:7.2f}  {1000 * other:7.2f}  {times}")


def _in_turns(few: World, many: World, what: str, rounds: int) -> tuple[list[float], list[float]]:
    act, prepare, expected = ACTS[what]
    taken: tuple[list[float], list[float]] = [], []
    for number in range(rounds):
        for world, times in zip((few, many), taken, strict=True):
            prepare(world, number)
            began_at = time.perf_counter()
            assert act(world, number) == expected
            times.append(time.perf_counter() - began_at)
    return taken


def _make_room(world: World, _: int) -> None:
    with world.db.reading() as session:
        waiting = session.exec(select(Series.id).where(Series.season_id == 2, Series.state == JobState.QUEUED)).all()
    for series_id in waiting:
        assert world.finish(world.claimed(series_id))
    with world.db.transaction() as session:
        session.execute(text("DELETE FROM pair"))  # no bots have met, so there is something to plan again


def _claim(world: World, number: int) -> bool:
    return world.write(turns.claim_next_series, FIRST + 7 * number, "w1", world.host) is not None


def _make_due(world: World, number: int) -> None:
    """Make five hundred series due that nobody took."""
    with world.db.transaction() as session:
        later = "UPDATE series SET nudge_at = :later WHERE state = 'queued' AND nudge_at <= :now"
        session.execute(text(later), {"now": START, "later": START.replace(year=START.year + 1)})
        due = "UPDATE series SET nudge_at = :now WHERE id BETWEEN :low AND :high"
        session.execute(text(due), {"now": START, "low": FIRST + 450, "high": FIRST + 949})


UNBOUND = "to tell operators how the queue stands"
"""Counts what waits, once for each look of Prometheus: the one thing that may grow, and has no target."""

FIRST = 1_000_000
"""The id of the first series that waits."""

ACTS: dict[str, tuple[Callable[[World, int], object], Callable[[World, int], object], object]] = {
    # A tick: the crowded season has no room, and another one has room for one series.
    "to plan one": (lambda world, _: len(world.tick()), _make_room, 1),
    "to claim what is next": (_claim, lambda *_: None, True),
    "to sweep when nothing is due": (lambda world, _: len(world.write(sweep)[carrying_out.SERIES]), lambda *_: None, 0),
    "to sweep 500 that are due": (lambda world, _: len(world.write(sweep)[carrying_out.SERIES]), _make_due, 500),
    UNBOUND: (lambda world, _: world.read(queues) is not None, lambda *_: None, True),
}


def _fill(world: World, count: int) -> None:
    """Let so many series of two matches wait, each between the same two bots, beside another season."""
    world.season(2, series_length=2, games_per_pair=2)
    world.season(2, series_length=2, games_per_pair=2)
    with world.db.engine.begin() as connection:
        _insert(connection, count)
    with world.db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))


def _insert(connection: Connection, count: int) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count) "
    later = START.replace(year=START.year + 1)
    values = {"count": count, "first": FIRST, "at": START, "later": later, "seed": bytes(32), "sha": "0" * 64}
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:  # its dates are text in UTC
        values |= {name: f"{values[name]:%Y-%m-%d %H:%M:%S.%f}" for name in ("at", "later")}
    for table, columns, rows in (
        (
            "series",
            "id, season_id, purpose, state, attempt, queued_at, nudge_at, created_at",
            ":first + i, 1, 'ladder', 'queued', 0, {at}, {later}, {at} FROM n",
        ),
        (
            "match",
            "id, series_id, season_id, number, seed, commitment, state, rated, created_at",
            (
                ":first + 2 * i + number, :first + i, 1, number, :seed, :sha, 'scheduled', {false}, {at}"
                " FROM n, (SELECT 0 AS number UNION ALL SELECT 1) AS numbers"
            ),
        ),
        ("participant", "match_id, seat, version_id, bot_id", ":first + i / 2, i % 2, 1 + i % 2, 1 + i % 2 FROM n"),
    ):
        many = {**values, "count": 4 * count if table == "participant" else count}
        words = {"at": ":at", "later": ":later", "false": "0" if sqlite else "false"}
        used = {name: value for name, value in many.items() if f":{name}" in numbers + rows.format(**words)}
        connection.execute(text(f"INSERT INTO {table} ({columns}) {numbers} SELECT {rows.format(**words)}"), used)


@contextlib.contextmanager
def _redis(messages: int) -> Iterator[Callable[[int], None]]:
    """Yield a way to send a message to a server that already holds so many."""
    folder = Path(tempfile.mkdtemp(prefix="deadheat-redis-"))
    socket = folder / "socket"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        until("Redis answers", socket.exists)
        app = celery_app(Settings(broker_url=f"redis+socket://{socket}"))

        def send(number: int) -> None:
            app.send_task("deadheat.play", (number,), retry=False)

        for number in range(messages):
            send(number)
        yield send
        app.close()
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
