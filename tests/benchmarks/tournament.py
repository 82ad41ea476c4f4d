"""What a tournament's game costs, compared with a loop written by hand in an evening.

    ./scripts/bench tournament [--short]

Both play the C starter of Yacht Auction against itself, in the same process pair a game. The loop has two pipes a bot
and reads lines until they come: no clock, no limits, no transcript, no record of faults and times. A tournament is
`deadheat tournament` from its first worker to its last line of results. They take turns in one run; the figure is the
CPU time of all processes involved, and only the ratio means anything. The bots' share is known in the loop, where they
are this process's children; a tournament's bots are the same programs.
"""

import hashlib
import os
import re
import resource
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from deadheat.cli.local.play import open_backend
from deadheat.cli.tournament.beginning import begin
from deadheat.cli.tournament.command import Run
from deadheat.cli.tournament.records import Kind, Request
from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, NS_PER_S, Game, Reply, Result
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.sandbox.local import LocalSandbox
from tests.benchmarks.targets import Targets, arguments

GAME = "yacht-auction"
TARGET = 1.3
KEEPS = ("none", "all")
"""What is kept of a game: its line in the log, or its transcript as well."""

SHARE = 0.85
"""The share of a tournament's CPU time that should be the bots' own."""

QUICK, THINKER = "quick", "thinker"
THINK = """#include <time.h>
static void think(void) { for (clock_t end = clock() + CLOCKS_PER_SEC / 200; clock() < end;) {} }
"""


Costs = dict[tuple[str, str], list[float]]
"""CPU milliseconds a game in each round, by bot and by what was measured."""


def main() -> int:
    games, rounds = (10, 1) if arguments(__doc__, "a few games, to see that it works").parse_args().short else (200, 5)
    costs: Costs = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as name:
        folder = Path(name)
        os.environ["DEADHEAT_LOCK_DIR"] = str(folder / "locks")
        source = (bots_of(GAME) / "starter" / "main.c").read_text()
        quick = compiled(source, folder / QUICK)
        thinker = compiled(THINK + re.sub(r"(?=answer_\w+\(\);)", "think(), ", source), folder / THINKER)
        for number in range(rounds):
            turn(costs, quick, games, KEEPS, folder / f"quick-{number}")
            turn(costs, thinker, games // 20 or 2, KEEPS[:1], folder / f"thinker-{number}")
    return report(costs, Targets())


def turn(costs: Costs, bot: Path, games: int, keeps: Sequence[str], folder: Path) -> None:
    for what, cost_ms in zip(("bots", "by hand"), cpu_ms_of(partial(by_hand, bot, games)), strict=True):
        costs[bot.name, what].append(cost_ms / games)
    for keep in keeps:
        run = prepared(bot, games, keep, folder / keep)
        costs[bot.name, f"keep {keep}"].append(cpu_ms_of(partial(play, run))[1] / games)
        assert len(run.standings.games) == games
        assert not run.standings.seen[0].faults


def compiled(source: str, program: Path) -> Path:
    subprocess.run(["gcc", "-O2", "-std=gnu17", "-xc", "-o", program, "-"], input=source, text=True, check=True)
    return program


def by_hand(bot: Path, games: int) -> None:
    for number in range(games):
        assert len(one_by_hand(GAMES[GAME], bot, hashlib.sha256(b"%d" % number).digest()[:16]).ranks) == 2


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
    about = partial(Request, game=GAME, kind=Kind.ROUND_ROBIN, seats=0, seed="bench", sandbox="local")
    wanted = about(games=games, keep=keep)
    return Run(*begin(wanted, (str(bot), str(bot)), None, (), folder, LocalSandbox()), as_json=False)


def play(run: Run) -> None:
    with run.folder:
        run.play(1, partial(open_backend, work=run.folder.path, warns=False))


def cpu_ms_of(work: Callable[[], None]) -> tuple[float, float]:
    """Return the CPU time of all processes that ended meanwhile, and that time with this process's own."""
    before = [_cpu_ms(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    work()
    ended, own = _cpu_ms(resource.RUSAGE_CHILDREN) - before[0], _cpu_ms(resource.RUSAGE_SELF) - before[1]
    return ended, ended + own


def _cpu_ms(who: int) -> float:
    spent = resource.getrusage(who)
    return NS_PER_S / NS_PER_MS * (spent.ru_utime + spent.ru_stime)


def report(costs: Costs, targets: Targets) -> int:
    rounds = len(costs[QUICK, "by hand"])
    print(f"CPU milliseconds a game, two C programs and everything around them (median of {rounds} rounds)")
    for what in ("by hand", *(f"keep {keep}" for keep in KEEPS)):
        print(f"    {what:10}{statistics.median(costs[QUICK, what]):8.2f}{ratio(costs, QUICK, what, 'by hand'):8.2f}")
    shares = [ratio(costs, bot, "bots", what) for bot in (QUICK, THINKER) for what in ("by hand", "keep none")]
    told = "Of it the bots' own: {} by hand, {} with keep none; of bots that think 5 ms an answer {} and {}. Asked: {}."
    print(told.format(*(f"{share:.0%}" for share in shares), f"{SHARE:.0%}"))
    times = ratio(costs, QUICK, "keep none", "by hand")
    print(f"Keep none over by hand: {targets.shown('keep none', times, most=TARGET, form='.2f')}")
    return targets.report()


def ratio(costs: Costs, bot: str, one: str, other: str) -> float:
    """Return the median ratio of two costs of the same round."""
    return statistics.median(own / theirs for own, theirs in zip(costs[bot, one], costs[bot, other], strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
