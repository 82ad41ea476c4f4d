"""Many storms over the simulated play path, in all processors; see ./scripts/simulate."""

import argparse
import gc
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from tests.simulation.simulator import Simulator
from tests.simulation.stage import League, Stage
from tests.simulation.storm import GAMES

MEMORY = Path("/dev/shm")
"""It holds thousands of databases for a moment; a disk would slow them down."""
SEEDS_AT_A_TIME = 20
MOST_BAD = 10
"""After so many, the rest need not be seen: it is no accident."""


@cache
def stage() -> Stage:
    return Stage(Path(tempfile.mkdtemp(prefix="deadheat-simulation-", dir=MEMORY if MEMORY.is_dir() else None)))


def wrong(seeds: range) -> dict[int, list[str]]:
    logging.disable(logging.CRITICAL)  # a storm logs a lot
    gc.collect()  # collecting only between storms saves a sixth of the time
    gc.freeze()
    gc.disable()
    return {seed: found for seed in seeds if (found := Simulator(stage(), seed).run())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./scripts/simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many storms (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first one's seed (%(default)s)")
    asked = parser.parse_args()
    began = time.monotonic()
    failed = 0
    for seed, sentences in storms(range(asked.first, asked.first + asked.seeds)):
        failed += 1
        print(f"seed {seed}:", *dict.fromkeys(sentences), sep="\n  ")
        if failed == MOST_BAD:
            break
    minutes = (time.monotonic() - began) / 60
    if failed < MOST_BAD:
        print(f"{asked.seeds} storms, {failed} ended badly; {asked.seeds / minutes:.0f} a minute")
    sys.exit(min(failed, 1))


def storms(seeds: range) -> Iterator[tuple[int, list[str]]]:
    """Run the storms, and yield those that ended badly."""
    for games in GAMES:
        League.prepared(games)  # done here once, not again in each process
    parts = [seeds[at : at + SEEDS_AT_A_TIME] for at in range(0, len(seeds), SEEDS_AT_A_TIME)]
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        for found in processes.map(wrong, parts):
            yield from found.items()


if __name__ == "__main__":
    main()
