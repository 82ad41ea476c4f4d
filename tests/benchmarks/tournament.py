"""What a tournament's game costs beside a loop that somebody wrote by hand in an evening.

    ./scripts/bench tournament [--short]

Both play the C starter of Yacht Auction against itself, in the same process pair a game. The loop has two pipes a bot
and reads lines until they come: no clock, no limits, no transcript, no record of faults and times. A tournament is
`deadheat tournament` from its first worker to its last line of results. They take turns in one run; the figure is the
CPU time of all processes involved, and only the ratio means anything.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from deadheat.cli.tournament.beginning import Asked, begin
from deadheat.cli.tournament.command import Run, workers_sandbox
from deadheat.cli.tournament.schedule import Kind
from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, NS_PER_S, Game, Reply, Result
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.sandbox.local import LocalSandbox

GAME = "yacht-auction"
TARGET = 1.3
KEEPS = ("none", "all")
"""What is kept of a game: its line in the log, or its transcript as well."""


def main() -> int:
    """Measure, print, and say whether the target was reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few games, to see that it works")
    games, rounds = (10, 1) if parser.parse_args().short else (200, 5)
    costs: dict[str, list[float]] = {"by hand": [], **{f"keep {keep}": [] for keep in KEEPS}}
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as name:
        folder = Path(name)
        os.environ["DEADHEAT_LOCK_DIR"] = str(folder / "locks")
        bot = folder / "starter"
        subprocess.run(["gcc", "-O2", "-std=gnu17", "-o", bot, bots_of(GAME) / "starter" / "main.c"], check=True)
        for turn in range(rounds):
            costs["by hand"].append(cpu_ms_of(partial(by_hand, bot, games)) / games)
            for keep in KEEPS:
                run = prepared(bot, games, keep, folder / f"{turn}-{keep}")
                costs[f"keep {keep}"].append(cpu_ms_of(partial(play, run)) / games)
                assert len(run.standings.games) == games
                assert not run.standings.seen[0].faults
    return report(costs)


def by_hand(bot: Path, games: int) -> None:
    """Play so many games as a person's own script would."""
    for number in range(games):
        result = one_by_hand(GAMES[GAME], bot, hashlib.sha256(b"%d" % number).digest()[:16])
        assert len(result.ranks) == 2


def one_by_hand(game: Game, bot: Path, seed: bytes) -> Result:
    """Play one game over pipes, trusting both bots."""
    pipe = subprocess.PIPE
    bots = [subprocess.Popen([bot], stdin=pipe, stdout=pipe, text=True, bufsize=1) for _ in range(2)]
    play = game.play(2, Chance(seed))
    step, result = next(play), None
    try:
        while result is None:
            for message in step.messages:
                stdin = bots[message.seat].stdin
                assert stdin is not None
                stdin.write(message.line + "\n")
                stdin.flush()
            replies = {}
            for message in step.messages:
                if message.limit_ns is not None:
                    stdout = bots[message.seat].stdout
                    assert stdout is not None
                    replies[message.seat] = Reply(stdout.readline().rstrip("\n"), 0)
            step = play.send(replies)
    except StopIteration as end:
        result = end.value
    for process in bots:
        process.communicate()
    assert isinstance(result, Result)
    return result


def prepared(bot: Path, games: int, keep: str, folder: Path) -> Run:
    """Make everything up to the first game: folder, programs, plan."""
    two = (str(bot), str(bot))
    asked = Asked(GAME, two, Kind.ROUND_ROBIN, games, None, None, "bench", None, keep, "local", None)
    return Run(begin(asked, folder, LocalSandbox(), lambda _: None, "bench"), as_json=False)


def play(run: Run) -> None:
    """Play a prepared tournament, one game at a time."""
    with run.built.folder:
        run.play(1, partial(workers_sandbox, work=run.built.folder.path))


def cpu_ms_of(work: Callable[[], None]) -> float:
    """Return the CPU time of this process and all that ended in it."""
    before_ns = _cpu_ns()
    work()
    return (_cpu_ns() - before_ns) / NS_PER_MS


def _cpu_ns() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return NS_PER_S * sum(one.ru_utime + one.ru_stime for one in spent)


def report(costs: dict[str, list[float]]) -> int:
    """Print the table; 1 if the target was missed."""
    rounds = len(costs["by hand"])
    print(f"CPU milliseconds a game, two C programs and everything around them (median of {rounds} rounds)")
    ratios = {}
    for name, found in costs.items():
        pairs = zip(found, costs["by hand"], strict=True)
        ratios[name] = statistics.median(own / theirs for own, theirs in pairs)
        print(f"    {name:10}{statistics.median(found):8.2f}{ratios[name]:8.2f}")
    missed = ratios["keep none"] > TARGET
    print(f"Target: keep none at most {TARGET} times by hand. {'Missed' if missed else 'Reached'}.")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
