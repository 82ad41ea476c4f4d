"""The workers' metrics for Prometheus: totals over finished matches, and the service's own failures.

No label names a bot or a user: figures about them are in SQL. Prompts, faults and matches carry the season, so that
each season's time-out rate can be watched; a host plays few seasons between two starts. Processes of one host add up
their metrics in PROMETHEUS_MULTIPROC_DIR (see prometheus_client), which `deadheat serve` and `deadheat worker` set.
"""

from bisect import bisect_left
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product

from prometheus_client import Counter, Histogram

from deadheat.engine import verdicts
from deadheat.engine.core import NS_PER_S, Fault
from deadheat.engine.games import GAMES
from deadheat.engine.transcript import Prompt, Transcript, untimed
from deadheat.league.causes import BLAMELESS, DROPPED, Cause
from deadheat.league.jobs import Latency
from deadheat.league.service.jobs.sweep import KINDS

_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 2, 3, 10)
_RATIOS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0, 1.05)
_LATENESS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.002, 0.005, 0.01, 0.1)

reply_seconds = Histogram(
    "deadheat_reply_seconds", "Own time from prompt to reply.", ["game", "command"], buckets=_SECONDS
)
deadline_used_ratio = Histogram(
    "deadheat_deadline_used_ratio", "Own time over its limit.", ["game", "command"], buckets=_RATIOS
)
reply_cpu_seconds = Histogram(
    "deadheat_reply_cpu_seconds", "CPU time of the bot from prompt to reply.", ["game", "command"], buckets=_SECONDS
)
prompts = Counter("deadheat_prompts_total", "Prompts sent to bots in finished matches.", ["game", "season", "command"])
faults = Counter("deadheat_faults_total", "Bots' failures by cause.", ["game", "season", "command", "fault"])
matches = Counter("deadheat_matches_total", "Finished matches by how they ended.", ["game", "season", "outcome"])
attempts = Counter("deadheat_attempts_total", "Attempts at matches: played, or void by cause.", ["game", "cause"])
stolen_seconds = Histogram(
    "deadheat_stolen_seconds",
    "Time that the host took from a bot before its reply, of replies from which it took any.",
    ["game", "command"],
    buckets=_SECONDS,
)
past_deadline = Counter(
    "deadheat_replies_past_deadline_total",
    "Replies that counted past the deadline of the clock: the host had taken the excess.",
    ["game", "command"],
)
referee_late_seconds = Histogram(
    "deadheat_referee_late_seconds",
    "How late the referee looked after deadlines that passed.",
    ["game"],
    buckets=_LATENESS,
)
sandbox_open_seconds = Histogram("deadheat_sandbox_open_seconds", "Time to open all boxes of a series.")
queue_wait_seconds = Histogram(
    "deadheat_queue_wait_seconds",
    "From queued to claimed.",
    ["queue"],
    buckets=(0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000),
)
builds = Counter("deadheat_builds_total", "Builds by outcome.", ["language", "outcome"])
canaries = Counter("deadheat_canaries_total", "Canary matches by outcome: right, wrong, void.", ["outcome"])
host_checks = Counter("deadheat_host_checks_total", "Checks of this machine by outcome.", ["fitness"])
turned_away = Counter("deadheat_turned_away_total", "Jobs left to another machine because this one may not judge.")
task_failures = Counter("deadheat_task_failures_total", "Tasks that failed because of the service.", ["task", "cause"])
leases_expired = Counter(
    "deadheat_leases_expired_total", "Jobs taken back from silent workers, by their machine.", ["queue", "host"]
)
tasks_done = Counter("deadheat_tasks_done_total", "Scheduled tasks that were carried out.", ["task"])

CAUSES = frozenset(Cause) - DROPPED
"""Causes that are counted from zero. A blameless one fails its task; any other fails an attempt at a match (see
`workers.play`), or its task."""

OUTCOMES = ("played", "forfeit")

MOST_OF_A_SEASON = 40
"""The most time series that one season may add to a host's metrics; a test counts them for every game."""

SCHEDULED = ("tick", "sweep", "refit")
"""Tasks whose runs are counted: without waiting work, nothing else shows that they stopped."""


def _appear() -> None:
    """Create counters at zero rather than at their first event, because a rate cannot see a counter appear. An
    unforeseen cause (an exception's class) counts from its second event on.
    """
    for game in GAMES:
        for cause in CAUSES - BLAMELESS:
            attempts.labels(game, cause)
        referee_late_seconds.labels(game)
        for command in GAMES[game].commands:
            past_deadline.labels(game, command)
    for outcome in ("right", "wrong", "void"):
        canaries.labels(outcome)
    for task in (*(life.queue for life in KINDS), *SCHEDULED, "publish"):
        for why in CAUSES:
            task_failures.labels(task, why)
    for task in SCHEDULED:
        tasks_done.labels(task)


_appear()


def appear(game: str, season_id: int) -> None:
    """Start a season's counters at zero as soon as this machine's keeper knows of it, or at the latest when one of its
    series is taken, so that Prometheus has seen the zeros when its first match ends. There are (commands + 1) x causes
    + commands + outcomes of them: `MOST_OF_A_SEASON` at most.
    """
    for command in GAMES[game].commands:
        prompts.labels(game, season_id, command)
    for command, fault in product(("", *GAMES[game].commands), Fault):  # "": before its first prompt
        faults.labels(game, season_id, command, fault.value)
    for outcome in OUTCOMES:
        matches.labels(game, season_id, outcome)


def record(transcripts: Sequence[Transcript], latencies: Iterable[Latency], season_id: int) -> None:
    """Count finished matches of one game. `latencies`: their response times, which the database counts too. Increments
    are added up first and written once: one call for each reply took a quarter of a worker's CPU time.
    """
    game = transcripts[0].game if transcripts else ""
    counted, late = Counts[str](), Counts[str]()
    for latency in latencies:
        counted[latency.command] += latency.prompts
        late[latency.command] += latency.given_back
    for command, count in counted.items():
        prompts.labels(game, season_id, command).inc(count)
        past_deadline.labels(game, command).inc(late[command])  # these counters begin at zero
    by_command: defaultdict[str, list[Prompt]] = defaultdict(list)
    for transcript in transcripts:
        for prompt in transcript.measured():
            by_command[prompt.message.command].append(prompt)
        for seat, fault in transcript.result.faults.items():
            if seat in untimed(transcript.about):
                continue  # an agent's are counted on the page of time-outs
            last = transcript.last_prompt(seat)
            faults.labels(game, season_id, last.message.command if last else "", fault.value).inc()
        matches.labels(game, season_id, "forfeit" if transcript.result.faults else "played").inc()
    for command, sent in by_command.items():
        replies = [prompt.reply for prompt in sent]
        stolen = [reply.stolen_ns / NS_PER_S for reply in replies if reply.stolen_ns]  # only times above zero
        _observe(stolen_seconds.labels(game, command), stolen)
        _observe(reply_seconds.labels(game, command), [reply.own_ns / NS_PER_S for reply in replies])
        _observe(deadline_used_ratio.labels(game, command), [*map(verdicts.used, sent)])
        if used := [reply.cpu_ns / NS_PER_S for reply in replies if reply.cpu_ns is not None]:
            _observe(reply_cpu_seconds.labels(game, command), used)
        if lateness := [reply.late_ns / NS_PER_S for reply in replies if reply.fault is Fault.TIMEOUT]:
            # No other reply had to wake anybody at a set instant.
            _observe(referee_late_seconds.labels(game), lateness)


def _observe(histogram: Histogram, values: Sequence[float]) -> None:
    """Observe each value as `histogram.observe` does, with one write per bucket: the library has no call for that."""
    bounds, buckets, total = histogram._upper_bounds, histogram._buckets, histogram._sum  # noqa: SLF001
    for bucket, count in Counts(map(partial(bisect_left, bounds), values)).items():
        buckets[bucket].inc(count)
    total.inc(sum(values))
