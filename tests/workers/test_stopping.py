"""A worker that is told to end finishes its job or hands it back. In a newer version's database it does nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import select

from deadheat.cli.operator.tree import Child, Process, Tree
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.series import carrying_out
from deadheat.league.states import JobState, VersionState
from deadheat.league.storage.schema import WrongSchema, newest_revision
from deadheat.league.tables import Attempt, BotVersion
from deadheat.workers import play, stopping, tasks
from deadheat.workers.build import build_version
from deadheat.workers.play import play_series
from tests.league.people import GAME
from tests.workers.conftest import PlayingWorld


@pytest.fixture
def told_to_stop() -> Iterator[None]:
    stopping.listen()
    os.kill(os.getpid(), stopping.SIGNAL)
    yield
    stopping.listen()
    signal.signal(stopping.SIGNAL, signal.SIG_DFL)


def test_a_series_handed_back_can_be_played_at_once_and_again(world: PlayingWorld, told_to_stop: None) -> None:
    series_id = world.queued(2)
    times = carrying_out.SERIES_ATTEMPTS + 1
    for _ in range(times):
        assert play_series(world.context, series_id)
    found = world.series(series_id)
    assert world.causes(series_id) == ["worker-stopped"] * times
    assert (found.state, found.nudge_at, found.lease_until) == (JobState.QUEUED, world.clock.now, None)
    stopping.listen()
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.DONE and world.causes(series_id)[times:] == ["played", "played"]


def test_a_build_that_is_handed_back_waits_again(world: PlayingWorld, told_to_stop: None) -> None:
    owner, bot_id = world.bot(game=GAME)
    version_id = world.upload(owner, bot_id)
    with world.db.transaction() as session:
        version = session.get_one(BotVersion, version_id)
        version.source_sha256 = world.context.blobs.put(b"print('OK')")
    for _ in range(2):
        build_version(world.context, version_id)
    with world.db.reading() as session:
        version = session.get_one(BotVersion, version_id)
        found = session.exec(select(Attempt.cause).where(Attempt.version_id == version_id)).all()
    assert found == ["worker-stopped"] * 2
    assert (version.state, version.reason) == (VersionState.UPLOADED, ""), "nobody failed at it"
    assert version.nudge_at == world.clock.now, "another one may build it at once"


def test_nothing_is_done_in_a_database_of_a_newer_version(world: PlayingWorld, monkeypatch, caplog) -> None:
    series_id = world.queued(2)
    monkeypatch.setattr(tasks, "context", lambda: world.context)
    monkeypatch.setattr(tasks, "STEP_ASIDE_SECONDS", 0)
    schema(world, "9999")
    tasks.play(series_id)
    assert world.causes(series_id) == []
    assert "schema 9999; a newer Deadheat" in caplog.text


def test_what_was_played_before_an_upgrade_is_not_written_into_the_new_schema(world: PlayingWorld, monkeypatch) -> None:
    """This version knows nothing of what the new schema added, so its results would be incomplete."""
    series_id = world.queued(2)
    store = play.store

    def upgraded_meanwhile(*arguments: Any) -> Any:
        schema(world, "9999")
        return store(*arguments)

    ours = newest_revision()
    with monkeypatch.context() as patch:
        patch.setattr(play, "store", upgraded_meanwhile)
        with pytest.raises(WrongSchema, match="a newer Deadheat made it"):
            play_series(world.context, series_id)
    assert (world.series(series_id).state, world.causes(series_id)) == (JobState.RUNNING, [])
    schema(world, ours)
    world.clock.now += timedelta(seconds=world.settings.lease_seconds + 1)
    world.write(sweep)
    assert (world.series(series_id).state, world.causes(series_id)) == (JobState.QUEUED, ["lease-expired"])


def schema(world: PlayingWorld, revision: str) -> None:
    with world.db.transaction() as session:
        session.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))


def test_a_child_that_cannot_be_started_ends_no_other() -> None:
    other = Child("other", ["sleep", "60"])
    tree = Tree({}, children=[Child("none", ["/no/such/program"]), other])
    try:
        assert tree._look() is None and tree.children[0].process is None
        assert other.process is not None and other.process.poll() is None
    finally:
        if other.process is not None:
            os.kill(other.process.pid, signal.SIGKILL)
            other.process.wait()


PARENT = """
import subprocess, sys, time
from deadheat.cli.operator.tree import die_with_parent
subprocess.Popen(sys.argv[1:], start_new_session=True, preexec_fn=die_with_parent)
time.sleep(600)
"""

CHILD = """
import os, signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from celery.signals import worker_shutting_down
from deadheat.cli.operator import tree
from deadheat.workers import stopping
folder = Path(sys.argv[1])
awaited = iter([folder / "told", folder / "asked"])  # a signal waits until the one before has been handled
def sleep(seconds):
    path, until = next(awaited), time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until: time.sleep(0.02)
tree.time = SimpleNamespace(sleep=sleep)
tree.end_without_parent()
signal.signal(signal.SIGTERM, lambda *_: (worker_shutting_down.send(None), (folder / "told").touch()))
signal.signal(stopping.SIGNAL, lambda *_: (folder / "asked").touch())
(folder / "partial").write_text(str(os.getpid()))
(folder / "partial").rename(folder / "ready")
while True: time.sleep(0.02)
"""


@pytest.mark.parametrize("killed", [True, False])
def test_jobs_whose_parent_was_killed_are_asked_for_all_the_same_and_end(killed: bool, tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, sys.executable, "-c", CHILD, str(tmp_path)])
    try:
        wait_until((tmp_path / "ready").exists)
        child = int((tmp_path / "ready").read_text())
        if killed:
            parent.kill()
            wait_until(lambda: ended(child))
        else:
            os.kill(child, signal.SIGTERM)
            wait_until((tmp_path / "told").exists)
            time.sleep(0.5)
            os.kill(child, signal.SIGKILL)
    finally:
        parent.kill()
        parent.wait()
    assert (tmp_path / "told").exists()
    assert (tmp_path / "asked").exists() is killed, "else that is the parent's"


def ended(process: int) -> bool:
    """Return whether the process has ended, whether or not it was reaped."""
    try:
        return "State:\tZ" in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: open({folder!r} + "/told", "w").close())
if {understands}: signal.signal(signal.SIGURG, lambda *_: (open({folder!r} + "/asked", "w").close(), sys.exit(0)))
open({folder!r} + "/ready", "w").close()
while True: time.sleep(0.05)
"""


@pytest.mark.parametrize("understands", [True, False])
def test_the_tree_asks_for_what_is_not_finished_and_forces_the_rest(understands, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.cli.operator.tree.HAND_BACK_SECONDS", 60 if understands else 0.2)
    busy_after = Tree._busy_after

    def busy_once_told(self: Tree, seconds: float) -> list[Process]:
        wait_until((tmp_path / "told").exists)
        return busy_after(self, seconds)

    monkeypatch.setattr(Tree, "_busy_after", busy_once_told)
    arguments = [sys.executable, "-c", STUBBORN.format(folder=str(tmp_path), understands=understands)]
    process = subprocess.Popen(arguments, start_new_session=True)
    wait_until((tmp_path / "ready").exists)
    tree = Tree({}, finish_seconds=0.2, children=[Child("play", arguments, process)])
    tree.stopping = True
    try:
        tree.run()
        assert (tmp_path / "told").exists()
        assert (tmp_path / "asked").exists() is understands
        assert process.wait(60) == (0 if understands else -signal.SIGKILL)
    finally:
        process.kill()
