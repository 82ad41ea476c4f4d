"""A restored league equals the one that was backed up, from and to both kinds of database."""

import hashlib
import itertools
import json
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import col, select

from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import encode
from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.service.ground.audit import first_broken, record
from deadheat.league.service.people.users import sign_up
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.series.deals import SKIPPED
from deadheat.league.states import MatchState
from deadheat.league.storage import restore as restoring
from deadheat.league.storage.backup import (
    Backup,
    BadBackup,
    Pruned,
    back_up,
    backups,
    named_blobs,
    owners,
    prune,
    read_backup,
)
from deadheat.league.storage.restore import NotEmpty, check, restore
from deadheat.league.storage.schema import WrongSchema
from deadheat.league.storage.tablecopy import sums
from deadheat.league.tables import AuditRecord, BotVersion, Match, RatingSnapshot, Season, Series, User
from deadheat.league.verification import fairness
from tests.bots.loading import in_process
from tests.league.conftest import DATABASES, execute, unused
from tests.league.ground import drifted, settings
from tests.league.refusals import refused
from tests.league.test_migrations_of_everything import make_first_league
from tests.league.world import World

RESTORED = "league-restored"


@pytest.fixture
def played(world: World) -> World:
    """Return a league with played matches, whose sources, programs and transcripts really exist."""
    return play_for_real(world)


@pytest.fixture(scope="session")
def small_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a league like `played` on SQLite, for tests to copy."""
    folder = tmp_path_factory.mktemp("small")
    play_for_real(World(settings(folder))).close()
    return folder


@pytest.fixture
def small(tmp_path: Path, small_once: Path) -> Iterator[World]:
    """Yield a league on SQLite, for tests in which the kind of database does not matter."""
    world = World(settings(tmp_path))
    world.close()
    shutil.copytree(small_once, tmp_path, dirs_exist_ok=True)
    yield world
    world.close()


def play_for_real(world: World) -> World:
    season_id = world.season(3, games_per_pair=2)
    world.play_all()
    blobs = Blobs(world.settings.blobs)
    with world.db.transaction() as session:
        for version in session.exec(select(BotVersion)):
            version.source_sha256 = blobs.put(f"source {version.id}".encode())
            version.program_sha256 = blobs.put(f"program {version.id}".encode())
        for match in session.exec(select(Match).where(Match.state == MatchState.DONE)):
            match.transcript_sha256 = blobs.put(transcript(match.seed))
        session.exec(select(User).where(User.name != "boss")).first().name = "Zoë 🎲"  # type: ignore[union-attr]
        refit(session, season_id)
    return world


def transcript(seed: bytes) -> bytes:
    new = in_process(bots_of("yacht-auction") / "random")
    return encode(run_match(GAMES["yacht-auction"], 2, seed, MemoryTransport([new(1), new(2)])))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.mark.databases
def test_what_is_restored_is_what_was_there_on_either_database(played: World, empty: Settings, folder: Path) -> None:
    made = back_up(played.settings, folder)
    checked = restore(empty, read_backup(folder))
    assert made.manifest.missing == []
    assert (checked.unlike, checked.blobs) == ([], made.manifest.blobs)
    assert checked.replayed > 5
    assert everything(empty) == everything(played.settings)
    store = Blobs(empty.blobs)
    for name in named_blobs(made.database):
        assert hashlib.sha256(store.get(name, 10**6)).hexdigest() == name


def test_a_restored_league_goes_on_and_its_log_says_what_happened(played: World, empty: Settings, folder: Path) -> None:
    made = back_up(played.settings, folder)
    restore(empty, made)
    world = World(empty, played.clock, entropy=random.Random("not the secrets that it had before").randbytes)
    world._numbers = itertools.count(100)
    try:
        world.season(2)  # new rows get unused numbers
        assert world.play_all() > 0
        assert world.read(first_broken) is None
        told = world.one(select(AuditRecord).where(AuditRecord.action == RESTORED))
        before, after = (deals(made_of) for made_of in (played, world))
        assert after[1] > before[1] + SKIPPED  # the skipped dice may have been seen
        assert json.loads(told.data)["database_sha256"] == made.manifest.database_sha256
    finally:
        world.close()


def test_a_backup_is_one_instant_while_others_write(played: World, folder: Path) -> None:
    begun, stop = threading.Event(), threading.Event()

    def write() -> None:
        database = Database(played.settings)
        for number in itertools.count():
            if stop.is_set():
                break
            with database.transaction() as session:  # rows of two tables that belong together
                sign_up(session, f"one{number}", "a long enough password")
                record(session, f"one{number}", "tested", f"thing/{number}")
            begun.set()
        database.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(60)
        made = []
        for _ in range(3):
            begun.clear()
            assert begun.wait(60)
            made.append(back_up(played.settings, folder))
    finally:
        stop.set()
        writer.join()
    counts: list[int] = []
    for backup in made:
        check(backup)
        with closing(sqlite3.connect(backup.database)) as connection:
            users = {name for (name,) in connection.execute("SELECT name FROM user_account WHERE name LIKE 'one%'")}
            noted = {name for (name,) in connection.execute("SELECT actor FROM audit_log WHERE action = 'tested'")}
        assert users == noted
        counts.append(len(users))
    assert 0 < counts[0] < counts[1] < counts[2]


def test_a_second_backup_copies_only_what_is_new(small: World, folder: Path) -> None:
    back_up(small.settings, folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "blobs").rglob("*.zst")}
    upload(small, b"new")
    back_up(small.settings, folder)
    after = {path: path.stat().st_mtime_ns for path in (folder / "blobs").rglob("*.zst")}
    assert len(after) == len(before) + 1
    assert {path: after[path] for path in before} == before


def test_blobs_are_on_the_disk_before_a_backup_is_complete(small: World, folder: Path, monkeypatch) -> None:
    seen: list[list[int]] = []
    monkeypatch.setattr(
        "os.sync", lambda: seen.append([len(list(folder.rglob(name))) for name in ("*.zst", "manifest.json")])
    )
    made = back_up(small.settings, folder)
    assert seen == [[made.manifest.blobs, 0]] and list(folder.rglob("manifest.json"))


def test_older_backups_can_be_removed_and_the_others_stay_whole(small: World, folder: Path) -> None:
    back_up(small.settings, folder)
    upload(small, b"new")
    back_up(small.settings, folder)
    count = len(list((folder / "blobs").rglob("*.zst")))
    assert prune(folder, 2).removed == 0
    assert prune(folder, 1) == Pruned(1, None, [])
    ((left,), _) = backups(folder)
    assert check(left).blobs == len(list((folder / "blobs").rglob("*.zst"))) == count - 1


def test_one_that_was_killed_is_no_backup_and_is_cleared_away(small: World, folder: Path) -> None:
    whole = back_up(small.settings, folder)
    shutil.copytree(whole.path, folder / "partial-killed")  # killed just before it got its name
    assert read_backup(folder).path == whole.path
    assert prune(folder, 1).removed == 0
    newer = back_up(small.settings, folder)
    assert [backup.path for backup in backups(folder)[0]] == [whole.path, newer.path]
    assert not (folder / "partial-killed").exists()


def test_a_running_league_on_postgresql_is_not_overwritten_by_force(
    postgres_url: str, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(postgres_url, "CREATE DATABASE running TEMPLATE template")
    world = World(settings(tmp_path, database_url=postgres_url.format("running")))
    made = back_up(world.settings, folder)
    with world.db.reading() as session:
        session.exec(select(User)).all()
        with monkeypatch.context() as patch:
            patch.setattr(restoring, "LEAVING_SECONDS", 0.1)
            assert "other connections" in refused(NotEmpty, restore, world.settings, made, force=True)
    leaves = threading.Timer(0.3, world.close)
    leaves.start()
    monkeypatch.setattr(restoring, "LEAVING_SECONDS", 60)
    restore(world.settings, made, force=True)
    leaves.join()


def test_a_league_whose_worker_has_just_reported_is_not_overwritten_by_force(world: World, folder: Path) -> None:
    made = back_up(world.settings, folder)
    world.clock.now = datetime.now(UTC) + timedelta(hours=1)  # so it stays alive, however long this takes
    world.beat()
    world.close()
    assert "stop everything first, then wait 30 s" in refused(NotEmpty, restore, world.settings, made, force=True)


DAMAGES: dict[str, tuple[Callable[[Backup], object], str]] = {
    "the database's file": (lambda backup: alter(backup.database), "not the file that was written"),
    "a blob": (lambda backup: alter(next((backup.path.parent / "blobs").rglob("*.zst"))), "cannot be unpacked|SHA-256"),
    "a blob that is gone": (
        lambda backup: next((backup.path.parent / "blobs").rglob("*.zst")).unlink(),
        "1 blob of it is lost; the first is the [a-z]+ of (match|bot version) [0-9]+",
    ),
    "the manifest": (lambda backup: (backup.path / "manifest.json").write_text("{"), "is not a manifest"),
    "a row, with the file's hash mended": (lambda made: forge(made, "UPDATE match SET rated = NOT rated"), "manifest"),
    "the audit log, with every hash mended": (
        lambda made: forge(made, "DROP TRIGGER audit_log_no_update; UPDATE audit_log SET actor = 'eve'", tables=True),
        "chain of its audit log",
    ),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_found_before_anything_is_overwritten(what: str, small: World, folder: Path, tmp_path: Path) -> None:
    damage, sentence = DAMAGES[what]
    damage(back_up(small.settings, folder))
    target = settings(tmp_path / "new")
    with pytest.raises(BadBackup, match=sentence):
        restore(target, read_backup(folder))
    assert not (tmp_path / "new").exists(), "not even an empty database"
    with pytest.raises(BadBackup, match=sentence):
        check(read_backup(folder))


@pytest.mark.parametrize("harm", ["damaged", "missing"])
def test_what_the_store_has_lost_is_named_and_the_backup_goes_on(harm: str, small: World, folder: Path) -> None:
    name = of_a_match(small)
    harmed(small.settings.blobs, name, harm)
    made = back_up(small.settings, folder)
    assert made.manifest.missing == [name] == list(made.lost)
    assert harm in made.lost[name].replace("not in the store", "missing")
    assert owners(made.database, [name])[name].startswith("transcript of match ")
    assert check(made).blobs == made.manifest.blobs - 1, "it was told once, and can be restored"


def test_what_is_damaged_in_the_folder_is_copied_anew(small: World, folder: Path) -> None:
    name = of_a_match(small)
    first = back_up(small.settings, folder)
    harmed(blobs_of(folder), name, "damaged")
    assert back_up(small.settings, folder).manifest.missing == []
    assert first.store.whole(name)
    assert prune(folder, 1).removed == 1


def test_the_last_backup_that_lacks_nothing_is_not_removed(small: World, folder: Path) -> None:
    whole = [back_up(small.settings, folder) for _ in range(2)][1]
    name_source(small, "0" * 64)
    lacking = [back_up(small.settings, folder) for _ in range(2)][1]
    assert prune(folder, 1) == Pruned(2, whole.path, [])
    assert [backup.path for backup in backups(folder)[0]] == [whole.path, lacking.path]
    assert prune(folder, 1) == Pruned(0, whole.path, [])
    assert check(whole).lost == {}
    upload(small, b"again")
    back_up(small.settings, folder)
    assert prune(folder, 1) == Pruned(2, None, [])


@pytest.mark.parametrize("broken", ["manifest.json", "database.sqlite3"])
def test_one_broken_backup_does_not_stop_the_removing_of_others(broken: str, small: World, folder: Path) -> None:
    upload(small, b"early")
    oldest = back_up(small.settings, folder)
    upload(small, b"late")
    for file in {"manifest.json", broken}:
        (oldest.path / file).write_bytes(b"\0 not what it was")
    made = [back_up(small.settings, folder) for _ in range(2)][1]
    count = len(list((folder / "blobs").rglob("*.zst")))
    pruned = prune(folder, 1)
    assert (pruned.removed, pruned.spared) == (1, None)
    (unreadable,) = pruned.unreadable
    assert "is not a manifest" in unreadable
    assert oldest.path.exists()
    assert len(list((folder / "blobs").rglob("*.zst"))) == count, "it may still name what no other does"
    assert read_backup(folder).path == made.path


def test_a_database_that_is_changed_after_the_checks_overwrites_nothing(
    small: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = back_up(small.settings, folder)
    target = settings(tmp_path / "new")
    restore(target, made)
    before = everything(target)
    replay_some = restoring._replay_some

    def swap(*arguments: Any) -> tuple[int, list[str]]:
        with closing(sqlite3.connect(made.database)) as database, database:
            database.execute("UPDATE user_account SET role = 'admin'")
        return replay_some(*arguments)

    monkeypatch.setattr(restoring, "_replay_some", swap)
    assert "was changed after" in refused(BadBackup, restore, target, made, force=True)
    assert everything(target) == before


def test_a_lost_blob_does_not_keep_a_league_from_being_restored(small: World, folder: Path, tmp_path: Path) -> None:
    name = of_a_match(small)
    made = back_up(small.settings, folder)
    harmed(blobs_of(folder), name, "damaged")
    target = settings(tmp_path / "new")
    assert "--allow-missing" in refused(BadBackup, restore, target, made)
    checked = restore(target, made, allow_missing=True)
    assert (list(checked.lost), checked.blobs) == ([name], made.manifest.blobs - 1)
    assert not Blobs(target.blobs).has(name)
    assert everything(target) == everything(small.settings)


@pytest.mark.parametrize("name", ["0" * 64, "zz", "\N{SNOWMAN}\x1b[2J"])
def test_what_the_store_had_lost_already_is_told_and_does_not_stop_a_restore(
    name: str, small: World, empty: Settings, folder: Path
) -> None:
    name_source(small, name)
    made = back_up(small.settings, folder)
    assert made.manifest.missing == [name] and made.lost[name].isascii()
    assert restore(empty, made).blobs == made.manifest.blobs - 1


def test_a_backup_of_an_older_schema_is_migrated_by_a_restore(older: Settings, empty: Settings, folder: Path) -> None:
    made = back_up(older, folder)
    assert made.manifest.revision == "0023"
    restore(empty, made)
    database = Database(empty)
    assert drifted(database) is None
    with database.reading() as session:
        assert session.exec(select(User.name)).all() == ["ada"]
        assert session.exec(select(Season.ladder)).all() == [True]  # a column that later schemas have
    database.close()


def test_a_backup_of_an_unknown_schema_is_left_to_its_own_version(world: World, folder: Path, tmp_path: Path) -> None:
    made = back_up(world.settings, folder)
    manifest = json.loads((made.path / "manifest.json").read_text())
    for schema in ("0022", "9999"):
        (made.path / "manifest.json").write_text(json.dumps(manifest | {"revision": schema}))
        with pytest.raises(BadBackup, match=f"schema {schema}, and this version knows 0023 to"):
            restore(settings(tmp_path / "new"), read_backup(folder))
    with closing(Database(world.settings)) as owned, owned.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert "a newer Deadheat made it" in refused(WrongSchema, back_up, world.settings, folder)
    assert len(backups(folder)[0]) == 1
    assert [path for path in folder.iterdir() if path.name.startswith("partial-")] == []


@pytest.fixture(params=DATABASES)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    chosen = unused(request, tmp_path / "older")
    database = Database(chosen)
    make_first_league(database)
    database.close()
    return chosen


def deals(world: World) -> dict[int, int]:
    return dict(world.rows(select(Season.id, Season.deals)))


def everything(chosen: Settings) -> dict[str, list[dict[str, object]]]:
    """Return the content of the main tables, without what a restore adds."""
    database = Database(chosen)
    with database.reading() as session:
        found = {
            table.__name__: [
                row.model_dump(exclude={"deals"})
                for row in session.exec(select(table).order_by(col(table.id)))
                if getattr(row, "action", "") not in (RESTORED, fairness.SKIPPED)
            ]
            for table in (User, BotVersion, Season, Series, Match, RatingSnapshot, AuditRecord)
        }
    database.close()
    return found


def upload(world: World, content: bytes) -> str:
    """Store a new source, give it to a version, and return the blob's name."""
    name = Blobs(world.settings.blobs).put(content)
    name_source(world, name)
    return name


def name_source(world: World, sha256: str) -> None:
    with world.db.transaction() as session:
        session.exec(select(BotVersion)).first().source_sha256 = sha256  # type: ignore[union-attr]


def blobs_of(folder: Path) -> str:
    return (folder / "blobs").as_uri()


def of_a_match(world: World) -> str:
    with world.db.reading() as session:
        return session.exec(select(Match.transcript_sha256).where(Match.transcript_sha256 != "")).first() or ""


def harmed(url: str, name: str, how: str) -> None:
    file = Path(url.removeprefix("file://")) / name[:2] / f"{name}.zst"
    alter(file) if how == "damaged" else file.unlink()


def alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF  # not one bit, which may be padding between compressed parts
    path.write_bytes(content)


def forge(backup: Backup, script: str, *, tables: bool = False) -> None:
    """Run a script on the database, and correct the manifest's hash of the file and, with `tables`, of its tables."""
    with closing(sqlite3.connect(backup.database)) as connection:
        connection.executescript(script)
    manifest = json.loads((backup.path / "manifest.json").read_text())
    manifest["database_sha256"] = hashlib.sha256(backup.database.read_bytes()).hexdigest()
    if tables:
        manifest["tables"] = {name: asdict(found) for name, found in sums(backup.database).items()}
    (backup.path / "manifest.json").write_text(json.dumps(manifest))


def test_nothing_is_no_backup(tmp_path: Path) -> None:
    assert "no schema yet" in refused(WrongSchema, back_up, settings(tmp_path), tmp_path / "backups")
    assert "no complete back-up" in refused(BadBackup, read_backup, tmp_path)


def test_what_the_league_still_has_is_not_lost_to_it(small: World, folder: Path) -> None:
    name = of_a_match(small)
    made = back_up(small.settings, folder)
    small.close()
    harmed(blobs_of(folder), name, "missing")
    assert restore(small.settings, made, force=True).lost == {}


def test_a_league_is_never_overwritten_unasked(world: World, folder: Path) -> None:
    world.author("ada")
    made = back_up(world.settings, folder)
    world.author("eve")
    world.close()
    assert "with 3 accounts" in refused(NotEmpty, restore, world.settings, made)
    assert len(everything(world.settings)["User"]) == 3
    restore(world.settings, made, force=True)
    assert len(everything(world.settings)["User"]) == 2
