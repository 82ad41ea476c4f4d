"""What processes tell: lines of the log, traces, and metrics of processes that ended."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, generate_latest

from deadheat.league import measured, telemetry
from deadheat.league.config import Settings

log = logging.getLogger("tests.telemetry")


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Turn traces on, and return the exporter that collects them."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    return exporter


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """Take away the root logger's handlers, and restore it afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    yield
    root.handlers = handlers
    root.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.mark.usefixtures("own_handlers")
def test_a_line_names_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.begin(Settings(log_format="json"), "test")
    with telemetry.doing("series", series=3), telemetry.doing("match", match=7, versions=[1, 2]):
        log.info("seat %d\nis slow", 1)
    log.warning("outside")
    inside, outside = lines(capsys)
    about = {"series": 3, "match": 7, "versions": [1, 2]}
    assert inside.items() >= {**about, "level": "INFO", "logger": log.name, "message": "seat 1\nis slow"}.items()
    assert str(inside["time"]).endswith("+00:00") and not about.keys() & outside.keys()


@pytest.mark.usefixtures("own_handlers")
def test_a_failure_is_one_line_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.begin(Settings(log_format="json"), "test")
    try:
        raise ValueError("no\nengine")
    except ValueError:
        log.exception("series %d failed", 3)
    (line,) = lines(capsys)
    assert line["message"] == "series 3 failed"
    assert str(line["exc_info"]).endswith("ValueError: no\nengine")


@pytest.mark.usefixtures("own_handlers")
def test_text_stays_text(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.begin(Settings(), "test")
    with telemetry.doing("series", series=3):
        log.info("series 3: %s\x1b]0;owned\x07\x85", "2 matches")
    said = capsys.readouterr().err
    assert said.endswith("INFO tests.telemetry series 3: 2 matches\\x1b]0;owned\\x07\\x85\n")


def test_work_goes_on_in_the_trace_of_the_request(spans: InMemorySpanExporter) -> None:
    with telemetry.doing("request", "SERVER", request="ab"), telemetry.doing("send", "PRODUCER"):
        carried = telemetry.headers()
    with telemetry.carrying_out("deadheat.build", carried, version=5), telemetry.doing("build"):
        telemetry.learned(language="c", **{"http.route": "/x"})
    by_name = {span.name: span for span in spans.get_finished_spans()}
    assert len({span.context.trace_id for span in by_name.values() if span.context}) == 1
    asked, done = by_name["send"].context, by_name["deadheat.build"]
    assert asked is not None
    assert done.parent is not None
    assert (done.parent.span_id, done.attributes) == (asked.span_id, {"deadheat.version": 5})
    assert by_name["build"].attributes == {"deadheat.language": "c", "http.route": "/x"}


def test_a_failure_marks_its_span(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="boxes"), telemetry.doing("open"):
        raise ValueError("boxes")
    (span,) = spans.get_finished_spans()
    assert not span.status.is_ok


@pytest.mark.usefixtures("own_handlers")
def test_a_line_names_its_trace(spans: InMemorySpanExporter, capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.begin(Settings(log_format="json"), "test")
    with telemetry.doing("match"):
        log.info("played")
    (line,) = lines(capsys)
    (span,) = spans.get_finished_spans()
    assert span.context is not None and line["trace"] == f"{span.context.trace_id:032x}"


def test_where_traces_are_off_nothing_of_them_is_loaded() -> None:
    program = (
        "import sys; from deadheat.league import telemetry; from deadheat.league.config import Settings\n"
        "telemetry.begin(Settings(), 'test')\n"
        "with telemetry.doing('a'), telemetry.carrying_out('b', {}): telemetry.learned(x=1)\n"
        "assert not telemetry.headers()\n"
        "print(*(name for name in sys.modules if name.startswith('opentelemetry')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


COUNTS = """
import os, sys
from prometheus_client import Counter, Gauge, Histogram
Counter("c_total", "C.", ["season"]).labels("1").inc(3)
Histogram("h", "H.", buckets=(1, 2)).observe(1.5)
Gauge("g", "G.", multiprocess_mode="livesum").set(5)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


class Counting:
    """A process that counts 3 and then waits until it is killed."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
        command = [sys.executable, "-c", COUNTS]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def told(folder: Path) -> dict[str, float]:
    registry = CollectorRegistry()
    measured.Sums(registry, folder, "w1")
    lines = generate_latest(registry).decode().splitlines()
    assert all('host="w1"' in line for line in lines if line[0] != "#"), "every figure says whose it is"
    lines = [line.replace('{host="w1"}', "").replace('host="w1",', "") for line in lines]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_files_of_processes_that_were_killed_go_and_what_they_counted_stays(tmp_path: Path) -> None:
    killed, lives = Counting(tmp_path), Counting(tmp_path)
    before = told(tmp_path)
    assert (before['c_total{season="1"}'], before["h_count"], before["g"]) == (6, 2, 10)
    killed.kill()
    Counting(tmp_path).kill()
    measured.fold(tmp_path)
    measured.fold(tmp_path)
    found = told(tmp_path)
    assert (found['c_total{season="1"}'], found['h_bucket{le="2.0"}'], found["h_sum"]) == (9, 3, 4.5)
    assert found["g"] == 5, "what a dead process has now is nothing"
    files = {path.name for path in tmp_path.glob("*.db")}
    mine = {f"{kind}_{lives.process.pid}.db" for kind in ("counter", "histogram", "gauge_livesum")}
    assert files == mine | {"counter_gone.db", "histogram_gone.db"}
    measured.begin(tmp_path)
    assert told(tmp_path) == found, "somebody else counts here"
    lives.kill()
    measured.begin(tmp_path)
    assert list(tmp_path.glob("*.db")) == []


def test_a_file_that_was_just_made_spoils_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    killed = Counting(tmp_path)
    killed.kill()
    (tmp_path / f"counter_{killed.process.pid}.db").write_bytes(b"")
    measured.fold(tmp_path)
    assert told(tmp_path)["h_count"] == 1
    assert "cannot be read" in caplog.text


def test_of_two_that_tell_the_same_sum_the_second_is_told(tmp_path: Path) -> None:
    script = "import sys, pathlib, league.measured as m; print(m.told_alone(pathlib.Path(sys.argv[1])), flush=True)"
    run = [sys.executable, "-c", script + "; sys.stdin.read()", str(tmp_path)]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "True\n"
        assert not measured.told_alone(tmp_path)
