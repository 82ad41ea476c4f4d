"""`deadheat doctor`: every problem that it should find, caused on purpose."""

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest import mock

import docker
import pytest

from deadheat.cli.operator import doctor
from deadheat.cli.operator.doctor import MachineRole, Verdict, look
from deadheat.league.blobs import Room
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.service.views.queues import take_sample
from deadheat.sandbox.runtimes import NO_PARSER_CURE
from tests.cli.command import ROOT, assert_one_sentence, invoke, succeeded
from tests.conftest import JUDGE_IMAGE
from tests.league.ground import settings
from tests.league.world import World
from tests.sandbox.test_runtimes import NO_PARSER


@pytest.fixture
def well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An embedded deployment without problems."""
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DEADHEAT_SANDBOX", "local")
    tmp_path.chmod(0o700)
    world = World(settings(tmp_path, sandbox="local"))
    world.close()
    return world.settings


def found(chosen: Settings, about: str, role: MachineRole = MachineRole.API) -> dict[Verdict, list[str]]:
    said: dict[Verdict, list[str]] = {}
    for finding in look(chosen, role):
        if finding.about == about:
            assert finding.cure or finding.verdict is Verdict.GOOD, finding
            said.setdefault(finding.verdict, []).append(finding.text)
    return said


def test_nothing_is_wrong_with_the_embedded_default(well: Settings) -> None:
    done = succeeded(invoke("doctor"))
    assert "database: SQLite 3." in done.stdout and "nothing is wrong" in done.stdout


def test_findings_can_be_read_by_programs(well: Settings) -> None:
    done = invoke("doctor", "--json", "--role", "api")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    parts = {"settings", "database", "broker", "blobs", "clock", "disk", "workers", "scheduler"}
    assert parts <= {row["about"] for row in rows}
    assert {row["verdict"] for row in rows} <= {"good", "remark"}


def test_a_league_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    assert found(settings(tmp_path / "none"), "database")[Verdict.WRONG] == ["There is no league yet."]
    assert not (tmp_path / "none" / "deadheat.sqlite3").exists()


def test_a_schema_of_another_version_is_named(well: Settings) -> None:
    database = Database(well)
    for schema, told in (
        ("0022", "made before the first release: upgrade it with Deadheat 0.2.0 first"),
        ("0023", "this version needs"),
        ("9999", "a newer Deadheat made it"),
    ):
        with database.engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{schema}'")
        assert told in found(well, "database")[Verdict.WRONG][0]
    database.close()
    assert invoke("doctor", "--role", "api").returncode == 1


@pytest.mark.parametrize(
    ("setting", "url", "about"),
    [
        ("database_url", "postgresql://league:aV9-long@127.0.0.1:1/league", "database"),
        ("broker_url", "redis://:aV9-long@127.0.0.1:1/0", "broker"),
        ("blob_url", "file:///proc/blobs", "blobs"),
    ],
)
def test_a_part_that_is_away_is_told_with_its_setting(setting: str, url: str, about: str, well: Settings) -> None:
    ill = well.model_copy(update={setting: url})
    findings = [finding for finding in look(ill, MachineRole.SCHEDULER) if finding.about == about]
    assert [finding.verdict for finding in findings] == [Verdict.WRONG]
    assert f"DEADHEAT_{setting.upper()}" in findings[0].cure and "aV9-long" not in findings[0].text


@pytest.mark.parametrize(("environment", "verdict"), [("development", Verdict.REMARK), ("production", Verdict.WRONG)])
def test_what_is_unsafe_is_told_by_the_rule_that_refuses_it(environment: str, verdict: Verdict, tmp_path: Path) -> None:
    url = "postgresql://league:deadheat@127.0.0.1/league"
    findings = list(doctor.check_settings(settings(tmp_path, environment=environment, database_url=url)))
    (told,) = [finding for finding in findings if finding.text.startswith("DEADHEAT_DATABASE_URL")]
    assert (told.verdict, told.text) == (verdict, "DEADHEAT_DATABASE_URL: its password is a well-known one.")
    assert any(finding.verdict is Verdict.GOOD for finding in findings) is (environment == "development")


def test_files_that_others_can_read_are_remarked(well: Settings) -> None:
    well.data_dir.chmod(0o755)
    assert any("can read" in text for text in found(well, "settings")[Verdict.REMARK])


def test_want_of_room_is_wrong(well: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LOW_DISK_SHARE", 1.0)
    assert "Only" in found(well, "disk")[Verdict.WRONG][0]


def test_room_is_looked_for_where_a_worker_writes(well: Settings) -> None:
    """The worker's container may mount nothing but the working folder."""
    (well.data_dir / "run").mkdir()
    assert found(well, "disk")[Verdict.GOOD][0].endswith(f"on the disk of {well.data_dir.absolute() / 'run'}.")


def test_a_disk_of_the_blobs_own_is_looked_at_too(well: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its inodes are looked at as well, because small blobs use them up before the bytes."""
    mine = well.data_dir.stat().st_dev
    blobs = next(folder for folder in (Path("/dev/shm"), Path("/var/tmp")) if folder.stat().st_dev != mine)
    plenty = Room(10**12, 10**12, 10**6, 10**6)
    few = {blobs: replace(plenty, free_files=10)}
    monkeypatch.setattr("deadheat.league.blobs.room_at", lambda folder: few.get(folder, plenty))
    (finding,) = (
        finding
        for finding in doctor.check_disk(well.model_copy(update={"blob_url": blobs.as_uri()}))
        if finding.verdict is Verdict.WRONG
    )
    assert finding.text == f"931.3 GiB free on the disk of {blobs}, but only 10 inodes."
    assert "DEADHEAT_BLOB_URL" in finding.cure
    few[blobs] = replace(plenty, free_bytes=10**6)
    assert "Only 0.0 GiB" in found(well.model_copy(update={"blob_url": blobs.as_uri()}), "disk")[Verdict.WRONG][0]
    assert found(well, "disk").keys() == {Verdict.GOOD}


def test_a_scheduler_whose_tasks_are_carried_out_is_seen(well: Settings) -> None:
    assert found(well, "scheduler").keys() == {Verdict.REMARK}
    with closing(Database(well)) as database, database.transaction() as session:
        take_sample(session)
    assert found(well, "scheduler").keys() == {Verdict.GOOD}


def test_settings_that_cannot_be_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADHEAT_PORT", "many")
    assert_one_sentence(invoke("doctor"), "DEADHEAT_PORT", 1)


@pytest.mark.containers
@pytest.mark.parametrize(
    ("fails", "text", "cure"),
    [
        (
            NO_PARSER,
            "No box could be opened: this machine's kernel has AppArmor, and its parser is",
            NO_PARSER_CURE,
        ),
        (PermissionError(13, "no"), "No box could be opened: [Errno 13] no.", "What a machine must allow"),
    ],
)
def test_what_keeps_a_machine_from_making_rooms_is_told_in_a_sentence(
    well: Settings, monkeypatch: pytest.MonkeyPatch, fails: Exception, text: str, cure: str
) -> None:
    monkeypatch.setattr(docker.APIClient, "start", mock.Mock(side_effect=fails))
    chosen = well.model_copy(update={"sandbox": "docker"})
    *_, finding = doctor.check_engine(chosen)
    assert (finding.about, finding.verdict) == ("rooms", Verdict.WRONG)
    assert finding.text.startswith(text) and cure in finding.cure


@pytest.mark.containers
def test_the_machine_of_a_worker_is_looked_at(well: Settings) -> None:
    chosen = well.model_copy(update={"sandbox": "docker"})
    assert f"has {JUDGE_IMAGE}." in found(chosen, "engine", MachineRole.WORKER)[Verdict.GOOD][0]
    assert found(chosen, "rooms", MachineRole.WORKER).keys() == {Verdict.GOOD}
    assert list((chosen.data_dir / "run").iterdir()) == []


@pytest.mark.containers
def test_an_image_that_is_not_there_is_told_with_its_cure(well: Settings) -> None:
    chosen = well.model_copy(update={"sandbox": "docker", "image": "deadheat/judge:none"})
    (finding,) = doctor.check_engine(chosen)
    assert finding.verdict is Verdict.WRONG and "deploy/images/build" in finding.text


@pytest.mark.containers
def test_a_folder_that_the_engine_sees_elsewhere_is_found(well: Settings, tmp_path: Path) -> None:
    """A mount in this process's own namespace, like one in a container, is unknown to the engine's machine."""
    script = (
        "import sys; from pathlib import Path; from deadheat.cli.operator.doctor import check_engine; "
        "from tests.league.ground import settings; "
        'print([*check_engine(settings(Path(sys.argv[1]), sandbox="docker"))][-1].text)'
    )
    mounted = f"mount -t tmpfs none {tmp_path} && exec python -c '{script}' {tmp_path}"
    command = ["unshare", "--mount", "sh", "-c", mounted.replace("exec python", f"exec {sys.executable}")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "does not see" in done.stdout, done.stdout + done.stderr
