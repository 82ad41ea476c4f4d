"""How the parts of a deployment are started one by one."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from deadheat.cli.operator import deployment, starting, tree
from deadheat.league import measured
from deadheat.league.config import Settings


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings with which APIs were started; none of them really runs."""
    found: list[Settings] = []
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    for name in ("DEADHEAT_HOST", "DEADHEAT_PORT"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(starting, "check_schema", lambda _: None)
    monkeypatch.setattr(starting, "check_port", lambda _: None)
    monkeypatch.setattr(deployment, "_share_port", lambda settings, _: found.append(settings))
    return found


def test_the_api_listens_where_it_is_told(started: list[Settings]) -> None:
    deployment.api(processes=2)
    deployment.api(host="127.0.0.2", port=4711, processes=2)
    assert [(settings.host, settings.port) for settings in started] == [("127.0.0.1", 8080), ("127.0.0.2", 4711)]
    assert Settings().port == 4711, "the processes that it starts look there"


def test_a_second_teller_of_the_same_metrics_warns(tmp_path: Path, monkeypatch, capsys) -> None:
    starting.tell_metrics(tmp_path)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(measured, "told_alone", lambda _: False)
    starting.tell_metrics(tmp_path)
    assert "counts everything twice" in capsys.readouterr().err


def test_so_does_a_second_api_of_several_processes(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(deployment, "Tree", MagicMock())
    for warns in (False, True):  # the first lock is held until this process ends
        deployment._share_port(Settings(metrics_dir=tmp_path, port=0), 2)
        assert ("counts everything twice" in capsys.readouterr().err) is warns


def test_a_tree_that_ends_leaves_no_files_of_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[Path] = []
    monkeypatch.setattr(measured, "fold", folded.append)
    monkeypatch.setattr("deadheat.cli.operator.tree.signal.signal", lambda *_: None)
    tree.Tree({"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}, stopping=True).run()
    assert folded == [tmp_path]


def test_a_worker_takes_all_jobs_by_one_name_but_those_that_have_processes_of_their_own() -> None:
    assert deployment._named("jobs,control") == ["build", "play", "control"] and deployment._named("play") == ["play"]
