"""Where the CPU time of a match goes, in every process that takes part. Needs root.

    ./scripts/bench where [--short]

A worker's own code plays series of Yacht Auction between C bots that do not think, in containers, on SQLite, with
metrics as in a league.
(a) CPU milliseconds a match by who spent them: the worker, the boxes (bots and init), the engine that makes them.
(b) The worker's part by what it was doing, from a profile of another series. Its overhead is spread over everything, so
read shares. The interpreter's own work counts for the module that called it.
(c) The functions that cost most.
(d) The worker's system calls a match, from a series under strace; those of opening the boxes are among them.
"""

import argparse
import cProfile
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from time import process_time, process_time_ns

from sqlmodel import col, select

from deadheat.engine.core import NS_PER_MS
from deadheat.league.service.bots.bots import Upload, add_version
from deadheat.league.service.people.person import Person
from deadheat.league.tables import Participant
from deadheat.workers.play import play_series
from tests.benchmarks.engine_of_our_own import measured
from tests.benchmarks.programs import HERE, built
from tests.benchmarks.targets import arguments
from tests.league.ground import settings
from tests.workers.conftest import PlayingWorld, packed

ROUNDS, LENGTH = 5, 50
TOP = 25
PROFILE = "(b) What the worker does, in hundredths of a profile"
METRICS = "PROMETHEUS_MULTIPROC_DIR"

DOING = {
    "games/": "the game's rules",
    "engine/chance": "the game's rules",
    "engine/transcript": "transcript and its chain",
    "engine/verdicts": "metrics",
    "engine/": "referee and clock",
    "sandbox/pipes": "referee and clock",
    "sandbox/attribution": "referee and clock",
    "sandbox/arena": "referee and clock",
    "sandbox/cgroup": "meters",
    "sandbox/": "boxes",
    "docker/": "boxes",
    "urllib3/": "boxes",
    "requests/": "boxes",
    "http/": "boxes",
    "league/blobs": "blobs and compression",
    "league/time_buckets": "summaries",
    "league/outcomes": "summaries",
    "workers/metrics": "metrics",
    "prometheus_client/": "metrics",
    "workers/": "the worker's loop",
    "sqlalchemy/": "rows",
    "sqlmodel/": "rows",
    "pydantic/": "rows",
    "league/": "rows",
}
"""A file counts for the first of these that its path contains; everything else is "other"."""


class CWorld(PlayingWorld):
    """A league whose bots are written in C."""

    def upload(self, owner: Person, bot_id: int, content: str = "", language: str = "") -> int:
        sha256 = f"{next(self._uploads):064x}"
        return self.write(add_version, owner, bot_id, Upload("bot.c", 10, sha256, "c", "main.c")).id


class League:
    """One worker of a small league, with series to play as long as they are asked for."""

    def __init__(self, folder: Path, length: int) -> None:
        self.world = CWorld(settings(folder))
        program = built(HERE / "light.c", "c", self.world.context.sandbox, folder / "light")
        self.world.program = self.world.context.blobs.put(packed(program.directory))
        self.world.season(2, series_length=length, games_per_pair=None)
        self.waiting: list[int] = []

    def play(self) -> None:
        """Play one series, whose results must count."""
        self.waiting = self.waiting or self.world.tick()
        assert play_series(self.world.context, self.waiting.pop(0)) is not None

    def close(self) -> None:
        """Close the league, in which every match must have been played to its end."""
        with self.world.db.reading() as session:
            assert session.exec(select(Participant.fault).where(col(Participant.fault).is_not(None))).all() == []
        self.world.close()
        self.world.context.sandbox.close()  # type: ignore[attr-defined]


def main() -> int:
    parser = arguments(__doc__, "one round of series of ten, to see that it works")
    parser.add_argument("--traced", type=int, help=argparse.SUPPRESS)  # series to play under strace
    parser.add_argument("--length", type=int, default=LENGTH, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    rounds, length = (1, 10) if chosen.short else (ROUNDS, chosen.length)
    folder = Path(tempfile.mkdtemp(prefix="deadheat-bench-"))
    if METRICS not in os.environ:  # the modules read it when they are imported
        again = [sys.executable, "-m", __spec__.name, *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, METRICS: str(folder)})
    try:
        return traced(folder, length, chosen.traced) if chosen.traced else report(folder, rounds, length)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(folder: Path, rounds: int, length: int) -> int:
    with measured(joined=False) as (group, _):
        league = League(folder, length)
        league.play()  # creates what is created only once
        spent = {"worker": 0, "boxes and engine": 0}
        for _ in range(rounds):
            worker_ns, group_ns = process_time_ns(), group.cpu_ns()
            league.play()
            spent["worker"] += process_time_ns() - worker_ns
            spent["boxes and engine"] += group.cpu_ns() - group_ns
        print(f"(a) CPU milliseconds a match, series of {length}")
        for who, spent_ns in spent.items():
            print(f"    {who:28}{spent_ns / NS_PER_MS / rounds / length:8.2f}")
        profiled(league, length)
        league.close()
        calls(length)
    return 0


def profiled(league: League, length: int) -> None:
    profile = cProfile.Profile(process_time)
    profile.runcall(league.play)
    doing: defaultdict[str, float] = defaultdict(float)
    costs: list[tuple[float, int, str]] = []
    table = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (file, line, name), (_, count, own_s, _, callers) in table.items():
        costs.append((own_s, count, name if file == "~" else f"{_short(file)}:{line} {name}"))
        if file != "~":
            doing[_doing(file)] += own_s
            continue
        for (caller, _, _), (_, _, share_s, _) in callers.items():
            doing[_doing(caller)] += share_s
    total_s = sum(doing.values())
    print(PROFILE)
    for what, own_s in sorted(doing.items(), key=lambda item: -item[1]):
        print(f"    {what:28}{100 * own_s / total_s:7.1f}")
    print("(c) The functions that cost most: hundredths, calls a match")
    for own_s, count, name in sorted(costs, reverse=True)[:TOP]:
        print(f"    {100 * own_s / total_s:6.1f}{count / length:9.1f}  {name}")


def _short(file: str) -> str:
    return "/".join(Path(file).parts[-2:])


def _doing(file: str) -> str:
    return next((what for part, what in DOING.items() if part in file), "other")


def calls(length: int) -> None:
    """Print part (d): the difference between a run with two series and a run with one."""
    if shutil.which("strace") is None:
        print("(d) strace is not installed: no system calls are counted.")
        return
    one, two = _traced(length, 1), _traced(length, 2)
    print("(d) System calls of the worker, a match")
    for name in sorted(two, key=lambda name: one.get(name, 0) - two[name]):
        if (more := two[name] - one.get(name, 0)) >= length / 2:
            print(f"    {name:28}{more / length:7.1f}")


def _traced(length: int, series: int) -> dict[str, int]:
    """Count calls by name while that many series are played, including everything before and after."""
    with tempfile.NamedTemporaryFile() as table:
        command = ["strace", "-f", "-c", "-o", table.name, sys.executable, "-m", __spec__.name]
        subprocess.run([*command, "--traced", str(series), "--length", str(length)], check=True)
        rows = [line.split() for line in Path(table.name).read_text().splitlines()]
    return {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit() and row[-1] != "total"}


def traced(folder: Path, length: int, series: int) -> int:
    league = League(folder, length)
    for _ in range(series):
        league.play()
    league.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
