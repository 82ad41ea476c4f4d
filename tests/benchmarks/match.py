"""What a match costs in containers and in bare processes: the CPU time of every process involved. Needs root.

    ./scripts/bench match [--short]

All variants take turns in one run, so that a change of the machine's speed hits them alike; only the ratios mean
anything. A Docker Engine of the benchmark's own, its containers, their shims, the bots and the referee are inside one
control group, and its counter is the figure. Every match is played by the rules, its transcript encoded and counted
in the metrics, as a worker does.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Message, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import encode
from deadheat.league.causes import Cause
from deadheat.league.config import Settings
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Box, Limits, Program, Sandbox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.workers import metrics
from deadheat.workers.outcomes import latencies
from tests.benchmarks.cgroups import MeasuredGroup
from tests.benchmarks.engine_of_our_own import measured
from tests.benchmarks.programs import HERE, built
from tests.benchmarks.targets import Targets, arguments

GAME = "yacht-auction"
BOT_BY_LANGUAGE = {"c": HERE / "light.c", "python": bots_of(GAME) / "random" / "main.py"}
TARGETS = {"c": 1.3, "python": 1.05}
REACHED = {"c": 2.8, "python": 1.35}
"""Boxes and their engine cost most of what exceeds 1."""

ROUND_TRIP_TARGET = 1.2
VARIANTS = {"bare": 50, "cold pair": 1, "series of 10": 10, "series of 50": 50}

ROUNDS = 6
"""The ratios of single rounds lie a third around their median, and a new engine's second and third rounds cost most, so
three are too few, in the short mode too.
"""

PAIRS = 4  # cold ones in each round
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
        trip = measure_round_trip(docker, folder, 30 if short else 50)
        docker.close()
    report(costs, trip, targets)
    return targets.report()


def measure_matches(language: str, docker: Sandbox, folder: Path, group: MeasuredGroup) -> dict[str, list[float]]:
    """Measure the CPU milliseconds a match, by variant, one figure a round."""
    program = built(BOT_BY_LANGUAGE[language], language, docker, folder / language)
    costs: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for _ in range(ROUNDS):
        for variant, length in VARIANTS.items():
            sandbox = Bare() if variant == "bare" else docker
            series = PAIRS if variant == "cold pair" else 1
            costs[variant].append(cost_of_match(sandbox, program, length, series, group))
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


def measure_round_trip(docker: Sandbox, folder: Path, turns: int) -> dict[str, list[float]]:
    """Measure the median microseconds from prompt to reply, by turn; bare pipe and container FIFO take turns."""
    program = built(HERE / "echo.c", "c", docker, folder / "echo")
    boxes = {"bare pipe": LocalSandbox().open(program, Limits()), "container FIFO": docker.open(program, Limits())}
    try:
        transports = {name: PipeTransport([box.start()]) for name, box in boxes.items()}
        taken: dict[str, list[float]] = {name: [] for name in transports}
        for _ in range(turns):
            for name, transport in transports.items():
                replies = [transport.exchange([Message(0, "PING", 10 * NS_PER_S)])[0] for _ in range(200)]
                assert all(reply.line == "OK" for reply in replies)
                taken[name].append(statistics.median(reply.elapsed_ns for reply in replies) / 1000)
        return taken
    finally:
        for box in boxes.values():
            box.close()


def report(costs: dict[str, dict[str, list[float]]], trip: dict[str, list[float]], targets: Targets) -> None:
    middle: Callable[[list[float]], float] = statistics.median
    print(f"CPU milliseconds a match, both bots and everything around them (median of {ROUNDS} rounds)")
    print(f"{'':14}{'C':>10}   {'over bare':22}{'Python':>12}   {'over bare'}")
    for variant in VARIANTS:
        row = f"{variant:14}"
        for language, width in (("c", 10), ("python", 12)):
            cost = middle(costs[language][variant])
            ratios = [a / b for a, b in zip(costs[language][variant], costs[language]["bare"], strict=True)]
            told = f"{middle(ratios):.2f}"
            if variant == "series of 50":
                most, reached = TARGETS[language], REACHED[language]
                told = targets.shown(f"{variant}, {language}", middle(ratios), most=most, form=".2f", reached=reached)
            row += f"{cost:{width}.1f}   {told:22}"
        print(row.rstrip())
    bare, fifo = trip["bare pipe"], trip["container FIFO"]
    over = middle([a / b for a, b in zip(fifo, bare, strict=True)])
    told = targets.shown("round trip", over, most=ROUND_TRIP_TARGET, form=".2f")
    print(f"\nRound trip: bare pipe {middle(bare):.1f} us, container FIFO {middle(fifo):.1f} us; ratio {told}")


if __name__ == "__main__":
    subprocess.run(["docker", "version"], check=True, capture_output=True)
    raise SystemExit(main())
