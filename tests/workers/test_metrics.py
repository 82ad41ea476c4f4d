"""What Prometheus and the league learn of a match on a busy host, and who may ask a worker for its metrics."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from prometheus_client import REGISTRY

from deadheat.engine.games import GAMES
from deadheat.engine.transcript import Transcript, decode
from deadheat.league.causes import BLAMELESS, DROPPED, Cause
from deadheat.league.outcomes import evidence, fault_records, latencies
from deadheat.workers import metrics
from deadheat.workers.exposition import expose
from tests.engine.busy import convicted_on_a_busy_host, on_a_busy_host
from tests.league.ground import settings

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"
CALM = decode((TRANSCRIPTS / "yacht-auction.jsonl").read_bytes())
LABELS = {"game": "yacht-auction", "command": "ROLL"}


def grown(names: list[str], *matches: Transcript) -> list[float]:
    def values() -> list[float]:
        return [REGISTRY.get_sample_value(f"deadheat_{name}", LABELS) or 0.0 for name in names]

    before = values()
    for match in matches:
        metrics.record([match], latencies(match), 1)
    return [after - value for after, value in zip(values(), before, strict=True)]


def test_time_that_the_host_took_is_counted_by_game_and_command() -> None:
    names = ["stolen_seconds_count", "stolen_seconds_sum", "replies_past_deadline_total"]
    assert grown(names, CALM) == [0, 0, 0] and grown(names, on_a_busy_host(CALM)) == pytest.approx([2, 0.28, 1])


def test_the_ledger_keeps_what_the_host_took_from_a_match() -> None:
    assert evidence(CALM) == {}
    assert evidence(on_a_busy_host(CALM)) == {"stolen_ns": 280_000_000, "past_deadline": 1}


def test_response_times_are_own_time() -> None:
    """A busy host raises no alarm about bots that are near their limits."""
    (sum_calm,), (sum_busy,) = (grown(["deadline_used_ratio_sum"], match) for match in (CALM, on_a_busy_host(CALM)))
    own = 0.96 + 0.04
    before = sum(CALM.exchanges[number].replies[0].own_ns for number in (1, 2)) / 500_000_000
    assert sum_busy - sum_calm == pytest.approx(own - before)


def test_every_cause_of_a_failure_is_foreseen() -> None:
    """A rate cannot see a counter's birth, so the causes are there from the start."""
    for cause in set(Cause) - DROPPED:
        if cause not in BLAMELESS:
            labels = {"game": "yacht-auction", "cause": cause}
            assert REGISTRY.get_sample_value("deadheat_attempts_total", labels) is not None, cause
        labels = {"task": "play", "cause": cause}
        assert REGISTRY.get_sample_value("deadheat_task_failures_total", labels) is not None, cause


def series_of(season_id: int) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.labels.get("season") == str(season_id) and not sample.name.endswith("_created")
    }


@pytest.mark.parametrize("game", GAMES)
def test_every_series_of_a_season_begins_at_zero(game: str) -> None:
    """Prometheus sees no rise in a counter that is born with its first value."""
    season_id = 1000 + list(GAMES).index(game)
    metrics.appear(game, season_id)
    born = series_of(season_id)
    assert set(born.values()) == {0} and len(born) <= metrics.MOST_OF_A_SEASON
    for path in sorted(TRANSCRIPTS.glob("*.jsonl")):
        transcript = decode(path.read_bytes())
        if transcript.game == game:
            metrics.record([transcript], latencies(transcript), season_id)
    played = series_of(season_id)
    assert any(played.values()) and played.keys() == born.keys()


def test_a_rate_of_time_outs_can_be_asked_by_season_and_command() -> None:
    metrics.appear("yacht-auction", 2000)
    labels = {"game": "yacht-auction", "season": "2000", "command": "ROLL"}
    metrics.record([CALM], latencies(CALM), 2000)
    assert REGISTRY.get_sample_value("deadheat_prompts_total", labels) == 24
    assert REGISTRY.get_sample_value("deadheat_faults_total", {**labels, "fault": "timeout"}) == 0


def test_the_league_keeps_own_time() -> None:
    (row,) = (row for row in latencies(on_a_busy_host(CALM)) if (row.seat, row.command) == (0, "ROLL"))
    assert row.worst_ns == 480_000_000
    assert max(row.counts) <= 80, "none used more than its limit (league.time_buckets)"
    lost = convicted_on_a_busy_host(decode((TRANSCRIPTS / "betris-large-bank.jsonl").read_bytes()))
    (fault,) = fault_records(lost)
    assert fault.elapsed_ms == 410


@contextmanager
def exposed(folder: Path, networks: str) -> Iterator[str]:
    server = expose(settings(folder, metrics_networks=networks), folder, 0)
    with closing(server.socket):
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()


def test_metrics_are_told_to_the_networks_that_may_measure_alone(tmp_path: Path) -> None:
    with exposed(tmp_path, "127.0.0.0/8") as url:
        answer = httpx.get(url)
        assert (answer.status_code, answer.headers["Content-Type"].split(";")[0]) == (200, "text/plain")
    with exposed(tmp_path, "10.0.0.0/8") as url, pytest.raises(httpx.TransportError):
        httpx.get(url)
