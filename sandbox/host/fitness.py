"""A host's fitness to judge: a pure function of the facts, with a remedy for every fault.

The clock itself protects verdicts: it sees and gives back time that a host takes from a bot. So a busy, shared or slow
machine judges as fairly as a quiet one, and what makes it slower is a *remark*. A host is *unfit* if this protection is
missing, wrong, or endless:

* no counter shows whether a bot was kept from running, so every missed deadline would end as unknown;
* its clock counts in ticks, which are longer than the differences that decide verdicts;
* a verdict on a reference bot was wrong, even once: a host may stand still without any counter showing it;
* more than `MAX_ESCAPE_SHARE` of the late reference bots were not caught, because the attempt was void or in doubt.

A host whose known verdicts are *mostly* void or in doubt is not unfit for that (862 matches without a void were played
on one), but the check has shown little: it says so and is soon repeated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from deadheat.engine.core import NS_PER_MS
from deadheat.sandbox.attribution import MAX_STEAL_SHARE
from deadheat.sandbox.host.slots import needed_bytes
from deadheat.sandbox.runtimes import MARGIN_MS

MAX_ESCAPE_SHARE = 0.8
"""Above this share, a late bot escapes more often than not, move after move."""

BUSY_VOID_SHARE, MOSTLY_VOID_SHARE = 0.05, 0.5
"""Above these shares of void and doubtful verdicts a host gets a remark, and the check counts little."""

SAME = 0.99
"""The share of a weight that counts as all of it: the kernel keeps whole numbers."""

MAX_WAITERS = 65_536
"""Each box has its own user. A write to a bot wakes all its waiters: 0.13 microseconds each, interrupts off."""

TICKING_CLOCKS = frozenset({"jiffies", "refined-jiffies", "pit"})
SLOW_CLOCKS = frozenset({"acpi_pm", "hpet"})

Percentiles = tuple[int, int, int]
"""Median, 99th percentile and worst."""


class Level(StrEnum):
    """The weight of a finding."""

    GOOD = "good"
    REMARK = "remark"  # judging is fair, but more expensive or less frequent than it could be
    UNFIT = "unfit"  # must not judge


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `mend` says what an operator can do."""

    level: Level
    text: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a host. The defaults are those of a host without problems."""

    cgroups: str = "2"  # or "1", or "1+2": version 1 with a unified hierarchy beside it
    signals: tuple[str, ...] = ("pressure", "run-delay")  # the counters that show waiting
    clock: str = "tsc"
    realtime: bool = True
    governors: tuple[str, ...] = ()
    waiters: int = 65_536  # the most descriptors that one user may register in epolls; 0: unknown
    swap: bool = False
    shared_cores: str = ""
    innocent: int = 60  # prompts to reference bots that are in time
    guilty: int = 60  # and too late
    convicted: int = 0  # of the innocent
    acquitted: int = 0  # of the guilty
    disturbed: int = 0  # of the innocent: void
    escaped: int = 0  # of the guilty: void or in doubt
    late_ns: Percentiles = (30_000, 100_000, 200_000)  # how late the referee wakes up at deadlines
    trip_ns: Percentiles = (40_000, 100_000, 200_000)  # from the prompt to the reply of a bot that answers at once
    steal_share: float = 0.0
    steal_told: bool = True  # False: a virtual machine whose steal counter has never moved
    busy_share: float = 0.0  # of all CPUs, while the reference bots played
    weight: float | None = 1.0  # of all boxes, by processor; None: they have no group of their own
    weight_wanted: float = 1.0  # see `sandbox.cgroup`
    favours: bool = True  # the weight of a box can be changed
    nice: int = 0  # of a box's first process, which it has from the engine
    runtime: str = ""  # the engine's runtime that confines bots; "": no engine
    bots: int = 0  # the most that run at a time, at tables of two; 0: unknown
    memory_bytes: int = 0  # the machine's
    margin_ms: int = MARGIN_MS  # how close to the deadline the reference bots aimed


@dataclass(frozen=True, slots=True)
class Report:
    """A host's facts and what follows from them."""

    facts: Facts
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why the host must not judge; empty if it may."""
        return tuple(finding.text for finding in self.findings if finding.level is Level.UNFIT)

    @property
    def mostly_void(self) -> bool:
        """Whether the check has shown little, so that it should soon be repeated."""
        facts = self.facts
        return facts.disturbed + facts.escaped > MOSTLY_VOID_SHARE * (facts.innocent + facts.guilty)

    @property
    def fit(self) -> bool:
        """Whether the host may judge rated matches."""
        return not self.reasons

    def as_dict(self) -> dict[str, object]:
        """Return the report as JSON-compatible data."""
        return {"fit": self.fit, "facts": asdict(self.facts), "findings": [*map(asdict, self.findings)]}


def judged(facts: Facts) -> Report:
    """Return the findings that follow from the facts."""
    parts = (_of_the_kernel, _of_the_machine, _of_the_weight, _of_verdicts, _of_times)
    return Report(facts, tuple(finding for part in parts for finding in part(facts)))


def _of_the_kernel(facts: Facts) -> Iterator[Finding]:
    names = {"2": "version 2", "1+2": "version 1, with a unified hierarchy beside it", "1": "version 1 alone"}
    mend = "boot with systemd.unified_cgroup_hierarchy=1"
    yield _either(facts.cgroups != "1", f"Control groups {names[facts.cgroups]}.", mend)
    psi = "boot with psi=1, on a kernel with CONFIG_PSI and a unified cgroup hierarchy"
    if not facts.signals:
        text = "Nothing shows whether a bot was kept from running (no cpu.pressure, no schedstat)."
        yield Finding(Level.UNFIT, text, f"{psi}, or with CONFIG_SCHED_INFO")
    elif "pressure" not in facts.signals:
        text = "No cpu.pressure: waits of a bot's children are not seen, and a bot can fake waits."
        yield Finding(Level.REMARK, text, psi)
    elif "run-delay" not in facts.signals:
        text = "No run-queue delay: waits of a bot that are shorter than a tick are not seen."
        yield Finding(Level.REMARK, text, "use a kernel with CONFIG_SCHED_INFO, and the engine's usual runtime")
    else:
        yield Finding(Level.GOOD, "Stolen time is seen: by the container's pressure and by run-queue delay.")
    mend = "let the kernel use the processor's own counter (clocksource=tsc)"
    if facts.clock in TICKING_CLOCKS:
        yield Finding(Level.UNFIT, f"The clock counts in ticks of the timer ({facts.clock}).", mend)
    elif facts.clock in SLOW_CLOCKS:
        yield Finding(Level.REMARK, f"Reading the clock is slow ({facts.clock}).", mend)


def _of_the_machine(facts: Facts) -> Iterator[Finding]:
    if facts.margin_ms > MARGIN_MS:
        text = f"Bots run under {facts.runtime}, which may itself delay a bot by a few milliseconds."
        mend = "keep it if limits are much longer than that, or use the engine's usual runtime"
        yield Finding(Level.REMARK, text, mend)
    elif facts.runtime:
        yield Finding(Level.GOOD, f"Bots run under {facts.runtime}.")
    first = "The referee may run before everything else (SCHED_FIFO)."
    mend = "run the worker as root or with CAP_SYS_NICE, in a cgroup with a real-time budget (cpu.rt_runtime_us)"
    yield _either(facts.realtime, first, mend, "The referee may not use SCHED_FIFO.")
    steady, mend = not set(facts.governors) - {"performance"}, "cpupower frequency-set --governor performance"
    changing = f"CPUs change speed (governor {', '.join(facts.governors)})."
    yield _either(steady, "CPUs keep their speed, or the host decides.", mend, changing)
    few, mend = facts.waiters <= MAX_WAITERS, f"sysctl fs.epoll.max_user_watches={MAX_WAITERS}"
    many = f"fs.epoll.max_user_watches is {facts.waiters:,}: a bot can use that many watches to delay what it is sent."
    yield _either(few, "A bot cannot slow down the lines that the referee sends it.", mend, many)
    swaps = "This host swaps: the referee itself may be paged out."
    yield _either(not facts.swap, "No swap.", "swapoff --all", swaps)
    if facts.bots:
        needed, has = needed_bytes(facts.bots), facts.memory_bytes
        text = f"{facts.bots} bots at a time may use {needed / 2**30:.1f} GiB of this machine's {has / 2**30:.1f}"
        mend = "name fewer slots in DEADHEAT_SLOTS, lower DEADHEAT_EXHIBITIONS, or add memory"
        yield _either(needed <= has, f"{text}.", mend, f"{text}: a bot that fills it voids its match.")
    if facts.shared_cores:
        text = f"CPUs {facts.shared_cores} share a core: opponents on them slow each other."
        yield Finding(Level.REMARK, text, "switch SMT off, or name one CPU of each core in DEADHEAT_SLOTS")
    text = f"The hypervisor took {100 * facts.steal_share:.1f} % of this machine's time."
    if not facts.steal_told:  # some cannot report it: it then looks like a bot's own time, and only verdicts reveal it
        text = "The hypervisor has reported no stolen time since this machine started: it took none, or hides it."
        yield Finding(Level.REMARK, text, "if other guests share its CPUs, use a machine that reports it")
    else:
        yield _either(facts.steal_share <= MAX_STEAL_SHARE, text, "use a machine whose CPUs are not shared")


def _of_the_weight(facts: Facts) -> Iterator[Finding]:
    if not facts.runtime:  # no engine, so no groups
        return
    if not facts.favours:
        text = "A bot that is not asked keeps its weight, and may disturb the one that is."
        yield Finding(Level.REMARK, text, "mount the control groups of processors for writing")
    if facts.weight is None:
        text = "Boxes have no control group of their own: all of them together may weigh as much as one other process."
        mend = "let the engine make control groups, and give the worker the host's view of /sys/fs/cgroup"
        yield Finding(Level.REMARK, text, mend)
    elif facts.weight < SAME * facts.weight_wanted:
        text = f"On each processor, bots weigh {_times(facts.weight)}, not {_times(facts.weight_wanted)}."
        mend = "let the worker write to /sys/fs/cgroup; with systemd's driver, set CPUWeight in deadheat_play.slice"
        yield Finding(Level.REMARK, text, mend)
    else:
        yield Finding(Level.GOOD, f"On each processor, bots weigh {_times(facts.weight)}.")
    steady, mend = facts.nice == 0, "start the engine at nice 0"
    text = f"The engine runs at nice {facts.nice}, and so do bots: it opens boxes later, or disturbs those that play."
    yield _either(steady, "The engine runs at nice 0, like most processes.", mend, text)


def _times(weight: float) -> str:
    return f"{weight:.2g} times as much as another process"


def _of_verdicts(facts: Facts) -> Iterator[Finding]:
    prompts = facts.innocent + facts.guilty
    mend = "find out what else is running here, and send us the report (--json)"
    if facts.convicted:
        text = f"Of {facts.innocent} reference bots that were in time, {facts.convicted} were judged late."
        yield Finding(Level.UNFIT, text, mend)
    if facts.acquitted:
        text = f"Of {facts.guilty} reference bots that were late, {facts.acquitted} were judged in time."
        yield Finding(Level.UNFIT, text, mend)
    if not facts.convicted and not facts.acquitted:
        yield Finding(Level.GOOD, f"None of {prompts} known verdicts was wrong.")
    mend = "give the bots their own CPUs, and give this machine less other work"
    voids = facts.disturbed + facts.escaped
    if facts.escaped > MAX_ESCAPE_SHARE * facts.guilty:
        missed = f"{facts.escaped} were not caught: all bots are kept from running."
        text = f"Of {facts.guilty} reference bots that were late, {missed}"
        yield Finding(Level.UNFIT, text, mend)
    elif voids > BUSY_VOID_SHARE * prompts:
        text = f"{voids} of {prompts} known verdicts were void or in doubt: bots are kept from running"
        text = f"{text} (CPUs busy for {100 * facts.busy_share:.0f} %)."
        if voids > MOSTLY_VOID_SHARE * prompts:
            text += " Because that is most of them, a worker checks again soon."
        yield Finding(Level.REMARK, text, mend)


def _of_times(facts: Facts) -> Iterator[Finding]:
    mend = "let the worker use SCHED_FIFO (CAP_SYS_NICE), and keep a CPU for it"
    yield _either(facts.late_ns[1] <= NS_PER_MS, f"The referee is late by {_us(facts.late_ns)}.", mend)
    yield Finding(Level.GOOD, f"A round trip of a chatty bot takes {_us(facts.trip_ns)}.")


def _either(good: bool, text: str, mend: str, otherwise: str = "") -> Finding:
    """Make a finding that is good, or else a remark. `otherwise` is the text of the remark, if it differs."""
    return Finding(Level.GOOD, text) if good else Finding(Level.REMARK, otherwise or text, mend)


def percentiles(values: Sequence[int]) -> Percentiles:
    """Return the percentiles of the values, or zeros if there are none."""
    ordered = sorted(values) or [0]
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], ordered[-1]


def _us(values: Percentiles) -> str:
    middle, high, worst = (value / 1000 for value in values)
    return f"{middle:.0f} us (median), {high:.0f} us (99 %), {worst:.0f} us at most"
