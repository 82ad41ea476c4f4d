"""Writes the dashboards' JSON from the few lines that differ:  python dashboards/grafana/build.py

A test holds the committed files to what this writes, and asks a real Prometheus every expression in them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "dashboards"
SOURCE = {"type": "prometheus", "uid": "deadheat"}
WIDTH = 24
"""Columns of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture. `queries`: expressions by legend. `kind`: timeseries, stat or bargauge. `limit`: a red line."""

    title: str
    about: str
    queries: Mapping[str, str]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12
    height: int = 8
    limit: float | None = None
    stacked: bool = False


_ratio = partial(Panel, unit="percentunit")
_time = partial(Panel, unit="s")
_per_second = partial(Panel, unit="ops")


def _stat(title: str, about: str, unit: str, expression: str) -> Panel:
    return Panel(title, about, {"": expression}, unit, "stat", width=4, height=4)


def _each(by: str, expression: str) -> Mapping[str, str]:
    """An expression with these labels, as a line for each combination of them."""
    return {" ".join(f"{{{{{label}}}}}" for label in by.split(", ")): expression}


def _by(by: str, expression: str, of: str = "sum") -> Mapping[str, str]:
    return _each(by, f"{of} by ({by}) ({expression})")


def _rate(by: str, metric: str) -> Mapping[str, str]:
    return _by(by, f"rate(deadheat_{metric}[5m])")


def _quantile(share: str, by: str, metric: str) -> Mapping[str, str]:
    """A quantile of a histogram over five minutes."""
    return _each(by, f"histogram_quantile({share}, sum by ({by}, le) (rate(deadheat_{metric}_bucket[5m])))")


NOW = (
    _stat("Matches per minute", "Finished, all games.", "short", "60 * sum(deadheat:matches:rate5m)"),
    _stat("Machines that judge", "Fit and reporting.", "short", "sum(max by (host) (deadheat_host_judges))"),
    _stat("Oldest in the queue", "Waiting time in seconds.", "s", "max(deadheat_queue_oldest_seconds)"),
    _stat("Timeouts per match", "Faults of the bots.", "percentunit", "avg(deadheat:timeouts:ratio5m)"),
    _stat("Void attempts", "Failures of the service.", "percentunit", "avg(deadheat:voids:ratio5m)"),
    _stat("Oldest ranking", "Of seasons in progress.", "s", "max(deadheat_ratings_age_seconds)"),
)

LATE = 'increase(deadheat_faults_total{fault="timeout"}[%s])'
PROMPTS = "(sum by (game, command) (increase(deadheat_prompts_total[1h])) > 0)"
LATE_OR_VOID = {
    "bot": f"sum({LATE % '5m'})",
    "host": "sum(increase(deadheat_replies_past_deadline_total[5m]))",
    "void": 'sum(increase(deadheat_attempts_total{cause!="played"}[5m]))',
}
REPLIES = {
    f"{legend} {name}": query
    for name, share in (("median", "0.5"), ("p99", "0.99"))
    for legend, query in _quantile(share, "game, command", "reply_seconds").items()
}
GIVEN_BACK = (
    "In 5 minutes. For the host's, the time was given back and the answer counted; void: attempts without a verdict, "
    "whatever the cause."
)
LATE_SHARE = _each("game, command", f"sum by (game, command) ({LATE % '1h'}) / {PROMPTS}")
TIMEOUTS = (
    _ratio(
        "Late answers by game and command, last hour",
        "Share of the prompts, by the bots' own time.",
        LATE_SHARE,
        kind="bargauge",
    ),
    Panel("Late answers and void attempts", GIVEN_BACK, LATE_OR_VOID, stacked=True),
)

DEADLINES = (
    _ratio(
        "Share of the limit used, 99th percentile",
        "Own time by game and command; 1 is the deadline.",
        _each("game, command", "deadheat:deadline_used_ratio:p99"),
        limit=1,
    ),
    _time(
        "Reply time, median and 99th percentile", "Own time from prompt to reply, without what the host took.", REPLIES
    ),
    _time(
        "Processor time of a reply, 99th percentile",
        "If far below the reply time, the bot waited for something.",
        _quantile("0.99", "game, command", "reply_cpu_seconds"),
    ),
    _ratio(
        "Replies that counted past their deadlines",
        "Share of all: the host had taken the excess. No bot loses by it, but the machine is too busy.",
        _each("game", "deadheat:past_deadline:ratio5m"),
        limit=0.01,
    ),
    _time(
        "Lateness of the referee when a deadline passed, 99th percentile",
        "No bot pays for it; other work on the referee's processor causes it.",
        _each("game", "deadheat:referee_late_seconds:p99"),
    ),
)

FAULTS = (
    _ratio(
        "Timeouts per match, compared with the season's last week",
        "Faults of the bots.",
        {"{{game}} {{season}}": "deadheat:timeouts:ratio5m", "{{game}} {{season}} norm": "deadheat:timeouts:norm"},
    ),
    _ratio(
        "Timeouts per prompt",
        "By season and command: where deadlines are missed.",
        _each("game, season, command", "deadheat:prompt_timeouts:ratio5m"),
    ),
    _per_second("Bots' failures by cause", "Per second.", _rate("game, fault", "faults_total")),
    _per_second(
        "Attempts by cause",
        "Played, or why void: a void attempt is a failure of the service, and the match is replayed.",
        _rate("game, cause", "attempts_total"),
    ),
    _time(
        "Time that the host took before a reply, 99th percentile",
        "Only replies from which it took any; it is given back.",
        _quantile("0.99", "game, command", "stolen_seconds"),
    ),
)

WORK = (
    Panel("Matches per minute", "Finished.", _each("game, season", "60 * deadheat:matches:rate5m")),
    Panel("Queue", "Rows by state.", _by("queue, state", "deadheat_queue_rows", "max")),
    Panel(
        "Slots",
        "Of the machines that judge. Idle: neither playing nor building although matches are unplayed.",
        {"all": "deadheat:slots", "idle": "deadheat:slots_idle"},
    ),
    _time("Wait until claimed, 95th percentile", "", _quantile("0.95", "queue", "queue_wait_seconds")),
    _per_second(
        "Builds by outcome",
        "Per second. Broken ones are for their authors to fix.",
        _rate("language, outcome", "builds_total"),
    ),
    _time(
        "Opening the boxes of a series, 95th percentile",
        "",
        {"open": "histogram_quantile(0.95, sum by (le) (rate(deadheat_sandbox_open_seconds_bucket[5m])))"},
    ),
    _per_second("Tasks that the service failed", "Per second.", _rate("task, cause", "task_failures_total")),
    _per_second(
        "Scheduled tasks done",
        "Per second. If there are none for minutes, no scheduler runs, or no worker receives its tasks.",
        _rate("task", "tasks_done_total"),
    ),
    Panel(
        "People's matches against bots, last day",
        "By how they ended. Waiting and running ones are in the queue.",
        _by("outcome", "deadheat_exhibitions_ended", "max"),
    ),
)

HOSTS = (
    Panel("Fit to judge", "1: yes.", _by("host", "deadheat_host_fit", "max")),
    _ratio("Processor time taken by the hypervisor", "", _by("host", "deadheat_host_steal_ratio", "max")),
    Panel(
        "Canary matches by outcome",
        "Reference bots with known verdicts: wrong must stay at 0.",
        _by("outcome", "increase(deadheat_canaries_total[1h])"),
    ),
    _time(
        "Last report", "Seconds ago.", _each("host", "time() - max by (host) (deadheat_host_seen_timestamp_seconds)")
    ),
    Panel(
        "Free space for blobs",
        "If they are files. When it is full, no uploads or results are accepted.",
        {"free": "min(deadheat_blob_free_bytes)"},
        unit="bytes",
    ),
    _ratio(
        "Free space for blobs, share",
        "Of bytes or inodes, whichever is smaller.",
        {"free": "min(deadheat_blob_free_ratio)"},
    ),
)

WEB = (
    Panel("Requests per second by status", "", _rate("status", "http_requests_total"), unit="reqps"),
    _time("Time to answer, 95th percentile", "By route.", _quantile("0.95", "route", "http_request_seconds")),
)

HOURLY_TIMEOUTS = (
    'sum by (game, season) (increase(deadheat_faults_total{fault="timeout"}[1h]))'
    " / (sum by (game, season) (increase(deadheat_matches_total[1h])) > 0)"
)

SEASON = (
    Panel(
        "Matches finished today", "By game and season.", _by("game, season", "increase(deadheat_matches_total[24h])")
    ),
    _ratio("Timeouts per match, last hour", "Faults of the bots.", _each("game, season", HOURLY_TIMEOUTS)),
    Panel(
        "Where bots fail",
        "Failures in the last hour by command and cause.",
        _by("game, command, fault", "increase(deadheat_faults_total[1h])"),
    ),
    _time("Age of the ranking", "By season.", {"season {{season}}": "max by (season) (deadheat_ratings_age_seconds)"}),
    Panel(
        "Matches held", "Waiting for an organiser after repeated void attempts.", _each("game", "deadheat:held_matches")
    ),
    Panel("Waiting matches", "Series, by state.", {"{{state}}": 'max by (state) (deadheat_queue_rows{queue="play"})'}),
)

DASHBOARDS: Mapping[str, Mapping[str, tuple[Panel, ...]]] = {
    "operators": {
        "Timeouts": TIMEOUTS,
        "Now": NOW,
        "Deadlines": DEADLINES,
        "Faults": FAULTS,
        "Work": WORK,
        "Machines": HOSTS,
        "Web": WEB,
    },
    "organisers": {"Seasons": SEASON},
}


def dashboard(uid: str) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    y = 0
    for heading, row in DASHBOARDS[uid].items():
        panels.append(_row(heading, len(panels) + 1, y))
        y += 1
        x = tallest = 0
        for panel in row:
            if x + panel.width > WIDTH:
                x, y, tallest = 0, y + tallest, 0
            panels.append(_panel(panel, len(panels) + 1, x, y))
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest
    return {
        "uid": f"deadheat-{uid}",
        "title": f"Deadheat: {uid}",
        "schemaVersion": 38,
        "version": 1,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "tags": ["deadheat"],
        "panels": panels,
    }


def _row(title: str, number: int, y: int) -> dict[str, Any]:
    place = {"x": 0, "y": y, "w": WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place}


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.limit is not None:
        steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.limit}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        defaults["custom"] = {"thresholdsStyle": {"mode": "line"}}
    if panel.stacked:
        defaults["custom"] = {"stacking": {"mode": "normal"}, "fillOpacity": 40}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for place, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def text(uid: str) -> str:
    return json.dumps(dashboard(uid), indent=1) + "\n"


if __name__ == "__main__":
    for name in DASHBOARDS:
        (HERE / f"{name}.json").write_text(text(name))
