"""Disturbances of a cluster: each function causes one, and has removed the cause when it returns.

`tests.cluster.chaos` checks what must hold afterwards. `chance` decides what is disturbed, and when. One that prepares
something first sets `Cluster.outage_at` when the outage itself begins.
"""

import contextlib
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from sqlmodel import col, select

from deadheat.league.tables import BotVersion
from deadheat.workers.broker.queue import SWEEP_SECONDS
from tests.cluster.cluster import BOT, WORKERS, Cluster
from tests.cluster.network import Machine
from tests.cluster.servers import ADDRESS, Primary, until
from tests.workers.victim import MOMENTS

Disturbance = Callable[[Cluster, random.Random], None]

OUTAGE_SECONDS = 8.0
"""Longer than a lease of this cluster, so that others take over."""

DEATH_SECONDS = 90
TIME_LIBRARIES = "/usr/lib/*/faketime/libfaketime.so.1"
HOUR_STEPS = ("+1h", "-1h", "+30d")


def _struck(cluster: Cluster, chance: random.Random) -> str:
    """Choose a playing machine: one where a person sits, if there is any; series are played on all of them."""
    return chance.choice(cluster.tables() or WORKERS)


# Workers ----------------------------------------------------------------------------------------------------------


def worker_dies(moment: str, cluster: Cluster, chance: random.Random) -> None:
    """Kill one process of a worker at that moment; the rest of the worker lives."""
    name = _struck(cluster, chance)
    machine = cluster.machine(name)
    flag = machine.folder / "die"
    flag.touch()
    _becomes_victim(machine, "--flag", flag, "--moment", moment)
    until(f"a process of {name} has died {moment}", lambda: not flag.exists(), DEATH_SECONDS)
    cluster.outage_at = time.time()
    time.sleep(chance.uniform(0, 2))
    machine.kill()
    cluster.start(name, "worker")


def _becomes_victim(machine: Machine, *how: str | Path) -> None:
    """Replace its worker with one whose processes die (`tests.cluster.victim`)."""
    machine.stop("worker")
    machine.start("keeper", sys.executable, "-m", "deadheat.cli.main", "keeper")
    machine.start("victim", sys.executable, "-m", "tests.cluster.victim", *how)
    machine.start("tables", sys.executable, "-m", "deadheat.cli.main", "jobs", "exhibition", "2")


def machine_dies(cluster: Cluster, chance: random.Random) -> None:
    """Cut the power of a playing machine: all its processes die at once; then it comes back."""
    name = _struck(cluster, chance)
    cluster.machine(name).kill()
    time.sleep(chance.uniform(0, OUTAGE_SECONDS))
    cluster.start(name, "worker")


def worker_stops(cluster: Cluster, chance: random.Random) -> None:
    """Stop all processes of a machine past their lease, then let them continue."""
    machine = cluster.machine(_struck(cluster, chance))
    machine.signal(signal.SIGSTOP, "deadheat.cli.main")
    time.sleep(cluster.settings.lease_seconds + SWEEP_SECONDS + chance.uniform(1, 4))
    machine.signal(signal.SIGCONT, "deadheat.cli.main")


def table_dies(cluster: Cluster, chance: random.Random) -> None:
    """Kill the processes that play with people twice, on the machine where somebody sits; the worker restarts them."""
    for _ in range(2):
        time.sleep(chance.uniform(0.2, 3))
        until("somebody is at a table", cluster.tables, DEATH_SECONDS)
        for name in cluster.tables():
            cluster.machine(name).kill("jobs\0exhibition")


def scheduler_dies(cluster: Cluster, chance: random.Random) -> None:
    """Kill one of the two schedulers; the other one continues, and a new one joins it."""
    machine = cluster.machine(chance.choice(("api1", "api2")))
    machine.kill("cli.main\0scheduler")
    time.sleep(OUTAGE_SECONDS)
    cluster.start(machine.name, "scheduler")


# Network ----------------------------------------------------------------------------------------------------------


def cut_off(from_database: bool, from_queue: bool, cluster: Cluster, chance: random.Random) -> None:
    """Cut a playing machine off from the database, the queue or both; packets vanish silently."""
    machine = cluster.machine(_struck(cluster, chance))
    far = []
    if from_database:
        far.append(ADDRESS)
    if from_queue:
        far.append(cluster.redis.machine.address)
    machine.cut(*far)
    time.sleep(OUTAGE_SECONDS + chance.uniform(0, 4))
    machine.heal()


# Redis ------------------------------------------------------------------------------------------------------------


def queue_flushed(cluster: Cluster, chance: random.Random) -> None:
    """Delete every message, again and again."""
    for _ in range(5):
        time.sleep(chance.uniform(0.2, 1))
        cluster.redis.do("flushall")


def queue_restarted(cluster: Cluster, chance: random.Random) -> None:
    """Kill the queue, which comes back empty after a moment."""
    cluster.redis.kill()
    time.sleep(chance.uniform(0, OUTAGE_SECONDS))
    cluster.redis.start()


def queue_full(cluster: Cluster, chance: random.Random) -> None:
    """Leave the queue no memory: it refuses whatever needs any."""
    cluster.redis.do("config", "set", "maxmemory", "1")
    time.sleep(OUTAGE_SECONDS + chance.uniform(0, 2))
    cluster.redis.do("config", "set", "maxmemory", "64mb")


# PostgreSQL -------------------------------------------------------------------------------------------------------


def database_restarted(cluster: Cluster, chance: random.Random) -> None:
    """Restart the database in order or by a crash; running transactions are aborted."""
    cluster.primary.stop(chance.choice(("fast", "immediate")))
    time.sleep(chance.uniform(0, OUTAGE_SECONDS))
    cluster.primary.start()


def database_read_only(cluster: Cluster, chance: random.Random) -> None:
    """Make the database refuse every change while it answers."""
    cluster.primary.set("default_transaction_read_only", "on")
    time.sleep(OUTAGE_SECONDS + chance.uniform(0, 2))
    cluster.primary.set("default_transaction_read_only", "off")


def database_fails_over(cluster: Cluster, chance: random.Random) -> None:
    """Kill the primary's machine; its standby, which has every commit, takes its place and address."""
    standby = Primary(cluster.network.machine(f"db{int(cluster.primary.machine.name[2:]) + 1}"))
    standby.follow(cluster.primary)
    cluster.outage_at = time.time()
    cluster.network.remove(cluster.primary.machine)
    time.sleep(chance.uniform(0, 3))
    standby.promote()
    cluster.network.forget_addresses()
    cluster.primary = standby


# What else a deployment stands on ---------------------------------------------------------------------------------


def blobs_full(cluster: Cluster, chance: random.Random) -> None:
    """Fill the store: not one more byte fits."""
    with cluster.store_full():
        time.sleep(OUTAGE_SECONDS + chance.uniform(0, 2))


def engine_restarted(cluster: Cluster, chance: random.Random) -> None:
    """Restart the engine: its containers end with it, and for a while none can be started."""
    assert cluster.engine is not None, "the engine that everybody here uses is not restarted"
    cluster.engine.stop()
    time.sleep(chance.uniform(0, OUTAGE_SECONDS))
    cluster.engine.start()


def poison(cluster: Cluster, chance: random.Random) -> None:
    """Plan series that fail on every machine, because a bot's program is damaged in the store. They are given up after
    some attempts; everything else is played.
    """
    bots, programs = _marked(cluster, chance)
    for name in programs:
        (cluster.blob_folder / name[:2] / f"{name}.zst").write_bytes(b"this is no program")
    _given_up(cluster, bots)


def deadly(cluster: Cluster, chance: random.Random) -> None:
    """Plan series that silently kill every process that takes them: only leases show it. They are given up after some
    attempts; everything else is played, by processes that Celery starts in place of the dead ones.
    """
    bots, programs = _marked(cluster, chance)
    for machine in cluster.machines():
        _becomes_victim(machine, "--deadly", *programs)
    _given_up(cluster, bots)
    for machine in cluster.machines():
        machine.stop("victim")
        machine.stop("keeper")
        machine.kill("jobs\0exhibition")
        cluster.start(machine.name, "worker")


def _marked(cluster: Cluster, chance: random.Random) -> tuple[list[tuple[str, int]], list[str]]:
    """Create two bots with programs that no other bot has; also return those programs' names in the store."""
    mark = f'__attribute__((used)) static const char mark[] = "{chance.random()}";\n'.encode()
    bots = cluster.bots(2, BOT + mark)
    with cluster.database.reading() as session:
        mine = select(BotVersion.program_sha256).where(col(BotVersion.bot_id).in_([bot_id for _, bot_id in bots]))
        return bots, sorted({name for name in session.exec(mine) if name is not None})


def _given_up(cluster: Cluster, bots: list[tuple[str, int]]) -> None:
    """Play a season of bots that cannot be played until all its matches are held."""
    season_id = cluster.season(bots, games_per_pair=8, series_length=4)
    cluster.poisoned.append(season_id)
    until("what is poisoned is held", lambda: cluster.held(season_id) == 8, 4 * DEATH_SECONDS)  # five leases


def clock_steps(cluster: Cluster, chance: random.Random) -> None:
    """Set a working machine's clock wrong by an hour or a month, forward or back, then right again."""
    worker = (_struck(cluster, chance), "worker")
    name, part = chance.choice([worker, worker, worker, ("api1", "scheduler"), ("api2", "api")])
    machine = cluster.machine(name)
    with _own_clock(machine, part) as clock:
        cluster.network.machines[name].stop(part)
        machine.start(part, sys.executable, "-m", "deadheat.cli.main", part)
        time.sleep(OUTAGE_SECONDS)
        cluster.outage_at = time.time()
        clock.write_text(chance.choice(HOUR_STEPS))
        time.sleep(OUTAGE_SECONDS)
        clock.write_text("+0s")
        time.sleep(2)
        machine.stop(part)
    cluster.start(name, part)


@contextlib.contextmanager
def _own_clock(machine: Machine, part: str) -> Iterator[Path]:
    """Give programs that start on the machine a clock that the file offsets from the real one."""
    libraries = sorted(Path("/").glob(TIME_LIBRARIES.removeprefix("/")))
    assert libraries, "Debian's package faketime is missing"
    clock = machine.folder / f"clock-of-{part}"
    clock.write_text("+0s")
    before = dict(machine.environment)
    machine.environment |= {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    try:
        yield clock
    finally:
        machine.environment = before


DISTURBANCES: dict[str, Disturbance] = {
    **{f"a worker dies {moment}": partial(worker_dies, moment) for moment in MOMENTS},
    "a machine dies": machine_dies,
    "a worker stops past its lease": worker_stops,
    "a person's worker dies": table_dies,
    "a scheduler dies": scheduler_dies,
    "a worker without database": partial(cut_off, True, False),
    "a worker without queue": partial(cut_off, False, True),
    "a worker without either": partial(cut_off, True, True),
    "the queue is flushed": queue_flushed,
    "the queue is restarted": queue_restarted,
    "the queue is full": queue_full,
    "the database is restarted": database_restarted,
    "the database is read-only": database_read_only,
    "the database fails over": database_fails_over,
    "the blob store is full": blobs_full,
    "the engine is restarted": engine_restarted,
    "a job is poison": poison,
    "a job kills whoever takes it": deadly,
    "a clock steps": clock_steps,
}
