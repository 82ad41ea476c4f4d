"""What a bot can tell the next match in its box, and a bot in another box beside it, in bits. Needs root.

    ./scripts/bench channels [--short]

A symbol is drawn for each channel. The sender does what it can to send it, and the receiver reads. Numbers: the sender
drives a counter to a remainder, and what arrives is that remainder and a spread; log2 of the remainders over the spread
is what the channel carried. Times: the symbol is one bit, the receiver learns a threshold from half of the trials, and
the other half says how often it is right. What chance explains is 0.

(a) From match to match of a series: every channel once a boundary. (b) Between two boxes on different processors, (c)
on one. The host's page cache is emptied once at the beginning, as after a start of the machine, so whatever is not
resident shows. Channels that docs/why/walls-around-a-bot.md admits are marked; all others must be 0.
"""

import contextlib
import json
import math
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.engine.core import NS_PER_S, Message
from deadheat.league.config import Settings
from deadheat.sandbox.box import Box, Limits, Program
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.pipes import PipeTransport
from tests.benchmarks.targets import arguments

ROUNDS, SHORT_ROUNDS = 64, 12
SHARE_OF_SPREAD = 0.8
"""The spread of what arrives is the shortest arc with this share of the trials."""
CHANCE = 0.001
"""A result that is at least this likely by chance counts as nothing, because a dozen channels are examined."""
SEED = 13

BOT = r"""
import json, mmap, os, socket, sys, time
LIBRARY = next(p for p in ("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", sys.executable) if os.path.exists(p))
library = open(LIBRARY, "rb", buffering=0)
PAGES = os.fstat(library.fileno()).st_size // 4096
block = bytearray(16 << 20)

def drive(make, symbol, modulus):
    for _ in range(4 * modulus):
        try:
            if make() % modulus == symbol: return
        except OSError: return

def fork():
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
    return pid

def file():
    descriptor = os.open("/tmp/driven", os.O_CREAT | os.O_RDWR)
    os.unlink("/tmp/driven")
    number = os.fstat(descriptor).st_ino
    os.close(descriptor)
    return number

def pipe():
    ends = os.pipe()
    number = os.fstat(ends[0]).st_ino
    for end in ends: os.close(end)
    return number

def taken_ns(call):
    before = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - before

def page(number): os.pread(library.fileno(), 1, number * 7919 % PAGES * 4096)
def missing(number): os.path.exists(f"/usr/lib/missing-{number}-" + "x" * 60)
def read(way, number):
    for other in range(4): way(1_000_000 + 4 * number + other)
    return taken_ns(lambda: way(2 * number)) - taken_ns(lambda: way(2 * number + 1))
def now(): return time.time_ns() // 1_000_000
def hammer(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until: block[:8 << 20] = block[8 << 20:]
def spin(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until: pass
def copied(): return min(taken_ns(lambda: block.__setitem__(slice(0, 8 << 20), block[8 << 20:])) for _ in range(8))
def waited(): return taken_ns(lambda: [None for _ in range(300_000)])

for line in sys.stdin:
    if line.strip() == "FINISH": break
    print(json.dumps(eval(line)), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Channel:
    """`say` and `hear` are the bot's expressions; {s}: symbol, {n}: trial. With two symbols `hear` is a time."""

    name: str
    symbols: int
    say: str
    hear: str
    admitted: bool = False

    def bits(self, symbols: Sequence[int], heard: Sequence[float]) -> float:
        return timed_bits(symbols, heard) if self.symbols == 2 else driven_bits(symbols, heard, self.symbols)


COUNTERS = [
    Channel("numbers of files in /tmp", 4096, "drive(file, {s}, 4096)", "file()"),
    Channel("numbers of processes", 256, "drive(fork, {s}, 256)", "fork()"),
    Channel("numbers of pipes and sockets", 64, "drive(pipe, {s}, 64)", "pipe()"),
]
TIMES = [
    Channel("pages of the image", 2, "page(2 * {n} + {s})", "read(page, {n})"),
    Channel("names that are not there", 2, "missing(2 * {n} + {s})", "read(missing, {n})"),
]
CLOCK = Channel("the wall clock", 256, "time.sleep(({s} - now()) % 256 / 1000)", "now()", admitted=True)
SERIES = [*COUNTERS, *TIMES, CLOCK]
BURDENS = [
    Channel("caches and memory bandwidth", 2, "hammer(0.1) if {s} else time.sleep(0.1)", "copied()", admitted=True),
    Channel("a processor of both", 2, "spin(0.1) if {s} else time.sleep(0.1)", "waited()", admitted=True),
]
"""The listener looks while the speaker speaks."""
COUNTED_BESIDE = [replace(channel, admitted=channel.name.startswith("numbers of pipes")) for channel in COUNTERS]
BESIDE = [*COUNTED_BESIDE, *TIMES, BURDENS[0]]
ON_ONE = [COUNTED_BESIDE[2], BURDENS[1]]


def driven_bits(symbols: Sequence[int], heard: Sequence[float], modulus: int) -> float:
    """Compute how much of the remainder arrives, wherever it has been shifted to."""
    off = sorted((int(value) - symbol) % modulus for symbol, value in zip(symbols, heard, strict=True))
    held = math.ceil(SHARE_OF_SPREAD * len(off))
    around = off + [value + modulus for value in off]
    spread = 1 + min(around[first + held - 1] - around[first] for first in range(len(off)))
    by_chance = (spread / modulus) ** (held - 1) * math.comb(len(off), held) * len(off)
    return math.log2(modulus / spread) if by_chance < CHANCE else 0.0


def timed_bits(symbols: Sequence[int], heard: Sequence[float]) -> float:
    """Compute the bits that a threshold, learnt from every other trial, predicts in the rest."""
    trials = list(zip(symbols, heard, strict=True))
    learnt, tested = trials[::2], trials[1::2]
    threshold, way = max(
        ((value, way) for _, value in learnt for way in (False, True)), key=lambda rule: right(learnt, *rule)
    )
    hits, count = right(tested, threshold, way), len(tested)
    by_chance = sum(math.comb(count, n) for n in range(hits, count + 1)) / 2**count
    wrong = 1 - hits / count
    entropy = 0.0 if wrong in {0.0, 1.0} else -sum(p * math.log2(p) for p in (wrong, 1 - wrong))
    return 1 - entropy if by_chance < CHANCE else 0.0


def right(trials: Sequence[tuple[int, float]], threshold: float, way: bool) -> int:
    """Count the symbols that this rule names correctly."""
    return sum((value > threshold) is (bool(symbol) is way) for symbol, value in trials)


def started(*boxes: Box) -> Callable[[Mapping[int, str]], dict[int, float]]:
    """Start the bots, and return a function that asks some of them something at the same time."""
    transport = PipeTransport([box.start() for box in boxes])

    def ask(lines: Mapping[int, str]) -> dict[int, float]:
        replies = transport.exchange([Message(seat, line, 60 * NS_PER_S) for seat, line in lines.items()])
        assert all(reply.line is not None for reply in replies.values()), (lines, replies)
        return {seat: float(json.loads(reply.line or "") or 0) for seat, reply in replies.items()}

    return ask


def draw(channels: Sequence[Channel], rounds: int) -> dict[str, list[int]]:
    chance = random.Random(SEED)
    return {c.name: [chance.randrange(c.symbols) for _ in range(rounds)] for c in channels}


def along_a_series(box: Box, rounds: int) -> Mapping[str, float]:
    """Measure part (a): the bits that each boundary carries."""
    symbols = draw(SERIES, rounds)
    heard: dict[str, list[float]] = {channel.name: [] for channel in SERIES}
    for trial in range(rounds + 1):
        ask = started(box)
        for channel in reversed(SERIES):  # the clock first
            if trial:
                heard[channel.name].append(ask({0: channel.hear.format(n=trial - 1)})[0])
        for channel in SERIES:
            if trial < rounds:
                ask({0: channel.say.format(s=symbols[channel.name][trial], n=trial)})
        box.ask_stop(0)
        box.stopped()
    return {channel.name: channel.bits(symbols[channel.name], heard[channel.name]) for channel in SERIES}


def between(speaker: Box, listener: Box, channels: Sequence[Channel], rounds: int) -> Mapping[str, float]:
    """Measure parts (b) and (c): the bits that each trial carries, each with fresh processes."""
    found = {}
    for channel in channels:
        symbols = draw([channel], rounds)[channel.name]
        heard = []
        for trial, symbol in enumerate(symbols):
            ask = started(speaker, listener)
            say, hear = channel.say.format(s=symbol, n=trial), channel.hear.format(n=trial)
            if channel in BURDENS:
                heard.append(ask({0: say, 1: hear})[1])
            else:
                ask({0: say})
                heard.append(ask({1: hear})[1])
            for box in (speaker, listener):
                box.ask_stop(0)
                box.stopped()
        found[channel.name] = channel.bits(symbols, heard)
    return found


def table(title: str, channels: Sequence[Channel], found: Mapping[str, float]) -> int:
    """Print it; return how many channels carry something without being admitted."""
    print(f"{title}\n    {'':32}{'of':>6}{'bits':>8}")
    for channel in channels:
        mark = "  admitted" if channel.admitted else ""
        print(f"    {channel.name:32}{math.log2(channel.symbols):6.0f}{found[channel.name]:8.1f}{mark}")
    return sum(found[channel.name] > 0 for channel in channels if not channel.admitted)


def forget_the_image() -> None:
    """Empty the host's page cache, as a start of the machine does."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def main() -> int:
    rounds = SHORT_ROUNDS if arguments(__doc__, "few rounds, to see that it works").parse_args().short else ROUNDS
    cpus = sorted(os.sched_getaffinity(0))[:2]
    folder = Path(tempfile.mkdtemp(prefix="deadheat-bench-"))
    sandbox = DockerSandbox(Settings().image, folder / "run")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(sandbox.close)
        (folder / "bot").mkdir()
        (folder / "bot" / "main.py").write_text(BOT)
        program = Program(folder / "bot", ("/usr/bin/python3", "main.py"), "channels")
        boxes = [sandbox.open(program, Limits(cpus=str(cpu))) for cpu in (cpus[0], cpus[-1], cpus[0])]
        for box in boxes:
            stack.callback(box.close)
        forget_the_image()
        open_ways = table("(a) From match to match", SERIES, along_a_series(boxes[0], rounds))
        open_ways += table("(b) Between two boxes", BESIDE, between(boxes[0], boxes[1], BESIDE, rounds))
        shared = between(boxes[0], boxes[2], ON_ONE, rounds)
        open_ways += table("(c) The same on one processor", ON_ONE, shared)
    print("To reach: 0 bits wherever nothing is admitted.")
    print("Reached." if not open_ways else f"{open_ways} missed.")
    return int(bool(open_ways))


if __name__ == "__main__":
    raise SystemExit(main())
