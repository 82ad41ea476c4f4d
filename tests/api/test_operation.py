"""Operation: the server is alive, ready, measured and documented."""

import json
import logging
import re
import subprocess
import sys
import threading
from pathlib import Path
from shutil import disk_usage
from typing import Any

import anyio
import httpx
import pytest
from fastapi import Response
from sqlalchemy.exc import OperationalError

from deadheat.api.app import MEANINGS
from deadheat.api.edge.connections import capped
from deadheat.api.routes import environment
from deadheat.engine.core import Fault, Result
from deadheat.league.blobs import Room
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.tables import places, programs, sitting, turns
from deadheat.league.states import FinalsFormat, SeasonState
from tests.api.served import served
from tests.api.site import PROBLEM, Site


def metric(site: Site, name: str) -> float:
    """Return the value of one line of /metrics."""
    text = site.client.get("/metrics").text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found is not None, f"{name} not in\n{text}"
    return float(found[1])


def test_a_healthy_server_closes_its_database_when_it_ends_and_warns_of_nothing(site: Site, caplog) -> None:
    caplog.set_level(logging.INFO)
    with served(site.app, capped(site.world.settings)) as server:
        assert httpx.get(f"{server}/readyz").status_code == 200
        assert site.world.db.engine.pool.checkedin()  # type: ignore[attr-defined]  # it keeps connections
    assert not site.world.db.engine.pool.checkedin()  # type: ignore[attr-defined]  # as above
    assert "Application shutdown" in caplog.text
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_ready_means_that_every_part_is_reached(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "KEPT_SECONDS", 0.0)
    assert site.client.get("/healthz").text == "ok\n", "a server that answers is alive"
    assert site.ok(200, site.client.get("/readyz")) == {"database": "ok", "blobs": "ok", "broker": "ok"}
    site.queue.broken = True
    found = site.ok(503, site.client.get("/readyz"))
    assert found == {"database": "ok", "blobs": "ok", "broker": "cannot be reached (ConnectionError)"}
    site.queue.broken = False
    (site.world.settings.data_dir / "deadheat.sqlite3").unlink()
    monkeypatch.setattr(site.blobs, "check", lambda: 1 / 0)
    site.world.db.close()
    assert site.ok(503, site.client.get("/readyz"))["blobs"] == "cannot be reached (ZeroDivisionError)"


def test_readiness_is_checked_once_for_all_who_ask_at_the_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []
    monkeypatch.setattr(site.blobs, "check", lambda: checks.append(1))

    async def asked() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(environment.readyz, site.app.state.services, Response())

    monkeypatch.setattr(environment, "KEPT_SECONDS", 3600.0)
    anyio.run(asked)
    assert len(checks) == 1
    monkeypatch.setattr(environment, "KEPT_SECONDS", 0.0)
    anyio.run(asked)
    assert len(checks) == 9, "an old answer is not given again"


def test_requests_are_counted_by_route(site: Site) -> None:
    line = 'deadheat_http_requests_total{method="GET",route="/v1/bots/{bot_id}",status="404"}'
    site.client.get("/v1/bots/7")
    before = metric(site, line)
    site.client.get("/v1/bots/8")
    assert metric(site, line) == before + 1
    site.client.request("BREW", "/v1/bots/8")
    site.client.get("/v1/no/such/thing/" + "x" * 100)
    site.client.get("/v1/bots/7/versions/9/log")
    text = site.client.get("/metrics").text
    assert "BREW" not in text and "x" * 100 not in text
    assert 'route="/v1/bots/{bot_id}/versions/{number}/log"' in text and "/v1/bots/7" not in text


def test_room_for_blobs_is_measured_where_they_are_files(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(site.world.settings.data_dir) / "blobs"
    folder.mkdir(exist_ok=True)
    asked: list[Path] = []

    def room_at(asked_of: Path) -> Room:
        asked.append(asked_of)
        return Room(free_bytes=300, size_bytes=1000, free_files=20, size_files=100)

    monkeypatch.setattr("deadheat.api.metrics.room_at", room_at)
    assert metric(site, "deadheat_blob_free_bytes") == 300 and metric(site, "deadheat_blob_free_ratio") == 0.2
    assert {*asked} == {folder.absolute()}
    monkeypatch.undo()
    assert metric(site, "deadheat_blob_free_bytes") == pytest.approx(disk_usage(folder).free, rel=0.2)
    folder.rmdir()
    assert "deadheat_blob" not in site.client.get("/metrics").text
    assert metric(site, 'deadheat_queue_oldest_seconds{queue="play"}') == 0


@pytest.mark.parametrize("silent", [False, True])
def test_metrics_survive_a_database_that_is_away(site: Site, monkeypatch: pytest.MonkeyPatch, silent: bool) -> None:
    assert metric(site, "deadheat_database_up") == 1
    site.client.get("/v1/bots/7")
    over = threading.Event()
    refused = OperationalError("SELECT", {}, ConnectionError("no route to host"))

    def queues(session: object) -> None:
        assert over.wait(60) if silent else True
        raise refused

    monkeypatch.setattr("deadheat.api.metrics.queues", queues)
    monkeypatch.setattr("deadheat.api.metrics.DATABASE_SECONDS", 0.1 if silent else 60)
    text = site.client.get("/metrics").text
    over.set()
    assert "\ndeadheat_database_up 0.0\n" in text and "deadheat_queue_rows" not in text
    assert 'route="/v1/bots/{bot_id}",status="404"' in text


def test_the_queues_are_measured(site: Site) -> None:
    assert metric(site, 'deadheat_queue_oldest_seconds{queue="play"}') == 0
    season = site.world.season(3, games_per_pair=2)
    first, second, *_ = site.world.tick()
    site.world.clock.turn(12)
    assert round(metric(site, 'deadheat_queue_oldest_seconds{queue="play"}'), 3) == 12
    job = site.world.claim(first)
    site.world.clock.turn(12)
    assert metric(site, 'deadheat_queue_rows{queue="play",state="queued"}') == 2
    assert metric(site, 'deadheat_queue_rows{queue="play",state="running"}') == 1
    assert metric(site, 'deadheat_queue_oldest_seconds{queue="play"}') == 0, "its season is being served"
    assert job is not None and site.world.finish(job)
    site.world.clock.turn(3)
    assert round(metric(site, 'deadheat_queue_oldest_seconds{queue="play"}'), 3) == 3, "since the last one"
    site.world.claim(second)
    assert (metric(site, "deadheat_slots"), metric(site, "deadheat_slots_idle")) == (1, 0)
    assert metric(site, 'deadheat_queue_rows{queue="build",state="uploaded"}') == 0
    site.world.write(refit, season)
    site.world.clock.turn(5)
    assert metric(site, f'deadheat_ratings_age_seconds{{season="{season}"}}') == 5


def test_peoples_matches_are_measured_while_they_wait_and_by_how_they_ended(site: Site) -> None:
    world = site.world
    _, bot_id = world.playing_bot()

    def sit() -> tuple[Person, int]:
        person = world.author()
        return person, world.write(sitting.take_seat, person, bot_id, seat=1)

    def end(fault: Fault | None) -> None:
        _, exhibition_id = sit()
        with world.db.transaction() as session:
            job = programs.claim_table(session, exhibition_id, "w1", world.host)
            assert job is not None
            result = Result((1, 2), None, {} if fault is None else {1: fault})
            assert turns.finish(session, job.table_id, job.attempt, result, "c" * 64)

    for fault in (None, Fault.EXITED, None, Fault.TIMEOUT):
        end(fault)
    person, exhibition_id = sit()
    world.write(turns.resign, person, exhibition_id)
    sit()
    world.clock.turn(12)
    assert metric(site, 'deadheat_queue_rows{queue="exhibition",state="queued"}') == 1
    assert metric(site, 'deadheat_queue_oldest_seconds{queue="exhibition"}') == 12
    assert ended(site) == {"played": 2, "resigned": 1, "late": 1, "left": 1, "no-worker": 0}
    world.clock.turn(places.QUEUE_SECONDS)
    world.write(sweep)
    assert ended(site) == {"played": 2, "resigned": 1, "late": 1, "left": 1, "no-worker": 1}
    world.clock.turn(86_401)
    assert set(ended(site).values()) == {0}


def ended(site: Site) -> dict[str, float]:
    line = r'^deadheat_exhibitions_ended\{outcome="([\w-]+)"\} (\S+)$'
    found = re.findall(line, site.client.get("/metrics").text, re.MULTILINE)
    return {how: float(count) for how, count in found}


def test_rankings_are_watched_until_their_season_closes(site: Site) -> None:
    season = site.world.season(2, games_per_pair=2, finals=FinalsFormat.ROUND_ROBIN)
    age, behind = (f'deadheat_ratings_{what}{{season="{season}"}}' for what in ("age_seconds", "behind"))
    site.world.play_all()
    site.world.write(refit, season)
    for state, changed in ((SeasonState.OPEN, 0), (SeasonState.FROZEN, 0), (SeasonState.FINALS, 1)):
        site.world.write(set_season_state, site.world.boss, season, state)
        site.world.clock.turn(5)
        assert metric(site, behind) == changed and metric(site, age) > 0
    site.world.write(set_season_state, site.world.boss, season, SeasonState.CLOSED, force=True)
    assert behind not in site.client.get("/metrics").text


def test_processes_of_one_host_add_up_their_metrics(tmp_path: Path) -> None:
    """Each process in turn answers one request, then tells the sum."""
    script = """
import os, sys
from pathlib import Path
from tests.api.site import Site
assert "joserfc" not in sys.modules, "only a league with a provider imports it"
folder = Path(sys.argv[1])
for number in ("1", "2"):
    if os.fork():
        assert os.wait()[1] == 0
        continue
    site = Site(folder / number, metrics_dir=str(folder), worker_name="w1")
    site.client.get("/v1/games")
    (folder / f"{number}.txt").write_text(site.client.get("/metrics").text)
    os._exit(0)
"""
    environment = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PATH": ""}
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=environment, cwd=root, check=True)
    for number in ("1", "2"):
        told = (tmp_path / f"{number}.txt").read_text()
        assert f'requests_total{{host="w1",method="GET",route="/v1/games",status="200"}} {number}.0' in told
        assert 'deadheat_queue_oldest_seconds{queue="play"} 0.0' in told


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, told) for path, methods in document["paths"].items() for method, told in methods.items()]


def test_the_api_describes_itself(site: Site) -> None:
    document = site.ok(200, site.client.get("/v1/openapi.json"))
    assert document["openapi"].startswith("3.1")
    assert "HTTPValidationError" not in json.dumps(document) and "#/components/schemas/Problem" in json.dumps(document)
    names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert names <= set(document["components"]["schemas"])
    for path, method, told in operations(document):
        assert told.get("description"), (path, method)
        for status, answer in told["responses"].items():
            assert answer["description"], (path, method, status)
            if 400 <= int(status) < 500:
                assert list(answer["content"]) == [PROBLEM], (path, method, status)
    all_is_described(document)
    form = document["paths"]["/v1/bots/{bot_id}/versions"]["post"]["requestBody"]["content"]
    assert list(form) == ["multipart/form-data"]
    needs_a_token(site, document)
    fields = document["components"]["schemas"]["SignUp"]["properties"]
    body = {name: told["examples"][0] for name, told in fields.items() if "examples" in told}
    site.ok(201, site.client.post("/v1/users", json=body))


def all_is_described(document: dict[str, Any]) -> None:
    """Check that every field and parameter has a description, and that all of `MEANINGS` are in use."""
    schemas = document["components"]["schemas"].values()
    fields = [field for schema in schemas for field in schema.get("properties", {}).items()]
    fields += [(each["name"], each) for _, _, told in operations(document) for each in told.get("parameters", ())]
    assert len(fields) > 1000
    assert [name for name, about in fields if not about.get("description")] == []
    shown = {about["description"] for _, about in fields}
    groups = [told for told in MEANINGS.values() if isinstance(told, dict)]
    for sentences in (MEANINGS, *groups):
        assert [name for name, told in sentences.items() if isinstance(told, str) and told not in shown] == []


def needs_a_token(site: Site, document: dict[str, Any]) -> None:
    """Check that operations documented as needing a token do, and document their answer without one."""
    secured = [(path, method, told) for path, method, told in operations(document) if "security" in told]
    assert secured
    for path, method, told in secured:
        site.problem(401, site.client.request(method, re.sub(r"\{\w+\}", "1", path)), "bad-token")
        assert "401" in told["responses"], (path, method)


def test_no_page_of_documentation_fetches_from_elsewhere(site: Site) -> None:
    site.problem(404, site.client.get("/redoc"))
    for path in ("/docs", "/docs/api"):
        shown = site.client.get(path, headers={"Accept": "text/html"}).text
        assert not re.search(r"""(src|href)=["'](https?:)?//""", shown), path
