"""Traces and logs of a real league: of its API, queue, workers and sandbox."""

import json
import re

import pytest

from tests.cluster.servers import until
from tests.dashboards.collector import PATIENCE_S
from tests.dashboards.conftest import Watched

pytestmark = [pytest.mark.containers, pytest.mark.all]


def test_a_trace_leads_from_an_upload_to_its_trial_match(watched: Watched) -> None:
    path = watched.collector.path(lambda span: span.name == "trial match")
    assert [span.name for span in path] == [
        "request",
        "send deadheat.build",
        "deadheat.build",
        "version",
        "trial match",
    ]
    assert len({span.trace for span in path}) == 1
    assert [span.service for span in path] == ["deadheat-api"] * 2 + ["deadheat-worker"] * 3
    upload, version = path[0].attributes, path[3].attributes
    assert (upload["http.method"], upload["http.status_code"]) == ("POST", 202)
    assert str(upload["http.route"]).endswith("/versions")
    assert version["deadheat.version"] in {1, 2, 3}


def test_a_trace_leads_from_the_scheduler_into_the_boxes(watched: Watched) -> None:
    played = watched.collector.path(lambda span: span.name == "match")
    assert [span.name for span in played][-3:] == ["deadheat.play", "series", "match"]
    series = played[-2]
    opened = watched.collector.path(lambda span: span.name == "open boxes" and span.parent == series.id)
    assert opened[:-1] == played[:-1]
    assert {"deadheat.match", "deadheat.versions"} <= played[-1].attributes.keys()
    assert {"deadheat.series", "deadheat.attempt", "deadheat.game"} == series.attributes.keys()


def test_every_line_of_the_log_is_an_object_that_names_what_it_is_about(watched: Watched) -> None:
    written = watched.log.read_text().splitlines()
    lines = [json.loads(line) for line in written if line.startswith("{")]
    # The other lines are what `deadheat serve` prints for the person who started it.
    assert not [line for line in written if re.search(r"INFO|WARNING|ERROR|Traceback", line) and line[0] != "{"]
    assert all({"time", "level", "logger", "message", "process"} <= line.keys() for line in lines)
    about_series = {line["trace"] for line in lines if "series" in line}
    assert about_series
    spans = watched.collector.spans
    until("each trace has arrived", lambda: about_series <= {span.trace.hex() for span in spans}, PATIENCE_S)
