"""Is the clock just, and what does it cost? Needs root and a Docker Engine.

    ./scripts/bench clock [--short]

(a) On an idle host, answers aimed at 1 ms and more before and after the deadline: wrong verdicts. (b) With twice as
many spinning processes as CPUs: innocent bots convicted, guilty ones acquitted, attempts void. (c) The referee's own
lateness under that load over idle. (d) The referee's CPU time a request over one written with asyncio streams.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.core import NS_PER_MS, NS_PER_S, Fault, Message, TransportError
from league.config import Settings
from sandbox.arena import quiet
from sandbox.attribution import Counters
from sandbox.box import Box, Channel, Limits, NoMeter, Program, Sandbox
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.pipes import PipeTransport
from tests.benchmarks.programs import HERE, built

LIMIT_MS = 20
MARGINS_MS = (1, 2, 5)
LATENESS_TARGET, BARE_TARGET, FULL_TARGET = 2.0, 0.4, 0.6


def main() -> int:
    """Measure, print, and say whether the targets were reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a twentieth of everything, to see that it works")
    scale = 20 if parser.parse_args().short else 1
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as name:
        folder = Path(name)
        sandbox = DockerSandbox(Settings().image, folder / "run")
        timed = built(HERE / "timed.c", "c", sandbox, folder / "timed")
        echo = built(HERE / "echo.c", "c", sandbox, folder / "echo")
        missed = idle(sandbox, timed, 1000 // scale)
        missed += loaded(sandbox, timed, 1000 // scale, 200 // scale)
        missed += lateness(sandbox, timed, 1000 // scale)
        missed += cost(sandbox, echo, 20_000 // scale)
        sandbox.close()
    print("Reached." if not missed else f"{missed} targets missed.")
    return int(bool(missed))


class Judge:
    """One bot under the transport, asked again and again; a void starts it afresh."""

    def __init__(self, sandbox: Sandbox, program: Program, cpus: str) -> None:
        self._box: Box = sandbox.open(program, Limits(cpus=cpus))
        self._running = False
        self._fresh()

    def _fresh(self) -> None:
        if self._running:
            self._box.ask_stop(0)
            self._box.stopped()
        self.channel: Channel = self._box.start()
        self.transport = PipeTransport([self.channel])
        self._running = True

    def ask(self, order: str) -> str:
        """``in time``, ``timeout`` or the cause of a void."""
        try:
            reply = self.transport.exchange([Message(0, order, LIMIT_MS * NS_PER_MS)])[0]
        except TransportError as error:
            self._fresh()
            return error.cause
        if reply.fault is not None:
            assert reply.fault is Fault.TIMEOUT, reply
            self._fresh()  # its late answer must not be taken for the next one's
            return "timeout"
        return "in time"

    def close(self) -> None:
        self._box.close()


def idle(sandbox: Sandbox, program: Program, prompts: int) -> int:
    """(a)"""
    judge = Judge(sandbox, program, "0")
    chance = random.Random(1)
    seen: Counter[tuple[str, str]] = Counter()
    with quiet():
        for _ in range(prompts):
            margin_ms = chance.choice(MARGINS_MS) * chance.choice((-1, 1))
            order = f"SLEEP {(LIMIT_MS + margin_ms) * 1000}"
            seen["before" if margin_ms < 0 else "after", judge.ask(order)] += 1
    judge.close()
    wrong = seen["before", "timeout"] + seen["after", "in time"]
    print(f"(a) {prompts} answers 1 ms and more beside the deadline: {told(seen)}; wrong verdicts {wrong}")
    return int(wrong > 0)


def loaded(sandbox: Sandbox, program: Program, innocent: int, guilty: int) -> int:
    """(b)"""
    judge = Judge(sandbox, program, "0")
    seen: Counter[tuple[str, str]] = Counter()
    with spinners(), quiet():
        for number in range(innocent):
            seen["innocent", judge.ask(("SLEEP 2000", "WORK 2000", "WORK 8000")[number % 3])] += 1
        for number in range(guilty):
            late = (f"SLEEP {(LIMIT_MS + 3) * 1000}", f"WORK {(LIMIT_MS + 3) * 1000}")[number % 2]
            seen["guilty", judge.ask(late)] += 1
    judge.close()
    wrong = seen["innocent", "timeout"] + seen["guilty", "in time"]
    print(f"(b) with {2 * (os.cpu_count() or 1)} spinning processes: {told(seen)}; wrong verdicts {wrong}")
    return int(wrong > 0)


def lateness(sandbox: Sandbox, program: Program, prompts: int) -> int:
    """(c)"""
    idle_ns = late_by(sandbox, program, prompts)
    with spinners():
        loaded_ns = late_by(sandbox, program, prompts)
    ratio = p99(loaded_ns) / p99(idle_ns)
    realtime = "SCHED_FIFO" if realtime_permitted() else "SCHED_FIFO not permitted"
    print(
        f"(c) referee's lateness, p99: idle {p99(idle_ns) / 1000:.0f} us, loaded {p99(loaded_ns) / 1000:.0f} us, "
        f"ratio {ratio:.2f} ({realtime})"
    )
    return int(ratio > LATENESS_TARGET and realtime_permitted())


class Undisturbed(NoMeter):
    """A meter of a bot from which nothing is ever stolen."""

    def counters(self, fresh: bool = True) -> Counters:
        """See `sandbox.box.Meter`."""
        return Counters(cpu_ns=0, full_ns=0)


def late_by(sandbox: Sandbox, program: Program, prompts: int) -> list[int]:
    """How late the referee woke at the deadlines of a bot that says nothing, in nanoseconds."""
    box = sandbox.open(program, Limits())
    channel = box.start()
    channel.meter = Undisturbed()  # nothing is to be attributed: only the wake-up counts
    transport = PipeTransport([channel], late_bound_ns=NS_PER_S)
    with quiet():
        taken = [transport.exchange([Message(0, "MUTE", 5 * NS_PER_MS)])[0].late_ns for _ in range(prompts)]
    box.close()
    return taken


def cost(sandbox: Sandbox, program: Program, requests: int) -> int:
    """(d)"""
    turns = 10
    figures: dict[str, list[float]] = {"asyncio": [], "bare": [], "everything": []}
    bare, full = LocalSandbox().open(program, Limits()), sandbox.open(program, Limits())
    bare_channel, full_channel = bare.start(), full.start()
    bare_channel.meter = NoMeter()
    transports = {"bare": PipeTransport([bare_channel]), "everything": PipeTransport([full_channel])}
    for _ in range(turns):
        figures["asyncio"].append(asyncio.run(asyncio_referee(program, requests // turns)))
        for name, transport in transports.items():
            with quiet():
                began = time.process_time()
                for _ in range(requests // turns):
                    transport.exchange([Message(0, "PING", 500 * NS_PER_MS)])
                figures[name].append((time.process_time() - began) / (requests // turns) * 1e6)
    bare.close()
    full.close()
    ratio = {
        n: statistics.median(a / b for a, b in zip(figures[n], figures["asyncio"], strict=True)) for n in transports
    }
    shown = ", ".join(f"{name} {statistics.median(taken):.1f}" for name, taken in figures.items())
    print(f"(d) referee's CPU a request, us: {shown}; over asyncio: {ratio['bare']:.2f}, {ratio['everything']:.2f}")
    return int(ratio["bare"] > BARE_TARGET) + int(ratio["everything"] > FULL_TARGET)


async def asyncio_referee(program: Program, requests: int) -> float:
    """The referee that everybody writes first: subprocess, streams, wait_for. CPU microseconds a request."""
    pipe = asyncio.subprocess.PIPE
    bot = await asyncio.create_subprocess_exec(*program.command, cwd=program.directory, stdin=pipe, stdout=pipe)
    assert bot.stdin is not None and bot.stdout is not None
    began = time.process_time()
    for _ in range(requests):
        bot.stdin.write(b"PING\n")
        await bot.stdin.drain()
        line = await asyncio.wait_for(bot.stdout.readline(), 0.5)
        assert line == b"OK\n"
    taken = (time.process_time() - began) / requests * 1e6
    bot.stdin.close()
    await bot.wait()
    return taken


@contextlib.contextmanager
def spinners() -> Iterator[None]:
    """Twice as many busy processes as CPUs."""
    code = "while True: pass"
    running = [subprocess.Popen([sys.executable, "-Sc", code]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def realtime_permitted() -> bool:
    """Whether `quiet` gets its priority here."""
    with quiet():
        return os.sched_getscheduler(0) & os.SCHED_FIFO == os.SCHED_FIFO


def p99(values: Sequence[int]) -> int:
    """The 99th percentile."""
    return sorted(values)[min(len(values) - 1, len(values) * 99 // 100)]


def told(seen: Counter[tuple[str, str]]) -> str:
    """The counts in words."""
    return ", ".join(f"{who} {how} {count}" for (who, how), count in sorted(seen.items()))


if __name__ == "__main__":
    raise SystemExit(main())
