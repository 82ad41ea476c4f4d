"""The score of `deadheat play` and its report: the running score, and at the end the faults and response times.

A bot's *share* of a match is the part of its opponents that it beat, a tie counting half. Its interval is Wilson's,
widened or narrowed by the observed spread: draws and matches of many seats vary less than wins and losses alone.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deadheat.cli.console import short
from deadheat.cli.output import Column, table
from deadheat.engine.core import NS_PER_MS, Fault, Result, Seat
from deadheat.engine.figures import counted, duration, limit, seat_number, wilson
from deadheat.engine.own_time import WALL_CLOCK
from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.engine.transcript import Transcript
from deadheat.engine.verdicts import Taken
from deadheat.sandbox.box import MEASURES

EDGES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The buckets' upper edges, as shares of the limit. One more bucket holds late replies."""

LABELS = (".1", ".2", ".5", "1", "2", "5", "10", "20", "50", "100", "late")
"""The edges in percent, for the head of a histogram."""

BANK = "bank"
"""The row for the use of a time bank during a match, in games that have one."""


Value = TypeVar("Value", int, float)


@dataclass(slots=True)
class Times:
    """Durations measured against a limit."""

    buckets: list[int] = field(default_factory=lambda: [0] * len(LABELS))
    limit_ns: int = 0
    """The longest limit seen, because the rest of a bank shrinks."""
    varying: bool = False
    slowest_ns: int = 0
    values: Counter[int] = field(default_factory=Counter)
    """Counts by duration in nanoseconds, rounded to three digits, so that a million matches fit into memory."""

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def add(self, used_ns: int, limit_ns: int, late: bool) -> None:
        """Count one duration and its share of the limit."""
        bucket = len(EDGES) if late else min(bisect_left(EDGES, used_ns / max(1, limit_ns)), len(EDGES) - 1)
        self.buckets[bucket] += 1
        self.varying |= self.limit_ns not in (0, limit_ns)
        self.limit_ns = max(self.limit_ns, limit_ns)
        self.slowest_ns = max(self.slowest_ns, used_ns)
        self.values[rounded(used_ns, 3)] += 1

    def quantile(self, share: float) -> int:
        """Return the smallest duration that covers the given share of all; for the full share, the slowest itself."""
        return min(quantile(self.values, share), self.slowest_ns) if share < 1 else self.slowest_ns

    def as_dict(self) -> dict[str, Any]:
        return {
            "prompts": self.count,
            "limit_ms": _ms(self.limit_ns),
            "median_ms": _ms(self.quantile(0.5)),
            "p99_ms": _ms(self.quantile(0.99)),
            "slowest_ms": _ms(self.slowest_ns),
            "by_percent_of_limit": dict(zip(LABELS, self.buckets, strict=True)),
        }


@dataclass(slots=True)
class Clock:
    """The own and CPU times of all seats, by command in the order of first prompts, and what the host took."""

    own: dict[Seat, dict[str, Times]] = field(default_factory=dict)
    cpu: dict[Seat, dict[str, Times]] = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)

    def add(self, transcript: Transcript) -> None:
        """Count every answered or missed prompt of a match."""
        for prompt in transcript.prompts():
            reply, seat = prompt.reply, prompt.message.seat
            late = reply.fault is Fault.TIMEOUT
            if reply.line is None and not late:
                continue  # the program was gone or answered too early: nothing was timed
            command = prompt.message.command
            _of(self.own, seat, command).add(reply.own_ns, prompt.limit_ns, late)
            if reply.cpu_ns is not None:
                _of(self.cpu, seat, command).add(reply.cpu_ns, prompt.limit_ns, late=False)
        self.taken += Taken.of(transcript.prompts())
        final = next((event for event in transcript.events() if event.get("type") == "final"), {})
        left = final.get("bank_ns")
        for seat, left_ns in enumerate(left if isinstance(left, list) else ()):
            own = (p for p in transcript.prompts() if p.message.seat == seat and p.message.command != "READY")
            full_ns = max((prompt.limit_ns for prompt in own), default=0)  # the bank limits all but READY (ruling C-11)
            if full_ns:
                _of(self.own, seat, BANK).add(full_ns - left_ns, full_ns, late=left_ns == 0)

    def as_dict(self, seat: Seat) -> dict[str, Any]:
        cpu = self.cpu.get(seat, {})
        return {
            command: times.as_dict() | {"cpu": cpu[command].as_dict() if command in cpu else None}
            for command, times in self.own.get(seat, {}).items()
        }


def _of(by_seat: dict[Seat, dict[str, Times]], seat: Seat, command: str) -> Times:
    return by_seat.setdefault(seat, {}).setdefault(command, Times())


def quantile(values: Counter[Value], share: float) -> Value:
    """Return the smallest of counted values that covers the given share of all."""
    wanted = share * values.total()
    for value, count in sorted(values.items()):
        wanted -= count
        if wanted <= 0:
            return value
    return max(values)


def rounded(value_ns: int, digits: int) -> int:
    """Round a duration to `digits` significant digits, with halves rounded up."""
    unit: int = 10 ** max(0, len(str(value_ns)) - digits)
    return (value_ns + unit // 2) // unit * unit


def _ms(value_ns: int) -> float:
    return round(value_ns / NS_PER_MS, 3)


# As in league.ratings, whose numpy takes longer to import than a match takes to play.
ELO_PER_NAT = 400 / math.log(10)

VARIANCE_PRIOR = 0.5
"""A prior added to the observed and the greatest possible spread: two matches, one of them won. Without it, the first
two draws would count as certainty."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A share with its 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(slots=True)
class _Sum:
    total: float = 0.0
    squares: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.squares += value * value
        self.count += 1

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass
class Score:
    """The running score. Matches in which every seat failed have no winner and count for nobody's share. Matches in
    which a recorded bot failed do not count either, because its lines no longer fitted.
    """

    seats: int
    played: int = 0
    abandoned: int = 0
    void_attempts: int = 0
    firsts: list[int] = field(default_factory=list)
    draws: int = 0
    unrated: int = 0
    outgrown: int = 0
    """Matches in which a recorded bot failed."""
    recorded: Collection[Seat] = ()
    """The seats of recorded bots."""
    faults: Counter[tuple[Seat, Fault, str]] = field(default_factory=Counter)  # keyed with the prompt's command
    _shares: list[_Sum] = field(default_factory=list)
    _points: list[_Sum] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.firsts = [0] * self.seats
        self._shares = [_Sum() for _ in range(self.seats)]
        self._points = [_Sum() for _ in range(self.seats)]

    def add(self, transcript: Transcript | None, void_attempts: int) -> None:
        """Count one match, or None if no attempt at it could be judged."""
        self.void_attempts += void_attempts
        if transcript is None:
            self.abandoned += 1
            return
        self.played += 1
        result = transcript.result
        for seat, fault in result.faults.items():
            prompt = transcript.last_prompt(seat)
            self.faults[seat, fault, prompt.message.command if prompt else ""] += 1
        for seat, points in enumerate(result.points or ()):
            self._points[seat].add(float(points))
        if any(seat in result.faults for seat in self.recorded):
            self.outgrown += 1
        elif result.rated:
            self._rate(result)
        else:
            self.unrated += 1

    def _rate(self, result: Result) -> None:
        winners = [seat for seat, rank in enumerate(result.ranks) if rank == 1]
        if len(winners) == 1:
            self.firsts[winners[0]] += 1
        else:
            self.draws += 1
        for seat, rank in enumerate(result.ranks):
            behind = sum(1.0 if rank < other else 0.5 if rank == other else 0.0 for other in result.ranks)
            self._shares[seat].add((behind - 0.5) / (self.seats - 1))  # a seat ties with itself

    def share(self, seat: Seat) -> _Estimate | None:
        """Return a seat's share, or None while nothing is decided."""
        sums = self._shares[seat]
        n, mean = sums.count, sums.mean
        if mean is None:
            return None
        seen = max(0.0, sums.squares - n * mean * mean)
        possible = n * mean * (1 - mean)
        # The number of plain wins and losses that would carry as much information.
        worth = n * (possible + VARIANCE_PRIOR) / (seen + VARIANCE_PRIOR)
        return _Estimate(mean, *wilson(mean, worth))

    def mean_points(self, seat: Seat) -> float | None:
        return self._points[seat].mean

    def faults_of(self, seat: Seat) -> Counter[Fault]:
        counts: Counter[Fault] = Counter()
        for (who, fault, _), count in self.faults.items():
            if who == seat:
                counts[fault] += count
        return counts

    def summary(self, bots: Sequence[str]) -> dict[str, Any]:
        first = self.share(0)
        by_elo = [elo(value) for value in (first.share, first.low, first.high)] if self.seats == 2 and first else []
        shown = [None if value is None else round(value, 1) for value in by_elo]
        results = [(name, self.share(seat), self.mean_points(seat)) for seat, name in enumerate(bots)]
        return {
            "matches": self.played,
            "abandoned": self.abandoned,
            "void_attempts": self.void_attempts,
            "draws": self.draws,
            "unrated": self.unrated,
            "outgrown": self.outgrown,
            "elo": {"difference": shown[0], "interval_95": shown[1:]} if shown else None,
            "bots": [
                {
                    "bot": name,
                    "wins": self.firsts[seat],
                    "faults": {fault.value: count for fault, count in sorted(self.faults_of(seat).items())},
                    "share": round(share.share, 4) if share else None,
                    "share_95": [round(share.low, 4), round(share.high, 4)] if share else None,
                    "mean_points": None if points is None else round(points, 3),
                }
                for seat, (name, share, points) in enumerate(results)
            ],
        }


def elo(share: float) -> float | None:
    """Return the difference in Elo at which a bot is expected to score this share; None if it is unbounded."""
    return ELO_PER_NAT * math.log(share / (1 - share)) if 0 < share < 1 else None


BARS = " ▁▂▃▄▅▆▇█"
ASCII_BARS = " .:-=+*#@"
COLUMN = 3  # the width of a histogram's bucket, in characters
NEAR = LABELS.index("100")  # the bucket that begins at half the limit

NAME_WIDTH = 22


def running(score: Score) -> str:
    """Return the present score in a few words, for a progress bar."""
    counts = " : ".join(map(str, score.firsts))
    drawn = f", {score.draws} drawn" if score.draws else ""
    first = score.share(0)
    if first is None:
        return counts
    whose = "" if score.seats == 2 else f"seat {seat_number(0)} "
    shown = f"{counts}{drawn}, {whose}{100 * first.share:.0f} % ({_interval(first)})"
    if score.seats == 2 and (difference := elo(first.share)) is not None:
        shown += f", Elo {difference:+.0f}"
    return shown


def _interval(estimate: _Estimate) -> str:
    return f"{100 * estimate.low:.0f} to {100 * estimate.high:.0f}"


def show(console: Console, game: str, bots: Sequence[str], score: Score, clock: Clock) -> None:
    parts = [counted(score.played, "match", "matches"), f"{score.draws} drawn"]
    if score.unrated:
        parts.append(f"{score.unrated} without a winner (all committed faults)")
    if score.outgrown:
        parts.append(f"{score.outgrown} not counted (a recorded bot's lines did not fit)")
    parts.append(counted(score.void_attempts, "void attempt", "void attempts"))
    console.print(Text(f"{game}: {', '.join(parts)}", style="bold"))
    if score.abandoned:
        console.print(
            f"[red]{counted(score.abandoned, 'match was', 'matches were')} abandoned:[/] "
            f"each of {MATCH_ATTEMPTS} attempts was void because of this machine."
        )
    console.print(_scores(bots, score))
    if score.seats > 2:
        console.print("score: the share of its opponents that a bot finished ahead of")
    if score.seats == 2 and (first := score.share(0)):
        difference, low, high = (elo(value) for value in (first.share, first.low, first.high))
        known = "not known yet"
        if difference is not None and low is not None and high is not None:
            known = f"{difference:+.0f} (95 %: {low:+.0f} to {high:+.0f})"
        elif (bound := high if low is None else low) is not None:
            known = f"at {'most' if low is None else 'least'} {bound:+.0f}; more games will say more"
        console.print(f"Elo of seat 1 over seat 2: {known}")
    if score.faults:
        console.print()
        console.print(Text("Faults", style="bold"))
    for (seat, fault, command), count in sorted(score.faults.items()):
        why = f"{count} x {fault} at {command or 'the start'}"
        if seat in score.recorded:
            ended = fault is Fault.EXITED
            why += ": its recorded lines end there" if ended else ": its recorded lines do not fit here"
        console.print(Text.assemble(f"  seat {seat_number(seat)}  ", (why, "red")), soft_wrap=True)
    _show_times(console, bots, clock)


def _scores(bots: Sequence[str], score: Score) -> Table:
    def share(seat: Seat) -> tuple[str, str]:
        estimate = score.share(seat)
        return (f"{100 * estimate.share:.1f} %", _interval(estimate)) if estimate else ("-", "-")

    def faults(seat: Seat) -> Text:
        count = sum(score.faults_of(seat).values())
        return Text(str(count), "red" if count else "")

    columns: tuple[Column[Seat], ...] = (
        Column("seat", seat_number, right=True),
        Column("bot", lambda seat: short(bots[seat], NAME_WIDTH), whole=True),
        Column("won", lambda seat: score.firsts[seat], right=True),
        Column("score", lambda seat: share(seat)[0], right=True),
        Column("95 %", lambda seat: share(seat)[1], right=True),
        Column("mean\npoints", lambda seat: _points(score.mean_points(seat)), right=True),
        Column("faults", faults, right=True),
    )
    return table(range(len(bots)), columns)


def _points(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if abs(value) < 10_000 else f"{value:.0f}"


def _show_times(console: Console, bots: Sequence[str], clock: Clock) -> None:
    if not clock.own:
        return
    ascii_only = not console.encoding.lower().startswith("utf")
    console.print()
    console.print(Text("Response times: prompts that took up to this percentage of their limit", style="bold"))
    heads = "".join(label.rjust(COLUMN) for label in LABELS[:-2]) + "  100 late"
    for seat, name in enumerate(bots):
        console.print()
        console.print(Text(f"seat {seat_number(seat)}  {short(name, 66)}"), no_wrap=True)
        console.print(Text(f"{'':10}{heads}  median     p99 slowest  limit"), no_wrap=True, crop=False)
        for command, times in clock.own.get(seat, {}).items():
            console.print(_row(command, times, ascii_only), no_wrap=True, crop=False)
            cpu = clock.cpu.get(seat, {}).get(command)
            if cpu is not None:
                console.print(_row("  CPU", cpu, ascii_only), no_wrap=True, crop=False)
    console.print()
    if any(BANK in commands for commands in clock.own.values()):
        console.print("bank: a whole match's use of its time bank")
    if not MEASURES:
        console.print(f"{WALL_CLOCK}.")
    if clock.taken.replies:
        console.print(clock.taken.sentence, "Response times are the bots' own.", sep="\n", soft_wrap=True)


def _row(label: str, times: Times, ascii_only: bool) -> Text:
    """Format one command's histogram and its numbers, 80 columns wide."""
    bars = ASCII_BARS if ascii_only else BARS
    most = max(times.buckets)
    row = Text(f"  {label:8.8}")
    for bucket, count in enumerate(times.buckets[: len(EDGES)]):
        height = -(-count * (len(bars) - 1) // most) if count else 0
        width = COLUMN + (bucket == NEAR)
        row.append(" " + bars[height] * (width - 1), style="magenta" if bucket == NEAR else "green")
    late = times.buckets[-1]
    row.append(f"{late:5d}" if late else f"{'-':>5}", style="red" if late else "")
    numbers = (duration(times.quantile(0.5)), duration(times.quantile(0.99)), duration(times.slowest_ns))
    row.append(f" {numbers[0]:>7} {numbers[1]:>7} {numbers[2]:>7}")
    row.append(f" {'≤' if times.varying and not ascii_only else ''}{limit(times.limit_ns)}".rjust(7))
    return row
