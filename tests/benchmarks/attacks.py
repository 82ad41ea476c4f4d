"""What bots gain by attacking the clock, and what it costs the bots beside them: parts (g) to (j) of `clock`.

All bots are attackers.c, which does what each of its prompts says; both seats are asked at once, and share a processor
as in a slot. A *victim* walks in random order through its own memory until it has used 60 % of its limit. An opponent
answers at once (one of them thinks first, as it may) and then disturbs. A *trick* uses some milliseconds of CPU while
it is asked, and makes its own threads wait so that the host seems to have taken the time: WAITER POLICY WORKER SINCE,
see attackers.c. Own time is compared within one session, by turns.
"""

import itertools
import os
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from deadheat.engine.chance import SEED_BYTES, Chance
from deadheat.engine.core import (
    NS_PER_MS,
    NS_PER_S,
    READY_LIMIT_NS,
    Fault,
    Message,
    Reply,
    Result,
    Seat,
    Step,
    TransportError,
)
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Limits, Sandbox
from tests.benchmarks.programs import HERE, built
from tests.benchmarks.tricks import CROWD, Spinners, told

Lines = tuple[str, str]
"""The orders of one step, by seat; an empty one asks nothing."""

VICTIM, OTHER = 0, 1
SETS_KIB = (0, 256, 768, 2048, 8192, 32768)
"""Working sets of the victims. The one without any sleeps and computes by turns, in a thread that is not the first."""

WALK_MS, WALK_LIMIT_MS = 120, 200
IDLE, AGAIN = "PLAY IDLES", "PLAY IDLES again"
OPPONENTS = (
    IDLE,
    "PLAY SPINS",
    "PLAY PONDERS",
    "PLAY THRASHES",
    "PLAY STREAMS",
    "PLAY HOLDS",
    "PLAY CROWDS",
    f"PLAY THINKS {WALK_MS * 1000}",
    "TRICK B I S B 0",
    "TRICK F I S B 0",
    AGAIN,
)
DROPPED, MEASURED = 2, 5
"""The first walks of a match are not measured, unless they take too long: the memory is new to the processor."""

SLOWER_TARGET = 0.05
"""How much longer a victim's own time may be than two runs beside idle opponents differ by."""

TRICK_US, TRICK_PROMPTS, TRICK_LIMIT_MS = 4000, 48, 500
CHARGED_TARGET, FREE_NS = 0.98, 500_000
"""The share of its CPU time that a bot must be charged at least, but for so much a prompt."""

HONEST = "TRICK N O S P"
GAP_US = 12_000
"""How long the other bot is asked between two prompts of a trick: time in which waits can be saved up."""

SLOW, CROWD_CHILDREN = ("TRICK F I S W", "TRICK F I C W", "TRICK F I T W"), 1
"""The tricks with a crowd that slows the write of the prompt: 15,000 waiters, 2 to 4 ms, in which the bot computes."""

KNOWN = ("TRICK F I S B", "TRICK B I S B", SLOW[0])
"""The tricks of a short run: the best ones before the CPU time bounded what waits can give back."""

BEST = 8
"""How many tricks are tried under load: the best for the bot without it."""

LOADS = (2, 4)
"""Busy processes a processor."""

GUILTY = ("FOREVER", "CROWD")
BUSY = (*LOADS, 8)
"""The loads beside guilty bots. A watch of eight limits gave no verdict when seven others shared the processor."""

SLEEP_US, PIECES = 400_000, 100


@dataclass
class Orders:
    """A game in which every step asks just this, until a bot fails."""

    steps: Sequence[Lines]
    limit_ns: int
    name: str = "orders"
    title: str = "Orders"
    rules_version: int = 1
    seats: range = range(2, 3)
    commands: tuple[str, ...] = ("READY",)
    faults: dict[Seat, Fault] = field(default_factory=dict)

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """Ask in the order of `steps`."""
        replies = yield Step(tuple(Message(seat, "READY", READY_LIMIT_NS) for seat in range(seats)))
        for lines in self.steps:
            limit_ns = READY_LIMIT_NS if any(line.startswith("WARM") for line in lines) else self.limit_ns
            asked = tuple(Message(seat, line, limit_ns) for seat, line in enumerate(lines) if line)
            replies = yield Step(asked)
            faults = {seat: reply.fault for seat, reply in replies.items() if reply.fault}
            if faults:
                return Result(tuple(1 + (seat in faults) for seat in range(seats)), None, faults)
        yield Step(tuple(Message(seat, "FINISH") for seat in range(seats)))
        return Result((1,) * seats, (0,) * seats)


@dataclass(frozen=True, slots=True)
class Played:
    """A match, or a void, which has no replies. `word` is ``played``, the first seat's fault, ``other`` for a fault of
    the other, or the cause of a void; `replies` are those of each seat but the ones to READY.
    """

    word: str
    replies: Mapping[Seat, Sequence[Reply]]


class Pair:
    """The program in two boxes that share a processor. The referee has the others, if there are any, as in a slot."""

    def __init__(
        self,
        sandbox: Sandbox,
        folder: Path,
        cpus: str = "0",
        referee_cpus: Sequence[int] = range(1, os.cpu_count() or 1),
    ) -> None:
        program = built(HERE / "attackers.c", "c", sandbox, folder / "attackers", CROWD)
        self.arena = Arena(sandbox, [program, program], Limits(cpus=cpus), referee_cpus)
        self._played = itertools.count()

    def play(self, steps: Sequence[Lines], limit_ms: int) -> Played:
        number = next(self._played)
        try:
            game = Orders(steps, limit_ms * NS_PER_MS)
            transcript = self.arena.play(game, (0, 1), number.to_bytes(SEED_BYTES, "little"), {}).transcript
        except TransportError as error:
            return Played(error.cause, {VICTIM: [], OTHER: []})
        replies: dict[Seat, list[Reply]] = {VICTIM: [], OTHER: []}
        for prompt in transcript.prompts():
            if prompt.message.line != "READY":
                replies[prompt.message.seat].append(prompt.reply)
        faults = transcript.result.faults
        word = "other" if OTHER in faults else str(faults.get(VICTIM, "played"))
        return Played(word, replies)


def said_ns(reply: Reply) -> tuple[int, int]:
    """Return the CPU time that the bot says it used for this prompt, and since its answer to the one before."""
    _, used, idle = (reply.line or "OK 0 0").split()
    return int(used), int(idle)


def victims(pair: Pair, spinners: Spinners, turns: int, sets_kib: Sequence[int], a_cpu: int = 0) -> int:
    """(g) Return how many targets are missed: an innocent convicted, or slower beside some opponent."""
    own: dict[tuple[int, str], list[int]] = defaultdict(list)
    pondered: dict[str, list[float]] = defaultdict(list)
    outcomes: dict[str, Counter[str]] = {opponent: Counter() for opponent in OPPONENTS}
    steps = {kib: calibrated(pair, kib) for kib in sets_kib}
    with spinners(a_cpu) if a_cpu else nullcontext():
        for turn, kib in itertools.product(range(turns), sets_kib):
            for opponent in OPPONENTS[:: 1 if turn % 2 else -1]:
                walks = [(f"{'WALK' if kib else 'NAPS'} {steps[kib]}", opponent)] * (DROPPED + MEASURED)
                played = pair.play([(f"WARM {kib or 4}", "WORK 0"), *walks], WALK_LIMIT_MS)
                outcomes[opponent][played.word] += 1
                walked, answers = played.replies[VICTIM][1:], played.replies[OTHER][1:]
                own[kib, opponent] += [one.own_ns for n, one in enumerate(walked) if n >= DROPPED or one.fault]
                idle_ns = [said_ns(answer)[1] for answer in answers[1:]]
                pondered[opponent] += [ns / one.elapsed_ns for ns, one in zip(idle_ns, walked, strict=False)]
    every = sum(outcomes.values(), Counter[str]())
    convicted = every[Fault.TIMEOUT]
    print(f"(g) {a_cpu} spinners a CPU: {every.total()} matches of victims ({told(every)}); convicted {convicted}")
    print(
        f"    {'own time over idle, KiB:':26}" + "".join(f"{kib:>8}" for kib in sets_kib) + "  convicted  CPU not asked"
    )
    ratios = {
        opponent: [median(own[kib, opponent]) / median(own[kib, IDLE]) for kib in sets_kib] for opponent in OPPONENTS
    }
    for opponent, row in ratios.items():
        shown = "".join(f"{ratio:8.3f}" for ratio in row)
        convicted_here = outcomes[opponent][Fault.TIMEOUT]
        print(f"    {opponent:26}{shown}{convicted_here:11}  {median(pondered[opponent]):13.3f}")
    most = [1 + abs(same - 1) + SLOWER_TARGET for same in ratios[AGAIN]]
    slower = any(ratio > bound for row in ratios.values() for ratio, bound in zip(row, most, strict=True))
    return int(convicted > 0) + int(slower and not a_cpu)


def calibrated(pair: Pair, kib: int) -> int:
    """Return for how many steps a victim walks, or naps, in WALK_MS when nothing disturbs it: the slowest of some
    processes, as some get pages that fall on each other in the caches.
    """
    first = 500 if not kib else 1_000_000 if kib < SETS_KIB[-1] else 250_000
    order = f"{'WALK' if kib else 'NAPS'} {first}"
    plays = [pair.play([(f"WARM {kib or 4}", ""), *[(order, "")] * 4], 2000).replies[VICTIM] for _ in range(5)]
    return int(
        first * WALK_MS * NS_PER_MS // max(statistics.median(reply.own_ns for reply in one[2:]) for one in plays)
    )


def all_tricks() -> list[str]:
    """Return every combination that attackers.c can play."""
    return [HONEST, *SLOW, *(f"TRICK {' '.join(one)}" for one in itertools.product("FBA", "OBNI", "SCT", "BP"))]


def free_time(
    pair: Pair, spinners: Spinners, tricks: Sequence[str], a_cpu: int = 0, prompts: int = TRICK_PROMPTS
) -> tuple[int, list[str]]:
    """(h) Return how many tricks got time for nothing, and all of them, the best for the bot first."""
    found: list[tuple[float, str, str]] = []
    with spinners(a_cpu) if a_cpu else nullcontext():
        for trick in tricks:
            turn = [(f"{trick} {TRICK_US} {CROWD_CHILDREN}", ""), ("", f"SLEEP {GAP_US} 1")]
            played = pair.play(turn * prompts, TRICK_LIMIT_MS)
            replies = [reply for reply in played.replies[VICTIM] if not reply.fault]
            used_ns, charged_ns = sum(said_ns(reply)[0] for reply in replies), sum(reply.own_ns for reply in replies)
            counted_ns = sum(reply.cpu_ns or 0 for reply in replies)
            free_ns = CHARGED_TARGET * used_ns - charged_ns - FREE_NS * len(replies)
            figures = f"used {used_ns / NS_PER_MS:6.1f} (counted {counted_ns / NS_PER_MS:6.1f}), charged"
            line = f"{trick:16} {played.word}, {len(replies)} answers: {figures} {charged_ns / NS_PER_MS:6.1f} ms"
            found.append((charged_ns / max(1, used_ns), trick, f"{line}{', FREE' * (free_ns > 0)}"))
    free = sum("FREE" in line for *_, line in found)
    found.sort()
    print(f"(h) {a_cpu} spinners a CPU: {len(tricks)} tricks, {free} with free time; the best for the bot:")
    for ratio, _, line in found[:BEST]:
        print(f"    {ratio:5.3f} {line}")
    return free, [trick for _, trick, _ in found]


def guilty(pair: Pair, spinners: Spinners, matches: int) -> int:
    """(i) Return how many guilty bots were not convicted."""
    spared = 0
    for a_cpu, order in itertools.product(BUSY, GUILTY):
        began_ns = time.monotonic_ns()
        with spinners(a_cpu):
            words = Counter(pair.play([(order, IDLE)], TRICK_LIMIT_MS).word for _ in range(matches))
        seconds = (time.monotonic_ns() - began_ns) / NS_PER_S / matches
        print(f"(i) {a_cpu} spinners a CPU, {order}: {told(words)}; {seconds:.1f} s a match")
        spared += matches - words[Fault.TIMEOUT]
    return int(spared > 0)


def sleepers(pair: Pair, spinners: Spinners, prompts: int) -> None:
    """(j) Print how much wall time a bot gets back that only sleeps, in one piece and in many."""
    for a_cpu, pieces in itertools.product((0, *LOADS), (1, PIECES)):
        with spinners(a_cpu) if a_cpu else nullcontext():
            played = pair.play([(f"SLEEP {SLEEP_US} {pieces}", "")] * prompts, 2 * SLEEP_US // 1000)
        replies = played.replies[VICTIM]
        given = [reply.stolen_ns / NS_PER_MS for reply in replies]
        late = [(reply.elapsed_ns - SLEEP_US * 1000) / NS_PER_MS for reply in replies]
        print(f"(j) {a_cpu} spinners a CPU, asleep in {pieces} pieces: {played.word}, given back in {SLEEP_US / 1e6} s")
        print(f"    {median(given):.1f} ms (at most {max(given, default=0):.1f}), late by {median(late):.1f} ms")


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")


def measure(sandbox: Sandbox, folder: Path, spinners: Spinners, scale: int) -> int:
    """Run all parts, or a share of each one; return how many targets are missed, of 8."""
    pair = Pair(sandbox, folder)
    with pair.arena:
        missed = victims(pair, spinners, max(1, 4 // scale), SETS_KIB if scale == 1 else SETS_KIB[1:2])
        for a_cpu in LOADS:
            missed += victims(pair, spinners, max(1, 4 // scale), SETS_KIB[1:2], a_cpu)
        tricks = all_tricks() if scale == 1 else [*KNOWN, HONEST]
        for a_cpu in (0, *LOADS):
            free, found = free_time(pair, spinners, tricks, a_cpu, TRICK_PROMPTS // min(scale, 6))
            tricks = list(dict.fromkeys([*found[:BEST], HONEST]))
            missed += free > 0
        missed += guilty(pair, spinners, max(1, 8 // scale))
        sleepers(pair, spinners, max(1, 20 // scale))
    return missed
