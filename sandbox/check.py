"""Is this host fit to judge? Looks at its configuration, and tries it with bots whose verdict is known beforehand.

Theory of operation
-------------------
Configuration says what could go wrong (no pressure files, a frequency governor that saves power, shared cores, swap);
the trial says what does. Three reference bots run in a real box against a limit of `LIMIT_MS`: a sleeper that answers
`MARGIN_MS` before it, one that answers that much after it, and a chatterer that answers at once. A wrong verdict, or
many voids, means that this host must not judge; everything else is a remark with its mend.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.core import NS_PER_MS, NS_PER_S, Fault, Message, TransportError
from sandbox.arena import quiet
from sandbox.box import Box, Limits, Program, Sandbox
from sandbox.pipes import LATE_BOUND_NS, PipeTransport

LIMIT_MS = 50
MARGIN_MS = 3
PROMPTS = 60
MAX_VOID_SHARE = 0.05
MAX_STEAL_SHARE = 0.02

REFERENCE_BOT = """
import sys, time
for line in sys.stdin:
    read_at = time.monotonic()
    word, _, milliseconds = line.partition(" ")
    if word == "SLEEP":
        until = read_at + float(milliseconds) / 1000
        time.sleep(max(0.0, until - time.monotonic() - 0.0005))
        while time.monotonic() < until: pass
    print("OK", flush=True)
"""


class Level(StrEnum):
    """How much a finding matters."""

    GOOD = "good"
    REMARK = "remark"  # judging is just, but dearer or rarer than it could be
    UNFIT = "unfit"  # must not judge


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `mend` says what an operator can do."""

    level: Level
    text: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """Where to look; another root in tests."""

    root: Path = Path("/")

    def text(self, path: str) -> str:
        """A file's content, "" where there is none."""
        try:
            return (self.root / path).read_text()
        except OSError:
            return ""


def check_host(
    sandbox: Sandbox, host: Host | None = None, progress: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Everything; takes about ten seconds. Raises SandboxError where no box can be opened."""
    host = host or Host()
    findings = list(configuration(host))
    progress("reference bots")
    with tempfile.TemporaryDirectory(prefix="deadheat-check-") as name:
        folder = Path(name)
        (folder / "main.py").write_text(REFERENCE_BOT)
        before = host.text("proc/stat")
        box = sandbox.open(Program(folder, ("/usr/bin/python3", "main.py"), "reference"), Limits(cpus="0"))
        try:
            findings += trial(box)
        finally:
            box.close()
        findings.append(steal(before, host.text("proc/stat")))
    return findings


def fit(findings: Sequence[Finding]) -> bool:
    """Whether rated matches may be judged here."""
    return all(finding.level is not Level.UNFIT for finding in findings)


def configuration(host: Host) -> Iterator[Finding]:
    """What can be read without running anything."""
    yield _cgroups(host)
    yield _realtime()
    governors = {host.text(str(path.relative_to(host.root))).strip() for path in _governors(host)}
    if governors - {"performance"}:
        mend = "cpupower frequency-set --governor performance"
        yield Finding(Level.REMARK, f"CPUs change their speed (governor {', '.join(sorted(governors))}).", mend)
    else:
        yield Finding(Level.GOOD, "CPUs keep their speed, or their host decides.")
    if len(host.text("proc/swaps").splitlines()) > 1:
        yield Finding(Level.REMARK, "This host swaps: the referee itself may be paged out.", "swapoff --all")
    else:
        yield Finding(Level.GOOD, "No swap.")
    shared = _shared_cores(host)
    if shared:
        mend = "switch SMT off, or name one CPU of each core in DEADHEAT_SLOTS"
        yield Finding(Level.REMARK, f"CPUs {shared} share a core: opponents on them slow each other.", mend)


def trial(box: Box) -> Iterator[Finding]:
    """Bots whose verdict is known."""
    verdicts: Counter[tuple[str, str]] = Counter()
    channel = box.start()
    transport = PipeTransport([channel])
    counters = channel.meter.counters()
    if counters.full_ns is None and counters.delay_ns is None:
        yield Finding(
            Level.UNFIT,
            "Nothing tells whether a bot was kept from running (no cpu.pressure, no schedstat).",
            "boot with psi=1, on a kernel with CONFIG_PSI and CONFIG_SCHED_INFO",
        )
    elif counters.full_ns is None:
        mend = "boot with psi=1 on a kernel with CONFIG_PSI, with a unified cgroup hierarchy mounted"
        yield Finding(Level.REMARK, "No cpu.pressure: children of a bot that wait for a CPU are not seen.", mend)
    else:
        yield Finding(Level.GOOD, "Stolen time is seen: by the container's pressure and by run-queue delay.")
    late_ns, trips_ns = [], []
    _warm(transport)
    with quiet():
        for number in range(2 * PROMPTS):
            early = number % 2 == 0
            order = f"SLEEP {LIMIT_MS - MARGIN_MS if early else LIMIT_MS + MARGIN_MS}"
            try:
                reply = transport.exchange([Message(0, order, LIMIT_MS * NS_PER_MS)])[0]
                assert reply.fault in (None, Fault.TIMEOUT), reply
                void = reply.fault is Fault.TIMEOUT
                verdicts["early" if early else "late", "timeout" if void else "in time"] += 1
                late_ns.append(reply.late_ns)
            except TransportError:
                verdicts["early" if early else "late", "void"] += 1
                void = True
            if void:  # a late answer must not be taken for the next one's
                box.ask_stop(0)
                box.stopped()
                transport = PipeTransport([box.start()])
                _warm(transport)
        for _ in range(20 * PROMPTS):
            reply = transport.exchange([Message(0, "PING", NS_PER_S)])[0]
            assert reply.line == "OK", reply
            trips_ns.append(reply.elapsed_ns)
    yield from _judged(verdicts)
    yield from _latencies(late_ns, trips_ns)


def _warm(transport: PipeTransport) -> None:
    """Until the bot's interpreter has started."""
    reply = transport.exchange([Message(0, "WARM", 10 * NS_PER_S)])[0]
    assert reply.line == "OK", reply


def _judged(verdicts: Counter[tuple[str, str]]) -> Iterator[Finding]:
    wrong = verdicts["early", "timeout"] + verdicts["late", "in time"]
    voids = verdicts["early", "void"] + verdicts["late", "void"]
    if wrong:
        yield Finding(
            Level.UNFIT, f"{wrong} of {2 * PROMPTS} known verdicts were wrong.", "find out what else runs here"
        )
    else:
        yield Finding(Level.GOOD, f"All of {2 * PROMPTS} known verdicts {MARGIN_MS} ms beside the limit were right.")
    if voids > MAX_VOID_SHARE * 2 * PROMPTS:
        mend = "give the bots CPUs of their own, and this machine less other work"
        yield Finding(Level.UNFIT, f"{voids} of {2 * PROMPTS} prompts were void: bots are kept from running.", mend)


def _latencies(late_ns: Sequence[int], trips_ns: Sequence[int]) -> Iterator[Finding]:
    late = _percentiles(late_ns)
    mend = "let the worker use SCHED_FIFO (CAP_SYS_NICE), and keep a CPU for it"
    level = Level.UNFIT if late[1] > LATE_BOUND_NS else Level.REMARK if late[1] > NS_PER_MS else Level.GOOD
    yield Finding(level, f"The referee is late by {_us(late)}.", "" if level is Level.GOOD else mend)
    yield Finding(Level.GOOD, f"A chatterer's round trip takes {_us(_percentiles(trips_ns))}.")


def steal(before: str, after: str) -> Finding:
    """What the hypervisor took between two readings of /proc/stat."""
    old, new = (
        [int(word) for word in text.splitlines()[0].split()[1:9]] if text else [0] * 8 for text in (before, after)
    )
    passed = sum(new) - sum(old)
    share = (new[7] - old[7]) / passed if passed > 0 else 0.0
    if share > MAX_STEAL_SHARE:
        mend = "a machine whose CPUs are not shared"
        return Finding(Level.REMARK, f"The hypervisor took {100 * share:.1f} % of this machine's time.", mend)
    return Finding(Level.GOOD, f"The hypervisor took {100 * share:.1f} % of this machine's time.")


def _cgroups(host: Host) -> Finding:
    if (host.root / "sys/fs/cgroup/cgroup.controllers").exists():
        return Finding(Level.GOOD, "Control groups version 2.")
    if (host.root / "sys/fs/cgroup/unified").is_dir():
        return Finding(Level.GOOD, "Control groups version 1, with a unified hierarchy beside it.")
    return Finding(Level.REMARK, "Control groups version 1 alone.", "boot with systemd.unified_cgroup_hierarchy=1")


def _realtime() -> Finding:
    with quiet():
        permitted = os.sched_getscheduler(0) & os.SCHED_FIFO == os.SCHED_FIFO
    if permitted:
        return Finding(Level.GOOD, "The referee may run before everything else (SCHED_FIFO).")
    return Finding(Level.REMARK, "The referee may not use SCHED_FIFO.", "run the worker as root or with CAP_SYS_NICE")


def _governors(host: Host) -> list[Path]:
    return sorted((host.root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))


def _shared_cores(host: Host) -> str:
    lists = (host.root / "sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    siblings = {path.read_text().strip() for path in lists}
    return "; ".join(sorted(cpus for cpus in siblings if "," in cpus or "-" in cpus))


def _percentiles(values: Sequence[int]) -> tuple[int, int, int]:
    ordered = sorted(values) or [0]
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], ordered[-1]


def _us(values: tuple[int, int, int]) -> str:
    middle, high, worst = (value / 1000 for value in values)
    return f"{middle:.0f} us (median), {high:.0f} us (99 %), {worst:.0f} us at most"
