"""Back-ups, and upgrades of earlier releases."""

import json
import re
import sqlite3
import subprocess
import tarfile
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from deadheat.cli.operator import deployment
from deadheat.league.blobs import Blobs
from deadheat.league.database import Database
from deadheat.league.service.rulings.closing import Standing
from deadheat.league.storage.backup import BadBackup, back_up, backups, file_sha256, must_be_signed, read_backup
from deadheat.league.storage.schema import FIRST_RELEASE
from deadheat.league.storage.tablecopy import sums
from deadheat.league.tables import BotVersion
from tests.cli.command import ROOT, assert_one_sentence, invoke, succeeded
from tests.league.ground import drifted, settings
from tests.league.refusals import refused
from tests.league.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "data"))
    made = World(settings(tmp_path / "data"))
    made.author("ada")
    made.close()
    return made


def test_a_league_is_backed_up_checked_and_restored(world: World, tmp_path: Path, monkeypatch) -> None:
    folder = str(tmp_path / "backups")
    done = succeeded(invoke("backup", folder))
    assert "schema 00" in done.stdout
    assert "It can be restored." in invoke("restore", "--check", folder).stdout
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "elsewhere"))
    done = succeeded(invoke("restore", folder))
    assert "restored, and the audit log" in done.stdout
    assert f"no organiser's token of this league in {tmp_path / 'elsewhere' / 'organiser.token'}" in done.stdout


def test_a_nightly_job_reads_what_was_backed_up_and_that_it_can_be_restored(world: World, tmp_path: Path) -> None:
    folder = str(tmp_path / "backups")
    made = json.loads(invoke("backup", folder, "--json").stdout)
    assert Path(made["path"]).parent == tmp_path / "backups"
    assert (made["missing"], made["removed"], made["rows"] > 0) == ([], 0, True)
    assert json.loads(invoke("backup", folder, "--keep", "1", "--json").stdout)["removed"] == 1
    checked = json.loads(invoke("restore", "--check", folder, "--json").stdout)
    assert (checked["restored"], checked["unlike"], checked["blobs"]) == (False, [], 0)
    assert json.loads(invoke("restore", "--force", folder, "--json").stdout)["restored"] is True


def test_a_restore_says_whether_the_organisers_token_still_opens(world: World, tmp_path: Path) -> None:
    file, backups = tmp_path / "data" / "organiser.token", str(tmp_path / "backups")
    assert invoke("backup", backups).returncode == 0
    with closing(Database(world.settings)) as database:
        assert deployment.keep_token(database, file) == ""
    assert invoke("backup", f"{backups}-later").returncode == 0
    assert f"The organiser's token in {file} is still good." in invoke("restore", f"{backups}-later", "--force").stdout
    told = invoke("restore", backups, "--force").stdout
    assert f"There is no organiser's token of this league in {file}" in told, "it was made after the back-up"


def test_a_league_that_is_there_is_kept_unless_forced(world: World, tmp_path: Path) -> None:
    folder = str(tmp_path / "backups")
    assert invoke("backup", folder, "--keep", "3").returncode == 0
    assert_one_sentence(invoke("restore", folder), "There is a league in this database, with 2 accounts.", 1)
    assert invoke("restore", folder, "--force").returncode == 0


def test_what_is_lost_is_named_and_can_be_done_without(world: World, tmp_path: Path, monkeypatch) -> None:
    folder, name = tmp_path / "backups", Blobs(world.settings.blobs).put(b"what a bot is made of")
    world.bot()
    with world.db.transaction() as session:
        version = session.exec(select(BotVersion)).one()
        version.source_sha256, version.program_sha256 = name, ""
    assert invoke("backup", str(folder)).returncode == 0
    (tmp_path / "data" / "blobs" / name[:2] / f"{name}.zst").write_bytes(b"what is left")
    assert invoke("backup", str(folder)).returncode == 0, "an earlier one has it"
    (folder / "blobs" / name[:2] / f"{name}.zst").unlink()
    done = invoke("backup", str(folder))
    assert_one_sentence(done, "1 blob that the database names could not be backed up", 1)
    assert f"note: Without the source of bot version 1. The content {name} is damaged" in done.stderr
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "elsewhere"))
    first, second, _ = sorted(folder.glob("*/manifest.json"))
    assert_one_sentence(invoke("restore", str(first.parent)), "(`--allow-missing` continues", 1)
    assert not (tmp_path / "elsewhere").exists()
    told = json.loads(invoke("restore", str(first.parent), "--allow-missing", "--json").stdout)
    assert (told["restored"], told["lost"]) == (True, [name])
    (first.parent / "manifest.json").write_text("{")
    done = invoke("backup", str(folder), "--keep", "1")
    assert "note: A back-up was kept." in done.stderr and f"{first} is not a manifest" in done.stderr
    assert f"note: {second.parent} stays as well" in done.stderr, "it lacked nothing when it was made"
    *stayed, _ = sorted(folder.glob("*/manifest.json"))
    assert stayed == [first, second]


def test_a_broken_chain_of_the_log_is_told_at_once_and_keeps_older_backups(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    succeeded(invoke("backup", str(folder)))
    with closing(Database(world.settings)) as database, database.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO audit_log (at, actor, action, subject, data, prev_sha256, sha256) "
            "SELECT at, actor, action, subject, data, sha256, 'false' FROM audit_log ORDER BY id DESC LIMIT 1"
        )
        broken = connection.exec_driver_sql("SELECT max(id) FROM audit_log").scalar_one()
    done = invoke("backup", str(folder), "--keep", "1")
    assert_one_sentence(done, f"chain is broken at record {broken}: `restore` will refuse this", 1)
    assert len(list(folder.glob("*/manifest.json"))) == 2


def test_an_upgrade_wants_a_backup_and_makes_it(world: World, tmp_path: Path) -> None:
    assert_one_sentence(invoke("upgrade"), "choose a folder to back up", 2)
    assert "has this version's schema" in invoke("upgrade", "--backup", str(tmp_path / "backups")).stdout
    assert len(list((tmp_path / "backups").glob("*/manifest.json"))) == 1


def test_an_upgrade_of_nothing_makes_a_new_league(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    assert "from nothing to" in invoke("upgrade", "--no-backup").stdout
    assert drifted(Database(settings(tmp_path))) is None


def test_an_older_version_refuses_to_migrate_what_a_newer_one_made(world: World, tmp_path: Path) -> None:
    from_the_future(world)
    done = invoke("upgrade", "--no-backup")
    assert_one_sentence(done, "The database has schema 9999; a newer Deadheat made it", 1)
    assert_one_sentence(invoke("migrate"), "install that version here", 1)


def from_the_future(world: World) -> None:
    database = Database(world.settings)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()


def changed(backups: Path) -> None:
    """Change the newest back-up so that only its signature shows it, as somebody who can write to the folder would."""
    path = read_backup(backups).path
    with closing(sqlite3.connect(path / "database.sqlite3")) as database, database:
        database.execute("UPDATE user_account SET role = 'admin'")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["database_sha256"] = file_sha256(path / "database.sqlite3")
    manifest["tables"] = {name: asdict(held) for name, held in sums(path / "database.sqlite3").items()}
    (path / "manifest.json").write_text(json.dumps(manifest))


def test_a_manifest_that_was_changed_while_it_was_read_is_not_taken_for_the_signed_one(
    world: World, tmp_path: Path
) -> None:
    made = back_up(world.settings, tmp_path / "backups")
    signed = (made.path / "manifest.json").read_bytes()
    changed(tmp_path / "backups")
    forged = read_backup(made.path)
    (made.path / "manifest.json").write_bytes(signed)
    assert "Its signature is wrong" in refused(BadBackup, must_be_signed, world.settings, forged)
    assert must_be_signed(world.settings, read_backup(made.path)) == ""


@pytest.mark.parametrize("key", ["", "a key of the settings"])
def test_a_changed_backup_is_refused_and_one_of_a_lost_key_restores_with_a_warning(
    key: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_BACKUP_KEY", key)
    folder, file = tmp_path / "backups", tmp_path / "data" / "backup.key"
    succeeded(invoke("backup", str(folder)))
    assert file.exists() is (key == "")
    if not key:
        assert file.stat().st_mode & 0o777 == 0o600
        kept = file.read_bytes().strip()
        assert all(kept not in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert json.loads(invoke("restore", "--check", str(folder), "--json").stdout)["signed"] is True

    changed(folder)
    assert_one_sentence(invoke("restore", "--force", str(folder)), "Its signature is wrong", 1)
    (read_backup(folder).path / "signature").unlink()
    assert_one_sentence(invoke("restore", "--force", str(folder)), "It has no signature", 1)
    anyway = succeeded(invoke("restore", "--check", "--unsigned", str(folder)))
    assert "warning: It has no signature" in anyway.stderr

    succeeded(invoke("backup", str(folder)))
    monkeypatch.setenv("DEADHEAT_BACKUP_KEY", "")
    file.unlink(missing_ok=True)
    done = succeeded(invoke("restore", "--force", str(folder)))
    assert "warning: Its signature cannot" in " ".join(done.stderr.split())
    monkeypatch.setenv("DEADHEAT_BACKUP_KEY", "another")
    assert_one_sentence(invoke("restore", "--force", str(folder)), "or another key signed it", 1)


RELEASES = re.findall(r"^## (\d\S+) .*\n\nCommit `(\w+)`", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
LEAGUE = ROOT / "tests" / "archives" / "0.2.0-league.tar.xz"

SAME = (
    "SELECT id, series_id, season_id, number, seed, state, rated, transcript_sha256 FROM match ORDER BY id",
    "SELECT match_id, seat, version_id, rank FROM participant ORDER BY match_id, seat",
    "SELECT id, log_sha256, standings FROM rating_snapshot ORDER BY id",
    "SELECT name, role, password_hash FROM user_account ORDER BY id",
    "SELECT id, bot_id, number, state, source_sha256, program_sha256 FROM bot_version ORDER BY id",
)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_each_release_is_named_by_its_commit() -> None:
    headings = re.findall(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert [name for name, _ in RELEASES] == headings
    assert RELEASES[-1][1] == FIRST_RELEASE, "the oldest one, which can upgrade what is older still"


def test_that_commit_is_the_release() -> None:
    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("this is no checkout with its history")
    for name, commit in RELEASES:
        git("merge-base", "--is-ancestor", commit, "HEAD")
        first = re.search(r"^## (.*)", git("show", f"{commit}:CHANGELOG.md"), re.MULTILINE)
        assert first is not None and first[1].startswith(f"{name} ")


def read(file: Path) -> list[list[Any]]:
    with closing(sqlite3.connect(file)) as database:
        return [database.execute(query).fetchall() for query in SAME]


def test_a_league_of_the_first_release_is_upgraded_and_its_matches_play_as_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(LEAGUE) as file:
        file.extractall(tmp_path)
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "league"))
    before = read(tmp_path / "league" / "deadheat.sqlite3")
    assert len(before[0]) == 6
    assert "0024" in succeeded(invoke("upgrade", "--backup", str(tmp_path / "backups"))).stdout
    assert read(tmp_path / "league" / "deadheat.sqlite3") == before
    upgraded = Database(settings(tmp_path / "league"))
    assert drifted(upgraded) is None
    upgraded.close()
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "again"))
    restored = succeeded(invoke("restore", str(tmp_path / "backups"))).stdout
    assert "6 transcripts, of which 6 end as they did" in restored
    assert read(tmp_path / "again" / "deadheat.sqlite3") == before


def test_the_same_key_signs_every_backup(world: World, tmp_path: Path) -> None:
    for _ in range(2):
        succeeded(invoke("backup", str(tmp_path / "backups")))
    found, _ = backups(tmp_path / "backups")
    assert [must_be_signed(world.settings, backup) for backup in found] == ["", ""]


def test_a_token_of_another_league_is_replaced_and_one_that_opens_is_kept(world: World, tmp_path: Path) -> None:
    """After a back-up is restored over a league, the organiser's token in the file may open nothing."""
    file, backups = tmp_path / "data" / "organiser.token", str(tmp_path / "backups")

    def started() -> str:
        """Return the token after starting the server once."""
        with closing(Database(world.settings)) as database:
            assert deployment.keep_token(database, file) == ""
            assert deployment.standing(database, file) is Standing.GOOD
        assert file.stat().st_mode & 0o777 == 0o600
        return file.read_text()

    file.write_text("dh_of-another-league\n")
    assert invoke("backup", backups).returncode == 0
    made = started()
    assert started() == made
    told = invoke("restore", backups, "--force").stdout
    assert f"There is no organiser's token of this league in {file}" in told, "it was made after the back-up"
    assert started() != made
    assert invoke("backup", backups).returncode == 0
    assert f"The organiser's token in {file} is still good." in invoke("restore", backups, "--force").stdout


def test_a_folder_without_a_backup_is_refused_in_a_sentence(world: World, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_sentence(invoke("restore", str(tmp_path / "empty")), "There is no complete back-up", 1)
