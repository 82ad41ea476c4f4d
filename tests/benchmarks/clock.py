"""Is the clock fair, and what does it cost? Needs root and a Docker Engine.

    ./scripts/bench clock [--short]

(a) On an idle host, answers aimed at 1 ms and more before and after the deadline: wrong verdicts. The truth is not the
aim but the bot's own stamps around its write, because the host itself may be late where nothing in it shows this (a
hypervisor that takes less than a tick): such answers are counted separately. (b) With twice as many spinning processes
as CPUs: innocent bots convicted, guilty ones acquitted. (c) The referee's own lateness under that load over idle. (d)
The referee's CPU time a request over one written with asyncio streams; see `referees`. (e) Matches of innocent bots
decided at the first attempt under load; (f) what bots that want their match void gain; see `tricks`. (g) Innocent bots
with memory beside opponents that disturb them; (h) computing that is not charged; (i) guilty bots that stay busy; (j)
sleep that is given back; see `attacks`.
"""

import contextlib
import os
import random
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat.engine.core import NS_PER_MS, Fault, Message, Reply, TransportError
from deadheat.engine.own_time import NOISE_NS
from deadheat.league.config import Settings
from deadheat.sandbox.arena import quiet
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import Box, Channel, Limits, Meter, Program, Sandbox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.pipes import PipeTransport, _Open
from tests.benchmarks import attacks, referees, tricks
from tests.benchmarks.programs import HERE, built
from tests.benchmarks.targets import Targets, arguments
from tests.cluster.network import die_with_us

LIMIT_MS = 20
MARGINS_MS = (1, 2, 5)
ANSWER_SECONDS = 10
LATENESS_TARGET, BARE_TARGET, FULL_TARGET = 2.0, 0.4, 0.6


def main() -> int:
    scale = 20 if arguments(__doc__, "a twentieth of everything, to see that it works").parse_args().short else 1
    targets = Targets(scale > 1)
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as name:
        folder = Path(name)
        sandbox = DockerSandbox(Settings().image, folder / "run", Settings().runtime)
        timed = built(HERE / "timed.c", "c", sandbox, folder / "timed")
        echo = built(HERE / "echo.c", "c", sandbox, folder / "echo")
        missed = idle(sandbox, timed, 1000 // scale)
        missed += loaded(sandbox, timed, 1000 // scale, 200 // scale)
        missed += lateness(sandbox, timed, 1000 // scale)
        cost(targets, sandbox, echo, 20_000 // scale)
        field = tricks.Field(sandbox, folder)
        missed += tricks.innocent_and_late(field, spinners, max(2, 50 // scale), max(1, 10 // scale))
        missed += tricks.tricks(field, spinners, 50 // scale)
        missed += attacks.measure(sandbox, folder, spinners, scale)
        sandbox.close()
    print("All others are as they must be." if not missed else f"{missed} of 20 others missed.")
    return targets.report() or int(bool(missed))


class Observed(PipeTransport):
    """Keeps the deadline of the last prompt."""

    deadline_ns = 0

    def _look(self, prompt: _Open) -> Reply | None:
        self.deadline_ns = prompt.deadline_ns
        return super()._look(prompt)


@dataclass(frozen=True, slots=True)
class Asked:
    """A verdict, or the cause of a void, and when the bot wrote its answer by its own stamps, from the deadline on."""

    verdict: str
    begun_ns: int
    done_ns: int

    @property
    def truth(self) -> str:
        """Judge by the bot's stamps; within NOISE_NS before a deadline the truth counts as unknown."""
        if self.begun_ns > 0:
            return "late"
        return "in time" if self.done_ns <= -NOISE_NS else "too near"


class Judge:
    """One bot under the transport, asked again and again."""

    def __init__(self, sandbox: Sandbox, program: Program, cpus: str) -> None:
        self._box: Box = sandbox.open(program, Limits(cpus=cpus))
        self._channel: Channel = self._box.start()
        self._transport = Observed([self._channel])

    def ask(self, order: str) -> Asked:
        """Ask the bot and, whatever the verdict, for its stamps once it has answered."""
        try:
            reply = self._transport.exchange([Message(0, order, LIMIT_MS * NS_PER_MS)])[0]
            assert reply.fault in (None, Fault.TIMEOUT), reply
            verdict = "in time" if reply.fault is None else "timeout"
        except TransportError as error:
            verdict = error.cause
        begun_ns, done_ns = self._stamps()
        return Asked(verdict, begun_ns - self._transport.deadline_ns, done_ns - self._transport.deadline_ns)

    def _stamps(self) -> tuple[int, int]:
        channel = self._channel
        os.write(channel.stdin_fd, b"WHEN\n")
        said = channel.unread  # an answer that was not counted comes first
        while (found := re.search(rb"AT (\d+) (\d+)\n", said)) is None:
            assert select.select([channel.stdout_fd], [], [], ANSWER_SECONDS)[0], "the bot does not answer"
            said += os.read(channel.stdout_fd, 4096)
        channel.unread = b""
        return int(found[1]), int(found[2])

    def close(self) -> None:
        self._box.close()


def idle(sandbox: Sandbox, program: Program, prompts: int) -> int:
    judge = Judge(sandbox, program, "0")
    chance = random.Random(1)
    seen: Counter[tuple[str, str]] = Counter()
    delayed = unseen = forgiven = 0
    with quiet():
        for _ in range(prompts):
            margin_ms = chance.choice(MARGINS_MS) * chance.choice((-1, 1))
            asked = judge.ask(f"SLEEP {(LIMIT_MS + margin_ms) * 1000}")
            seen[asked.truth, asked.verdict] += 1
            delayed += asked.begun_ns - margin_ms * NS_PER_MS > NOISE_NS
            was_delayed = margin_ms < 0 and asked.truth == "late"
            unseen += was_delayed and asked.verdict == "timeout"
            forgiven += was_delayed and asked.verdict == "in time"
    judge.close()
    verdicts = sorted({verdict for _, verdict in seen})
    print(f"(a) {prompts} answers aimed 1, 2 and 5 ms beside the deadline; their bot's own stamps, and the verdicts:")
    print(f"    {'':14}" + "".join(f"{verdict:>14}" for verdict in verdicts))
    for truth in ("in time", "too near", "late"):
        print(f"    {truth:14}" + "".join(f"{seen[truth, verdict]:14}" for verdict in verdicts))
    wrong = seen["in time", "timeout"] + seen["late", "in time"] - forgiven
    print(f"    Delayed by this host by more than 0.5 ms: {delayed}; by that past the deadline: acquitted {forgiven},")
    print(f"    convicted (no counter saw it) {unseen}. Other verdicts that contradict the stamps: {wrong}")
    return int(wrong > 0)


def loaded(sandbox: Sandbox, program: Program, innocent: int, guilty: int) -> int:
    judge = Judge(sandbox, program, "0")
    seen: Counter[tuple[str, str]] = Counter()
    with spinners(), quiet():
        for number in range(innocent):
            seen["innocent", judge.ask(("SLEEP 2000", "WORK 2000", "WORK 8000")[number % 3]).verdict] += 1
        for number in range(guilty):
            late = (f"SLEEP {(LIMIT_MS + 3) * 1000}", f"WORK {(LIMIT_MS + 3) * 1000}")[number % 2]
            seen["guilty", judge.ask(late).verdict] += 1
    judge.close()
    wrong = seen["innocent", "timeout"] + seen["guilty", "in time"]
    print(f"(b) with {2 * (os.cpu_count() or 1)} spinning processes: {told(seen)}; wrong verdicts {wrong}")
    return int(wrong > 0)


def lateness(sandbox: Sandbox, program: Program, prompts: int) -> int:
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


class Undisturbed(Meter):
    """A meter that reports nothing stolen, ever."""

    def counters(self, fresh: bool = True) -> Counters:
        return Counters(cpu_ns=0, full_ns=0)


def late_by(sandbox: Sandbox, program: Program, prompts: int) -> list[int]:
    """Measure how late the referee woke at the deadlines of a bot that says nothing, in nanoseconds."""
    box = sandbox.open(program, Limits())
    channel = box.start()
    channel.meter = Undisturbed()  # nothing is to be attributed: only the wake-up counts
    transport = PipeTransport([channel])
    with quiet():
        taken = [transport.exchange([Message(0, "MUTE", 5 * NS_PER_MS)])[0].late_ns for _ in range(prompts)]
    box.close()
    return taken


def cost(targets: Targets, sandbox: Sandbox, program: Program, requests: int) -> None:
    for seats, how in ((2, "both seats at once"), (1, "one seat at a time")):
        taken = referees.measure(sandbox, program, seats, requests, turns=10)
        shown = ", ".join(f"{kind} {statistics.median(spent):.1f}" for kind, spent in taken.items())
        bare, everything = (
            statistics.median(a / b for a, b in zip(taken[kind], taken[referees.ASYNCIO], strict=True))
            for kind in (referees.BARE, referees.EVERYTHING)
        )
        print(f"(d) referee's CPU a request, us, {how}: {shown}; over asyncio:")
        print(f"    bare {targets.shown(f'bare, {how}', bare, most=BARE_TARGET, form='.2f')}")
        told = targets.shown(f"with everything on, {how}", everything, most=FULL_TARGET, form=".2f")
        print(f"    with everything on {told}")


@contextlib.contextmanager
def spinners(a_cpu: int = 2) -> Iterator[None]:
    """Run this many busy processes a CPU, each in its own session: one session may weigh as little as one process."""
    spin = [sys.executable, "-Sc", "while True: pass"]
    count = a_cpu * (os.cpu_count() or 1)
    running = [
        subprocess.Popen(spin, preexec_fn=die_with_us, start_new_session=True)  # noqa: PLW1509  one thread
        for _ in range(count)
    ]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def realtime_permitted() -> bool:
    """Say whether `quiet` gets its priority here."""
    with quiet():
        return os.sched_getscheduler(0) & os.SCHED_FIFO == os.SCHED_FIFO


def p99(values: Sequence[int]) -> int:
    return sorted(values)[min(len(values) - 1, len(values) * 99 // 100)]


def told(seen: Counter[tuple[str, str]]) -> str:
    return ", ".join(f"{who} {how} {count}" for (who, how), count in sorted(seen.items()))


if __name__ == "__main__":
    raise SystemExit(main())
