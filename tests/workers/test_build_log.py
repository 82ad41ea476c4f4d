"""A build's log as its author reads it while the build runs, in plain subprocesses."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from deadheat.engine.core import NS_PER_S, STDERR_KEPT_BYTES
from deadheat.engine.games.folder import bots_of
from deadheat.league.service.jobs.builds import BuildJob, BuildOutcome, finish_build, note_build_log
from deadheat.league.states import VersionState
from deadheat.sandbox import arena
from deadheat.sandbox.languages import LANGUAGES
from deadheat.workers import build, holding
from deadheat.workers.build import BuildLog, build_version
from deadheat.workers.holding import LeaseLost
from tests.league.ground import settings
from tests.league.people import GAME
from tests.workers.building import BuildingWorld

RANDOM = (bots_of(GAME) / "random" / "main.py").read_text()


@pytest.fixture
def world(tmp_path: Path, unhurried: None) -> Iterator[BuildingWorld]:
    made = BuildingWorld(settings(tmp_path, sandbox="local"))
    yield made
    made.close()


@pytest.fixture
def read(world: BuildingWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[VersionState, str]]:
    """Note the state and the log after each write, and mark with a file which lines were written."""
    found: list[tuple[VersionState, str]] = []
    note = note_build_log

    def noted(session: Session, job: BuildJob, text: str) -> bool:
        with world.db.reading() as before:  # what the previous write left for every reader
            version = before.get_one(type(world.built_version(job.version_id)), job.version_id)
            found.append((version.state, version.log))
        taken = note(session, job, text)
        for number in range(1, 4):
            if f"line {number}\n" in text:
                (tmp_path / f"seen{number}").touch()
        return taken

    monkeypatch.setattr(build, "note_build_log", noted)
    return found


def claimed(world: BuildingWorld) -> BuildJob:
    return world.building(world.add("bot.py", RANDOM.encode()))


def log_of(world: BuildingWorld, job: BuildJob) -> str:
    return world.built_version(job.version_id).log


def test_the_log_grows_with_its_build(
    world: BuildingWorld, read: list[tuple[VersionState, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arena, "FINISH_GRACE_NS", 60 * NS_PER_S)  # the bot's speed is not the point
    slow = f"for n in 1 2 3; do echo line $n; while [ ! -e {tmp_path}/seen$n ]; do sleep 0.05; done; done"
    monkeypatch.setattr(build, "LANGUAGES", {**LANGUAGES, "python": replace(LANGUAGES["python"], build=slow)})
    version = world.built("bot.py", RANDOM)
    assert version.state is VersionState.READY
    assert {state for state, _ in read} == {VersionState.BUILDING}
    texts = [text for _, text in read] + [version.log]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert any(text.endswith("line 1\nline 2\n") for text in texts), "a part of it, before there was more"
    lines = version.log.splitlines()
    assert lines[:5] == ["--- build as Python 3 ---", f"$ {slow}", "line 1", "line 2", "line 3"]
    assert lines[5] == "--- trial match at a table of 2, in seat 1 ---" and lines[-1] == "exit code 0"


def test_it_is_written_at_most_once_a_second(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(at=100.0)
    monkeypatch.setattr(build, "time", SimpleNamespace(monotonic=lambda: clock.at))
    job = claimed(world)
    said = BuildLog(world.context, job)
    said.say("first")
    assert log_of(world, job) == "first\n"
    said.hear("a")
    said.hear("a\nb")
    clock.at = 100.9
    said.write_when_due()
    assert log_of(world, job) == "first\n"
    clock.at = 101.0
    said.write_when_due()
    assert log_of(world, job) == "first\na\nb"
    said.say("second")
    said.hear("c")
    clock.at = 102.0
    said.write_when_due()
    assert log_of(world, job) == said.text == "first\na\nb\nsecond\nc"


def test_who_lost_the_build_writes_nothing(world: BuildingWorld) -> None:
    job = claimed(world)
    said = BuildLog(world.context, replace(job, attempt=job.attempt - 1))
    with pytest.raises(LeaseLost):
        said.say("of an attempt that is over")
    assert log_of(world, job) == ""


def test_a_log_that_cannot_be_written_is_written_later(world: BuildingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    job = claimed(world)
    said = BuildLog(world.context, job)
    away = mock.Mock(side_effect=OperationalError("update", {}, Exception("away")))
    with monkeypatch.context() as patch:
        patch.setattr(build, "note_build_log", away)
        said.say("first")
    assert log_of(world, job) == ""
    monkeypatch.setattr(build, "WRITE_SECONDS", 0)
    said._due_at = 0
    said.write_when_due()
    assert log_of(world, job) == "first\n"


def test_how_a_build_ended_is_said_when_the_database_comes_back(world: BuildingWorld, monkeypatch) -> None:
    version_id = world.add("bot.py", RANDOM.encode())
    finish, tries = finish_build, []

    def away(session: Session, job: BuildJob, outcome: BuildOutcome) -> bool:
        tries.append(finish(session, job, outcome))
        if len(tries) < 3:
            raise OperationalError("update", {}, Exception("away"))
        return tries[-1]

    monkeypatch.setattr(build, "make", lambda *_: BuildOutcome(None, "it does not build", ""))
    monkeypatch.setattr(build, "finish_build", away)
    monkeypatch.setattr(holding, "RETRY_SECONDS", 0)
    build_version(world.context, version_id)
    version = world.built_version(version_id)
    assert (version.state, version.reason, version.attempt) == (VersionState.BROKEN, "it does not build", 1)
    assert len(tries) == 3


def test_a_hostile_log_is_kept_as_text_within_its_limit(world: BuildingWorld) -> None:
    job = claimed(world)
    BuildLog(world.context, job).hear("\x1b[2J\0\ud800<script>" + "x" * 2**20)
    kept = log_of(world, job)
    assert len(kept.encode()) == STDERR_KEPT_BYTES and "\0" not in kept
