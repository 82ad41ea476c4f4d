"""Keeps a machine's fitness to judge up to date: one keeper for each machine that plays, in a separate process.

Theory of operation
-------------------
The keeper reports every few seconds; a machine whose keeper is silent for a lease's time gets no series. It has the
machine checked (`sandbox.host.check`) when due: quickly when its worker starts, thoroughly at once if that finds it
unfit, again after each pause while it is unfit or its check was mostly void, and when a canary match (`workers.canary`)
went wrong or could not be finished. A check takes a slot like any match, so neither disturbs the other, but for each
round anew, between two series: a fit machine plays on while it is checked.

The keeper decides nothing: it records the findings, and the statement that claims a series reads them. It shares no
process with a referee, because it waits for the database.
"""

import logging
import time
from collections import deque
from dataclasses import asdict
from functools import partial

from deadheat.engine.core import TransportError
from deadheat.engine.games import GAMES
from deadheat.league.causes import NOT_CHECKED
from deadheat.league.config import HEARTBEAT_SECONDS
from deadheat.league.service.series.hosts import RECHECK_SECONDS
from deadheat.league.states import Fitness
from deadheat.sandbox.containers import sweep_folders
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.check import FULL_ROUNDS, QUICK_ROUNDS, check_host, shares, stat
from deadheat.sandbox.host.fitness import Level, Report
from deadheat.workers import metrics
from deadheat.workers.context import BUILD, PLAY, Context
from deadheat.workers.holding import RETRY_SECONDS, UNREACHABLE

log = logging.getLogger(__name__)

SWEEP_SECONDS = 20
"""The pause between two searches for remains of killed processes: a list of folders, and one request to the engine."""

AWAY_SECONDS = 5
"""The pause before a machine whose engine did not answer is checked again: a vain attempt costs next to nothing."""

LATE_SECONDS = 60
"""The period for which the keeper reports how late it woke up at worst."""


def arrive(context: Context) -> bool:
    """Announce a machine before its worker starts; it may not judge until its keeper has had it checked. Return False
    if another machine has its name: then it plays nothing, and its keeper tries again.
    """
    arrived = context.link.arrive(context.settings.image)
    if not arrived:
        log.error(
            "two machines have the name %s, or this one restarted a moment ago: it plays nothing while the other "
            "reports. Give one of them another name (DEADHEAT_WORKER_NAME).",
            context.host.name,
        )
    return arrived


class Keeper:
    """Reports and checks this machine; see the module's docstring."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stat = stat()
        self._beat_at = 0.0
        self._sweep_at = 0.0
        self._late: deque[float] = deque([0.0], maxlen=round(LATE_SECONDS / HEARTBEAT_SECONDS))
        self._appeared: set[int] = set()  # numbers of seasons
        self._held_by: str | None = None  # as reported
        self._doubts = 0  # checks in succession that were mostly void
        self._away = ""  # why the newest check was impossible

    def run(self) -> None:
        """Run until the process is told to stop."""
        while True:
            pause_seconds: float = HEARTBEAT_SECONDS
            try:
                self.look()
            except UNREACHABLE as error:
                log.warning("the database does not answer, trying again: %s", error)
                pause_seconds = RETRY_SECONDS  # nothing is played here until it has reported
            due = time.monotonic() + pause_seconds
            time.sleep(pause_seconds)
            self._late.append(time.monotonic() - due)

    def look(self) -> None:
        """Report that the machine is alive, and have it checked when a check is due."""
        self._beat_at = 0.0
        self.beat()
        self.sweep()
        self.appear()
        while True:
            known = self._context.link.due_check()
            if known is None:
                break
            self.check(thoroughly=known is Fitness.UNFIT and not self._away)

    def beat(self) -> None:
        """Report that the machine is alive, unless that was just done."""
        if time.monotonic() < self._beat_at:
            return
        before, self._stat = self._stat, stat()
        steal_share, busy_share = shares(before, self._stat)
        held_by = ", ".join(dict.fromkeys(holder.brief for holder in self._context.slots.others()))
        changed = held_by if held_by != self._held_by else None
        known = self._context.link.seen(steal_share, max(self._late), busy_share, changed)
        self._held_by = held_by
        self._beat_at = time.monotonic() + HEARTBEAT_SECONDS
        if not known:
            log.warning("machine %s is new to the database", self._context.host.name)
            arrive(self._context)

    def sweep(self) -> None:
        """Remove, now and then, the remains of processes that were killed while others of this machine live."""
        if time.monotonic() < self._sweep_at:
            return
        self._sweep_at = time.monotonic() + SWEEP_SECONDS
        sweep_folders(self._context.run_dir, "box", PLAY, BUILD)
        try:
            if isinstance(sandbox := self._context.sandbox, DockerSandbox):
                sandbox.sweep()
        except TransportError as error:
            log.warning("nothing could be swept: %s", error.detail)

    def appear(self) -> None:
        """Start the counters of every running season at zero before any of its matches is played here."""
        for season_id, game in self._context.link.seasons(self._appeared).items():
            if game in GAMES:  # otherwise a version that knows this game plays the season
                metrics.appear(game, season_id)
            self._appeared.add(season_id)

    def check(self, thoroughly: bool) -> None:
        """Have the machine checked, and record the findings."""
        began_at = time.monotonic()
        report = self._report(FULL_ROUNDS if thoroughly else QUICK_ROUNDS)
        away = report if isinstance(report, str) else ""
        findings: dict[str, object] = {"fit": False} if isinstance(report, str) else report.as_dict()
        if not away and isinstance(sandbox := self._context.sandbox, DockerSandbox):
            findings["image"] = asdict(sandbox.image())
        findings["slots"] = len(self._context.slots.slots)
        reasons = (f"{NOT_CHECKED}: {report}",) if isinstance(report, str) else report.reasons
        again_seconds = AWAY_SECONDS if away else RECHECK_SECONDS if thoroughly else 0.0
        self._doubts = self._doubts + 1 if isinstance(report, Report) and report.mostly_void else 0
        self._context.link.record_check(findings, reasons, again_seconds, self._doubts)
        fitness = Fitness.UNFIT if reasons else Fitness.FIT
        metrics.host_checks.labels(fitness.value).inc()
        if not away or away != self._away:  # operators need not read the same every few seconds
            self._tell(report, reasons, again_seconds, time.monotonic() - began_at)
        self._away = away

    def _report(self, rounds: int) -> Report | str:
        """Return the check's report, or why there is none."""
        try:
            sandbox, slots = self._context.sandbox, self._context.slots
            with slots.take(self.beat) as cpus:
                pass  # the first that is free
            turn = partial(slots.take, self.beat, only=cpus)
            return check_host(sandbox, cpus, rounds, self.beat, bots=slots.bots, turn=turn)
        except TransportError as error:
            return error.detail

    def _tell(self, report: Report | str, reasons: tuple[str, ...], again_seconds: float, seconds: float) -> None:
        """Tell the operator, on the terminal and in the log."""
        name = self._context.host.name
        if isinstance(report, Report):
            for finding in report.findings:
                if finding.level is Level.REMARK:
                    log.info("%s: %s (Fix: %s.)", name, finding.text, finding.mend)
        if not reasons:
            log.info("machine %s is fit to judge (checked in %.1f s)", name, seconds)
            return
        judges = "It judges anyway because DEADHEAT_JUDGE_UNFIT is set."
        if not self._context.settings.judge_unfit:
            judges = "It builds, but plays nothing that counts (DEADHEAT_JUDGE_UNFIT=true would let it)."
        log.error(
            "machine %s is NOT FIT to judge: %s %s It is checked again %s; `deadheat check-host` says more.",
            name,
            " ".join(reasons),
            judges,
            f"in {again_seconds:.0f} s" if again_seconds else "now, and more thoroughly",
        )
