"""Metrics for Prometheus: requests as they happen, and the state of the queues, read from the database on each scrape.

The processes of one host add up their counts in a directory (see `league.config.Settings.metrics_dir`). Gauges from the
database and of the blobs' disk are the same for every process and are made for each scrape. While the database is
away, only its own gauges are missing.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from functools import cache
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from deadheat.api.errors import log_outage
from deadheat.api.services import Services
from deadheat.engine.games import GAMES
from deadheat.league.blobs import blob_folder, room_at
from deadheat.league.measured import Sums
from deadheat.league.service.rulings.rulings import held_by_game
from deadheat.league.service.series import hosts as league_hosts
from deadheat.league.service.views.queues import queues
from deadheat.league.states import IN_PLAY, Fitness, either

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

DATABASE_SECONDS = 5
"""A database that does not answer within this time counts as away; Prometheus waits for ten seconds."""

_asking = ThreadPoolExecutor(max_workers=2, thread_name_prefix="metrics")

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)

requests = Counter("deadheat_http_requests_total", "Requests by route and status.", ["method", "route", "status"])
connections = Gauge("deadheat_http_connections", "Open connections.", multiprocess_mode="livesum")
request_seconds = Histogram("deadheat_http_request_seconds", "Time to answer.", ["method", "route"], buckets=_SECONDS)
_counted, _timed = cache(requests.labels), cache(request_seconds.labels)
"""Looking up the metrics with some labels takes longer than counting."""


def record_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count one request. All invented methods share one label."""
    known = method if method in _METHODS else "other"
    _counted(known, route, str(status)).inc()
    _timed(known, route).observe(seconds)


def exposition(shared: Services) -> bytes:
    """Return all metrics in Prometheus' text format."""
    counted = REGISTRY
    if shared.settings.metrics_dir is not None:
        counted = CollectorRegistry()
        Sums(counted, shared.settings.metrics_dir, shared.settings.machine)
    gauges = CollectorRegistry()  # registering queries nothing, unlike with `auto_describe`
    gauges.register(_Database(shared))
    gauges.register(_Disk(shared))
    return generate_latest(counted) + generate_latest(gauges)


class _Database(Collector):
    """Gauges whose values come from queries to the database."""

    def __init__(self, shared: Services) -> None:
        self._shared = shared

    def collect(self) -> Iterator[Metric]:
        metrics: list[Metric] = []
        try:
            metrics += _asking.submit(lambda: [*self._gauges()]).result(DATABASE_SECONDS)
        except (SQLAlchemyError, TookTooLong) as error:
            log_outage("metrics", error)
        text = "1: the database answers; 0: its gauges are missing."
        yield GaugeMetricFamily("deadheat_database_up", text, value=bool(metrics))
        yield from metrics

    def _gauges(self) -> Iterator[Metric]:
        with self._shared.db.reading() as session:
            waiting = held_by_game(session)
            figures = queues(session)
            hosts = league_hosts.hosts(session)
        rows = {(queue.name, state): count for queue in figures.queues for state, count in queue.rows.items()}
        yield _gauge("deadheat_queue_rows", "Builds, series and people's matches by state.", rows, "queue", "state")
        oldest = {queue.name: queue.oldest_seconds for queue in figures.queues}
        text = "Age of the oldest waiting row; 0: none is waiting."
        yield _gauge("deadheat_queue_oldest_seconds", text, oldest, "queue")
        ages = {str(season_id): seconds for season_id, seconds in figures.ranking_age_seconds.items()}
        text = f"Age of the newest ranking of each season that is {either(IN_PLAY)}."
        yield _gauge("deadheat_ratings_age_seconds", text, ages, "season")
        behind = {str(season_id): season_id in figures.behind for season_id in figures.ranking_age_seconds}
        text = "1: the season's results have changed since its ranking."
        yield _gauge("deadheat_ratings_behind", text, behind, "season")
        text = "People's matches of the last day by how they ended."
        yield _gauge("deadheat_exhibitions_ended", text, figures.exhibitions_ended, "outcome")
        text = "Matches that the service failed to play too often; an organiser must decide."
        yield _gauge("deadheat_held_matches", text, {game: waiting.get(game, 0) for game in GAMES}, "game")
        text = "Matches that the judging machines can play at a time."
        yield GaugeMetricFamily("deadheat_slots", text, value=figures.slots)
        text = "Slots that neither play nor build although matches are unplayed."
        yield GaugeMetricFamily("deadheat_slots_idle", text, value=figures.idle_slots)
        # They reveal nothing about bots or users, so machines are labels.
        fit = {host.name: host.fitness is Fitness.FIT for host in hosts}
        yield _gauge("deadheat_host_fit", "1: found fit to judge; 0: not, or not yet.", fit, "host")
        judges = {host.name: host.judges for host in hosts}
        yield _gauge("deadheat_host_judges", "1: it would get a series now.", judges, "host")
        seen = {host.name: host.last_seen_at.timestamp() for host in hosts}
        yield _gauge("deadheat_host_seen_timestamp_seconds", "When it last reported.", seen, "host")
        steal = {host.name: host.steal_share for host in hosts}
        text = "Share of its CPU time recently taken by the hypervisor."
        yield _gauge("deadheat_host_steal_ratio", text, steal, "host")


class _Disk(Collector):
    """Gauges of the free space for blobs. A separate store is monitored elsewhere and not reported here."""

    def __init__(self, shared: Services) -> None:
        self._folder = blob_folder(shared.settings.blobs)

    def collect(self) -> Iterator[Metric]:
        if self._folder is None:
            return
        try:
            room = room_at(self._folder)
        except OSError:  # /readyz reports unreachable blobs; the other metrics are still reported
            return
        yield GaugeMetricFamily("deadheat_blob_free_bytes", "Free space for blobs.", value=room.free_bytes)
        yield GaugeMetricFamily(
            "deadheat_blob_free_ratio", "Free share of space or of inodes, whichever is smaller.", value=room.free_ratio
        )


def _gauge(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    """Make a gauge of values by label, or by tuples of labels if there are several."""
    gauge = GaugeMetricFamily(name, text, labels=labels)
    for of, value in values.items():
        gauge.add_metric([of] if len(labels) == 1 else of, value)
    return gauge
