"""What a match costs in rooms and in bare processes: the CPU time of every process involved. Needs root.

    ./scripts/bench match [--short]

All variants take turns in one run, so that a change of the machine's speed hits them alike; only the ratios mean
anything. A Docker Engine of the benchmark's own, its containers, their shims, the bots and the referee are inside one
control group, and its counter is the figure. Every match is played by the rules, its transcript encoded and counted
in the metrics, as a worker does. The second table is about a pair of rooms alone: start, READY and OK, end.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Message, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import encode
from deadheat.league.causes import Cause
from deadheat.league.config import Settings
from deadheat.league.outcomes import latencies
from deadheat.sandbox.arena import Arena, quiet
from deadheat.sandbox.box import Box, Limits, Program, Sandbox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.workers import metrics
from tests.benchmarks.cgroups import MeasuredGroup
from tests.benchmarks.engine_of_our_own import measured
from tests.benchmarks.programs import HERE, built
from tests.benchmarks.targets import Targets, arguments

GAME = "yacht-auction"
BOT_BY_LANGUAGE = {"c": HERE / "light.c", "python": bots_of(GAME) / "random" / "main.py"}
TARGETS = {"c": 2.6, "python": 1.25}
"""Rooms cost most of what exceeds 1."""

ROUND_TRIP_TARGET = 1.0
VARIANTS = {"bare": 50, "alone": 1, "series of 2": 2, "series of 10": 10, "series of 50": 50}
MATCHES = 50
"""Each variant plays so many in each round, whatever the length of its series."""

FILLER_BYTES = 5 * 2**20
PAIR_TARGETS = {"c": 12.0, "c, 5 MiB": 25.0}
"""The most CPU milliseconds that a pair of rooms may cost more than a pair of bare processes."""

BOTH_OK_MS, WORST_MS = 10.0, 20.0
"""The most wall milliseconds until both have said OK: the median, and the worst of all."""

ROUNDS = 6
"""The ratios of single rounds lie a third around their median, and a new engine's second and third rounds cost most, so
three are too few, in the short mode too.
"""

PAIRS = 50  # of rooms in each round
TRIES = 4


class Bare(LocalSandbox):
    """Bare processes, which are not stopped while they are not asked: what a match costs without any judge's doing."""

    def open(self, program: Program, limits: Limits) -> Box:
        box = super().open(program, limits)
        setattr(box, "favour", lambda _: None)  # noqa: B010  a method, which mypy guards
        return box


def main() -> int:
    short = arguments(__doc__, "slack, and fewer round trips").parse_args().short
    targets = Targets(short)
    with measured(joined=True) as (group, folder):
        docker = DockerSandbox(Settings().image, folder / "run")
        costs = {language: measure_matches(language, docker, folder, group) for language in BOT_BY_LANGUAGE}
        pairs = measure_pairs(docker, folder, group)
        trip = measure_round_trip(docker, folder, 30 if short else 50)
        docker.close()
    report(costs, targets)
    report_pairs(pairs, targets)
    report_trip(trip, targets)
    return targets.report()


def measure_matches(language: str, docker: Sandbox, folder: Path, group: MeasuredGroup) -> dict[str, list[float]]:
    """Measure the CPU milliseconds a match, by variant, one figure a round."""
    program = built(BOT_BY_LANGUAGE[language], language, docker, folder / language)
    costs: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for _ in range(ROUNDS):
        for variant, length in VARIANTS.items():
            sandbox = Bare() if variant == "bare" else docker
            costs[variant].append(cost_of_match(sandbox, program, length, MATCHES // length, group))
    return costs


def cost_of_match(sandbox: Sandbox, program: Program, length: int, series: int, group: MeasuredGroup) -> float:
    """Measure the CPU milliseconds of a match. Series that a busy host disturbs are not counted but played again."""
    for _ in range(TRIES):
        before_ns = group.cpu_ns()
        undisturbed = all(play_series(sandbox, program, length) for _ in range(series))
        settle()
        if undisturbed:
            return (group.cpu_ns() - before_ns) / NS_PER_MS / (series * length)
        print("the host disturbed a series, which is played again", file=sys.stderr)
    raise AssertionError(f"the host disturbed series of {length} {TRIES} times")


def play_series(sandbox: Sandbox, program: Program, length: int) -> bool:
    """Play `length` matches as a worker does, but without the database. Return False at the first that a busy host has
    disturbed.
    """
    with Arena(sandbox, [program, program], Limits(cpus="0"), (1,)) as arena:
        for number in range(length):
            try:
                played = arena.play(GAMES[GAME], (0, 1), number.to_bytes(16, "big"), {"match": number})
            except TransportError as error:
                if error.cause in (Cause.HOST_UNKNOWN, Cause.WATCH_ENDED):
                    return False
                raise
            faults = set(played.transcript.result.faults.values())
            if faults == {Fault.TIMEOUT}:  # no counter shows every pause of this machine
                return False
            assert not faults, played.transcript.result
            encode(played.transcript)
            latencies(played.transcript)
            metrics.record([played.transcript], latencies(played.transcript), 0)
    return True


def settle() -> None:
    """Let the engine finish what it does after a container is gone, inside the measurement."""
    time.sleep(0.3)


@dataclass
class Pairs:
    """Starts of two programs, by variant: CPU milliseconds a pair, one figure a round, and all wall times until OK."""

    cpu_ms: dict[str, list[float]] = field(default_factory=dict)
    both_ok_ms: dict[str, list[float]] = field(default_factory=dict)


def measure_pairs(docker: Sandbox, folder: Path, group: MeasuredGroup) -> Pairs:
    """Measure pairs of rooms and of bare processes, by turns."""
    found = Pairs()
    small = built(BOT_BY_LANGUAGE["c"], "c", docker, folder / "small")
    large = replace(small, directory=folder / "large")
    shutil.copytree(small.directory, large.directory)
    (large.directory / "filler").write_bytes(os.urandom(FILLER_BYTES))
    python = built(BOT_BY_LANGUAGE["python"], "python", docker, folder / "pairs-python")
    variants: dict[str, tuple[Sandbox, Program]] = {
        "bare c": (Bare(), small),
        "c": (docker, small),
        "c, 5 MiB": (docker, large),
        "bare python": (Bare(), python),
        "python": (docker, python),
    }
    for _ in range(ROUNDS):
        for name, (sandbox, program) in variants.items():
            before_ns = group.cpu_ns()
            found.both_ok_ms.setdefault(name, []).extend(pairs_of(sandbox, program))
            settle()
            found.cpu_ms.setdefault(name, []).append((group.cpu_ns() - before_ns) / NS_PER_MS / PAIRS)
    return found


def pairs_of(sandbox: Sandbox, program: Program) -> list[float]:
    """Start and end `PAIRS` pairs; return the wall milliseconds until both said OK."""
    with (
        closing(sandbox.open(program, Limits(cpus="0"))) as one,
        closing(sandbox.open(program, Limits(cpus="0"))) as other,
    ):
        taken = []
        for _ in range(PAIRS):
            with quiet((1,)):
                began_ns = time.monotonic_ns()
                transport = PipeTransport([one.start(), other.start()])
                replies = transport.exchange([Message(seat, "READY", 10 * NS_PER_S) for seat in range(2)])
                taken.append((time.monotonic_ns() - began_ns) / NS_PER_MS)
            assert all(reply.line == "OK" for reply in replies.values()), replies
            for box in (one, other):
                box.ask_stop(0)
            for box in (other, one):
                box.stopped()
        return taken


def measure_round_trip(docker: Sandbox, folder: Path, turns: int) -> dict[str, list[float]]:
    """Measure the median microseconds from prompt to reply, by turn; bare pipe and a room's FIFO take turns."""
    program = built(HERE / "echo.c", "c", docker, folder / "echo")
    where = Limits(cpus="0")  # each on the same, and we on another: else the kernel may let one pair share a processor
    boxes = {"bare pipe": LocalSandbox().open(program, where), "room's FIFO": docker.open(program, where)}
    try:
        transports = {name: PipeTransport([box.start()]) for name, box in boxes.items()}
        taken: dict[str, list[float]] = {name: [] for name in transports}
        for _ in range(turns):
            for name, transport in transports.items():
                with quiet((1,)):
                    replies = [transport.exchange([Message(0, "PING", 10 * NS_PER_S)])[0] for _ in range(200)]
                assert all(reply.line == "OK" for reply in replies)
                taken[name].append(statistics.median(reply.elapsed_ns for reply in replies) / 1000)
        return taken
    finally:
        for box in boxes.values():
            box.close()


def report(costs: dict[str, dict[str, list[float]]], targets: Targets) -> None:
    middle: Callable[[list[float]], float] = statistics.median
    print(f"CPU milliseconds a match, both bots and everything around them (median of {ROUNDS} rounds)")
    print(f"{'':14}{'C':>10}   {'over bare':22}{'Python':>12}   {'over bare'}")
    for variant in VARIANTS:
        row = f"{variant:14}"
        for language, width in (("c", 10), ("python", 12)):
            cost = middle(costs[language][variant])
            ratios = [a / b for a, b in zip(costs[language][variant], costs[language]["bare"], strict=True)]
            told = f"{middle(ratios):.2f}"
            if variant != "bare":
                told = targets.shown(f"{variant}, {language}", middle(ratios), most=TARGETS[language], form=".2f")
            row += f"{cost:{width}.1f}   {told:22}"
        print(row.rstrip())


def report_pairs(pairs: Pairs, targets: Targets) -> None:
    print("\nA pair of programs: started, READY and OK, ended")
    print(f"{'':14}{'CPU ms':>8}{'over bare':>24}{'both OK, wall ms: median':>30}{'worst':>24}")
    for name, cpu_ms in pairs.cpu_ms.items():
        row = f"{name:14}{statistics.median(cpu_ms):8.1f}"
        walls = pairs.both_ok_ms[name]
        if name.startswith("bare"):
            print(f"{row}{'':24}{statistics.median(walls):30.1f}{max(walls):24.1f}")
            continue
        bare = pairs.cpu_ms[f"bare {name.partition(',')[0]}"]
        over = statistics.median([a - b for a, b in zip(cpu_ms, bare, strict=True)])
        most = PAIR_TARGETS.get(name, inf)
        middle_most, worst_most = (BOTH_OK_MS, WORST_MS) if name == "c" else (inf, inf)
        row += f"{targets.shown(f'pair, {name}', over, most=most, form='.1f'):>24}"
        row += f"{targets.shown(f'both OK, {name}', statistics.median(walls), most=middle_most, form='.1f'):>30}"
        print(row + f"{targets.shown(f'worst of {len(walls)}, {name}', max(walls), most=worst_most, form='.1f'):>24}")


def report_trip(trip: dict[str, list[float]], targets: Targets) -> None:
    middle: Callable[[list[float]], float] = statistics.median
    bare, fifo = trip["bare pipe"], trip["room's FIFO"]
    over = middle([a / b for a, b in zip(fifo, bare, strict=True)])
    told = targets.shown("round trip", over, most=ROUND_TRIP_TARGET, form=".2f")
    print(f"\nRound trip: bare pipe {middle(bare):.1f} us, a room's FIFO {middle(fifo):.1f} us; ratio {told}")


if __name__ == "__main__":
    subprocess.run(["docker", "version"], check=True, capture_output=True)
    raise SystemExit(main())
