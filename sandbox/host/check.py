"""Gathers the facts that `sandbox.host.fitness` judges, from this host's configuration and a trial with reference bots.

Configuration shows what could go wrong (no pressure files, a power-saving governor, shared cores, swap), the trial what
does. In a real box, against a limit of `LIMIT_MS`, a sleeper answers a margin (see `sandbox.runtimes`) before the limit
and the same margin after it, a worker uses half of it, a spinner never answers, and a chatterer answers at once.
"""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Message, Reply, TransportError
from deadheat.sandbox.arena import Holding, quiet
from deadheat.sandbox.box import Box, Limits, Program, Sandbox, SandboxError
from deadheat.sandbox.cgroup import wanted_weight
from deadheat.sandbox.containers import Confined
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.fitness import Facts, Report, judged, percentiles
from deadheat.sandbox.host.slots import MEMORY_BYTES
from deadheat.sandbox.pipes import PipeTransport
from deadheat.sandbox.runtimes import MARGIN_MS, NO_RUNTIME

CODE = """
import sys, time
for line in sys.stdin:
    read_at = time.monotonic()
    order, _, milliseconds = line.strip().partition(" ")
    if order == "SLEEP":
        until = read_at + float(milliseconds) / 1000
        time.sleep(max(0.0, until - time.monotonic() - 0.0005))
        while time.monotonic() < until: pass
    elif order == "WORK":
        until = time.process_time() + float(milliseconds) / 1000
        while time.process_time() < until: pass
    elif order == "SPIN":
        while True: pass
    print("OK", flush=True)
"""

CHATTER, SLEEP, WORK, SPIN = "CHATTER", "SLEEP {}", "WORK {}", "SPIN"
"""The orders to answer at once; after so many ms, most of them asleep; after using so many ms of CPU time,
however long the host lets that take; and to compute forever, late on any host that gives the bot a CPU."""

REFERENCE_WATCH_NS = 3 * NS_PER_S
"""How long past its deadline a reference bot is watched: a check is repeated anyway, and holds a slot meanwhile."""

LIMIT_MS = 50
WORK_MS = LIMIT_MS / 2
FULL_ROUNDS, QUICK_ROUNDS = 30, 6
"""Each round gives four verdicts. On an idle host a full check takes about ten seconds, a quick one two."""

LONGEST_SECONDS = 60
"""After this time in its turns no further round begins: a busy host must not keep a check for minutes."""

EACH = 2  # orders of either truth in each round
TRIPS = 20  # exchanges with a chatterer in each round
PAUSE_SECONDS = 0.02  # before each order; then the bot is reading, unless this host is very busy


def reference_program(folder: Path) -> Program:
    """Write the program of all reference bots into an empty folder; each prompt is an order to be one of them."""
    (folder / "main.py").write_text(CODE)
    return Program(folder, ("/usr/bin/python3", "main.py"), "reference")


def _orders(margin_ms: int) -> Iterator[tuple[str, str]]:
    """Yield a round's orders. Where the margin is large, CPU clocks are coarse: 25 ms by them may be 60."""
    yield "innocent", SLEEP.format(LIMIT_MS - margin_ms)
    yield "innocent", WORK.format(WORK_MS * MARGIN_MS / margin_ms)
    yield "guilty", SLEEP.format(LIMIT_MS + margin_ms)
    yield "guilty", SPIN


@dataclass(frozen=True, slots=True)
class Host:
    """Reads files below a root directory, which tests replace."""

    root: Path = Path("/")

    def text(self, path: str) -> str:
        """Return a file's content, or "" if it does not exist."""
        try:
            return (self.root / path).read_text()
        except OSError:
            return ""

    def texts(self, pattern: str) -> tuple[str, ...]:
        """Return the distinct contents of all files of that pattern."""
        return tuple(sorted({self.text(str(path.relative_to(self.root))).strip() for path in self.root.glob(pattern)}))


def check_host(
    sandbox: Sandbox,
    cpus: Sequence[int],
    rounds: int = FULL_ROUNDS,
    between: Callable[[], None] = lambda: None,
    host: Host | None = None,
    bots: int = 0,
    turn: Holding = nullcontext,
) -> Report:
    """Check the host, with the reference bots on the first of `cpus`. `between` is called while no bot's clock runs.
    `bots` may run here at a time; 0: unknown. A `turn` holds the processors for a round. Raises TransportError.
    """
    host = host or Host()
    runtime = sandbox.runtime if isinstance(sandbox, DockerSandbox) else NO_RUNTIME
    with tempfile.TemporaryDirectory(prefix="deadheat-check-") as name:
        program = reference_program(Path(name))
        with closing(sandbox.open(program, Limits(cpus=str(cpus[0]) if cpus else ""))) as box:
            before = stat(host)
            tried = _Trial(box, between, runtime.margin_ms)
            tried.run(rounds, turn)
            stolen, busy = shares(before, stat(host))
            weighed = weights(box, sandbox)
    with quiet():
        realtime = os.sched_getscheduler(0) & os.SCHED_FIFO == os.SCHED_FIFO
    groups = host.root / "sys/fs/cgroup"
    unified = (groups / "cgroup.controllers").exists()
    cpu = "sys/devices/system/cpu"
    cores = host.texts(f"{cpu}/cpu[0-9]*/topology/thread_siblings_list")
    return judged(
        Facts(
            cgroups="2" if unified else "1+2" if (groups / "unified").is_dir() else "1",
            signals=tried.signals,
            clock=host.text("sys/devices/system/clocksource/clocksource0/current_clocksource").strip(),
            realtime=realtime,
            governors=host.texts(f"{cpu}/cpu[0-9]*/cpufreq/scaling_governor"),
            waiters=int(host.text("proc/sys/fs/epoll/max_user_watches") or 0),
            swap=len(host.text("proc/swaps").splitlines()) > 1,
            shared_cores="; ".join(siblings for siblings in cores if set(siblings) & set(",-")),
            innocent=EACH * tried.rounds,
            guilty=EACH * tried.rounds,
            convicted=tried.seen["innocent", "timeout"],
            acquitted=tried.seen["guilty", "in time"],
            disturbed=tried.seen["innocent", "void"],
            escaped=tried.seen["guilty", "void"] + tried.seen["guilty", "doubt"],
            late_ns=percentiles(tried.late_ns),
            trip_ns=percentiles(tried.trip_ns),
            steal_share=stolen,
            steal_told=steal_told(host),
            busy_share=busy,
            runtime="" if runtime is NO_RUNTIME else str(runtime),
            margin_ms=runtime.margin_ms,
            bots=bots,
            memory_bytes=MEMORY_BYTES,
            **weighed,
        )
    )


def weights(box: Box, sandbox: Sandbox) -> dict[str, Any]:
    """Return the facts about the weight of boxes on this host; none outside an engine, or for no one in particular."""
    if not (isinstance(box, Confined) and isinstance(sandbox, DockerSandbox)):
        return {}
    parent, only_plays = box.parent, sandbox.only_plays
    should = 0.0 if only_plays is None else min(wanted_weight(False, only_plays), parent.greatest)
    return {"weight": parent.weight, "weight_wanted": should, "nice": box.nice, "favours": box.can_favour()}


@dataclass
class _Trial:
    """Reference bots in one box, and their verdicts: `seen` counts (truth, verdict)."""

    box: Box
    between: Callable[[], None]
    margin_ms: int
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    late_ns: list[int] = field(default_factory=list)
    trip_ns: list[int] = field(default_factory=list)
    signals: tuple[str, ...] = ()
    rounds: int = 0
    _transport: PipeTransport | None = None

    def run(self, rounds: int, turn: Holding = nullcontext) -> None:
        """Run the trial. Raises TransportError if not one reference bot could be started."""
        left_seconds: float = LONGEST_SECONDS
        while self.rounds < rounds and left_seconds > 0:
            with turn():
                began_at = time.monotonic()
                if self._transport is None:
                    self._fresh()
                with quiet():
                    self._round()
                left_seconds -= time.monotonic() - began_at

    def _round(self) -> None:
        self.rounds += 1
        for truth, order in _orders(self.margin_ms):
            self.seen[truth, self._ask(order)] += 1
        for _ in range(TRIPS):
            try:
                self.trip_ns.append(self._exchange(CHATTER, NS_PER_S).elapsed_ns)
            except TransportError:
                self._fresh()

    def _ask(self, order: str) -> str:
        """Give one order and return ``in time``, ``doubt``, ``timeout`` or ``void``."""
        self.between()
        time.sleep(PAUSE_SECONDS)
        try:
            reply = self._exchange(order, LIMIT_MS * NS_PER_MS)
        except TransportError as error:
            late_ns = error.evidence.get("late_ns")
            self.late_ns += [late_ns] if isinstance(late_ns, int) else []
            self._fresh()
            return "void"
        if reply.fault is None:
            return "doubt" if doubtful(reply, LIMIT_MS * NS_PER_MS) else "in time"
        self.late_ns.append(reply.late_ns)
        self._fresh()  # its late answer must not count for the next order
        return "timeout"

    def _exchange(self, order: str, limit_ns: int) -> Reply:
        assert self._transport is not None
        reply = self._transport.exchange([Message(0, order, limit_ns)])[0]
        if reply.fault not in (None, Fault.TIMEOUT):
            raise SandboxError("reference-bot", f"a reference bot {reply.fault} at {order}")
        return reply

    def _fresh(self) -> None:
        """Start a new process, and wait until its interpreter is ready."""
        if self._transport is not None:
            self.box.ask_stop(0)
            self.box.stopped()
        channel = self.box.start()
        self._transport = PipeTransport([channel], watch_ns=REFERENCE_WATCH_NS)
        self._exchange(CHATTER, 10 * NS_PER_S)
        counters = channel.meter.counters()
        shown = {"pressure": counters.full_ns, "run-delay": counters.delay_ns}
        self.signals = tuple(name for name, value in shown.items() if value is not None)


def doubtful(reply: Reply, limit_ns: int) -> bool:
    """Say whether a late reply counted only because this host, by its own counters, stood still, or because
    of a wait that began before the prompt: only the pressure tells when a wait began.
    """
    shown = reply.evidence
    if shown is None:
        return False
    before_ns = 0 if None in (shown.delay_ns, shown.full_ns) else (shown.delay_ns or 0) - (shown.full_ns or 0)
    given_ns = shown.steal_ns + shown.unseen_ns + (before_ns if before_ns > NS_PER_MS else 0)
    return limit_ns < min(reply.elapsed_ns, reply.own_ns + given_ns)


def stat(host: Host | None = None) -> tuple[int, ...]:
    """Read the first line of /proc/stat: the time of all CPUs so far, in ticks; zeros if there is none."""
    lines = (host or Host()).text("proc/stat").splitlines()
    return tuple(int(word) for word in lines[0].split()[1:9]) if lines else (0,) * 8


def shares(before: Sequence[int], after: Sequence[int]) -> tuple[float, float]:
    """Return the shares of the time between two readings of `stat` that the hypervisor took and that were busy."""
    spent = [new - old for old, new in zip(before, after, strict=True)]
    passed = sum(spent)
    if passed <= 0:
        return 0.0, 0.0
    _user, _nice, _system, idle, waiting, _irq, _softirq, stolen = spent
    return max(0, stolen) / passed, (passed - idle - waiting) / passed


def steal_told(host: Host) -> bool:
    """Return False on a virtual machine whose hypervisor has never reported taking anything."""
    flags = (line for line in host.text("proc/cpuinfo").splitlines() if line.startswith("flags"))
    return stat(host)[-1] > 0 or not any("hypervisor" in line.split() for line in flags)
