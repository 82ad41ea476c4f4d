"""Restores a deployment from a back-up (see `league.storage.backup`), or only checks whether that is possible.

Nothing is trusted: the file's hash, the tables' digests, the chain of the audit log and the content of each blob are
checked before anything is touched, so a refused restore leaves nothing behind. Blobs are restored first, because they
do no harm; the database comes last, in one step, and is migrated to this version's schema.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from alembic import command
from sqlalchemy import Connection, Table, func, inspect, select, text

from deadheat.engine.figures import plural
from deadheat.engine.games.variants import rules_of
from deadheat.engine.replay import Diverged, replay
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, decode
from deadheat.league.blobs import BlobDamaged, BlobMissing, Blobs, blob_folder
from deadheat.league.config import Settings
from deadheat.league.database import Database, is_there
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.series.deals import skip_dice
from deadheat.league.storage.backup import (
    DATABASE_FILE,
    Backup,
    BadBackup,
    Progress,
    broken_record,
    copy_blobs,
    file_sha256,
    named_blobs,
    names_sha256,
    owners,
)
from deadheat.league.storage.schema import (
    SchemaAge,
    age_of,
    grant,
    migration_config,
    newest_revision,
    revision,
    revisions,
)
from deadheat.league.storage.tablecopy import into_one_file, league_in, reading, sums, table_sum, tables
from deadheat.league.tables import WorkerHost

SAMPLE = 25
"""The number of transcripts that are re-simulated. The hash of every transcript is checked anyway."""

LEAVING_SECONDS = 5.0
"""How long PostgreSQL may still list a connection that was closed; it waits as long before it drops a database."""

OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND usesysid IS NOT NULL AND pid <> pg_backend_pid()
"""
"""The server's own processes have no user. Even a user who may not see what other sessions do sees whose they are."""


class NotEmpty(Exception):
    """The target of a restore already contains a league, or runs one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a restore's checks. `unlike`: those of the `replayed` transcripts that end differently under
    today's rules. `lost`: blobs without an undamaged copy, and why.
    """

    blobs: int
    replayed: int
    unlike: list[str]
    lost: dict[str, str]


def check(backup: Backup, *, allow_missing: bool = False, progress: Progress = lambda *_: None) -> Checked:
    """Check everything that a restore would check, but change nothing. Raises BadBackup."""
    names = _check_database(backup)
    lost = copy_blobs(backup.store, None, names, progress)
    _must_be_known(backup, lost, allow_missing)
    return Checked(len(names) - len(lost), *_replay_some(backup.store, backup.database), lost)


def restore(
    settings: Settings,
    backup: Backup,
    *,
    force: bool = False,
    allow_missing: bool = False,
    progress: Progress = lambda *_: None,
) -> Checked:
    """Restore a back-up to this deployment, and migrate it to this version's schema. The audit log records it.

    `force`: replace any league here. `allow_missing`: continue without the blobs that the back-up has lost.

    Raises:
        BadBackup: it is damaged, or this version cannot read its schema; nothing here was touched. If the copy itself
            fails after these checks, this is raised, too.
        NotEmpty: there is already a league here, without `force`; or a league is running here, even with `force`.
    """
    _must_be_empty(settings, force)
    names = _check_database(backup)
    lost, blobs = copy_blobs(backup.store, None, names, progress), blob_folder(settings.blobs)
    if lost and (blobs is None or blobs.exists()):  # the deployment's own store may have them
        own = Blobs(settings.blobs)
        lost = {name: why for name, why in lost.items() if not own.whole(name)}
    _must_be_known(backup, lost, allow_missing)
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)  # for the same reason as in `serve`
    target = Blobs(settings.blobs)
    if failed := copy_blobs(backup.store, target, [name for name in names if name not in lost], progress):
        raise BadBackup(f"Something that was readable a moment ago no longer is. {next(iter(failed.values()))}")
    replayed, unlike = _replay_some(target, backup.database)
    if settings.database.startswith("sqlite"):
        _restore_sqlite(settings, backup)
    else:
        _restore_rows(settings, backup)
    with closing(Database(settings)) as database, database.transaction() as session:
        manifest = backup.manifest
        data = {"taken_at": manifest.taken_at, "database_sha256": manifest.database_sha256, "blobs_lost": len(lost)}
        record(session, SYSTEM, "league-restored", "league", data)
        skip_dice(session)
    return Checked(len(names) - len(lost), replayed, unlike, lost)


def _must_be_empty(settings: Settings, force: bool) -> None:
    if not is_there(settings.database):
        return  # opening it would create it
    with closing(Database(settings)) as database:
        if revision(database.engine) is None:
            return
        with database.engine.connect() as connection:
            users = connection.execute(text("SELECT count(*) FROM user_account")).scalar_one()
            if not force and users:
                raise NotEmpty(f"There is a league in this database, with {users} accounts.")
            if connection.dialect.name == "postgresql":
                until = time.monotonic() + LEAVING_SECONDS
                while others := connection.execute(text(OTHERS)).scalar_one():
                    if time.monotonic() > until:
                        raise NotEmpty(f"The database has {others} other connections: stop everything first.")
                    connection.rollback()  # within a transaction the list stays as it was
                    time.sleep(0.05)
            if inspect(connection).has_table("worker_host"):
                seen = connection.execute(select(func.max(WorkerHost.last_seen_at))).scalar()
                alive = timedelta(seconds=settings.lease_seconds)
                if seen is not None and datetime.now(UTC) - seen < alive:
                    raise NotEmpty(
                        "A worker of this league was alive a moment ago: stop everything first, then wait "
                        f"{settings.lease_seconds:.0f} s."
                    )


def _check_database(backup: Backup) -> list[str]:
    """Return the names of the database's blobs. Raises BadBackup if the file does not match the manifest."""
    manifest = backup.manifest
    if age_of(manifest.revision) in (SchemaAge.NEWER, SchemaAge.UNRELEASED):
        raise BadBackup(
            f"It has schema {manifest.revision}, and this version knows {revisions()[0]} to {newest_revision()}: "
            "restore it with the version that made it."
        )
    if not backup.database.exists() or file_sha256(backup.database) != manifest.database_sha256:
        raise BadBackup(f"{backup.database} is not the file that was written: its hash differs.")
    if sums(backup.database) != manifest.tables:
        raise BadBackup(f"{backup.database} does not match the manifest.")
    if (broken := broken_record(backup.database)) is not None:
        raise BadBackup(f"The chain of its audit log is broken at record {broken}.")
    names = named_blobs(backup.database)
    if names_sha256(names) != manifest.blobs_sha256:
        raise BadBackup("Its blobs do not match the manifest.")
    return names


def _must_be_known(backup: Backup, lost: Mapping[str, str], allow_missing: bool) -> None:
    """Raise BadBackup for blobs lost since the back-up was made, unless `allow_missing`."""
    new = sorted(set(lost) - set(backup.manifest.missing))
    if new and not allow_missing:
        first = owners(backup.database, new[:1])[new[0]]
        raise BadBackup(
            f"{plural(len(new), 'blob')} of it {'is' if len(new) == 1 else 'are'} lost; the first is the {first}. "
            f"{lost[new[0]]} (`--allow-missing` continues without them.)"
        )


def _restore_sqlite(settings: Settings, backup: Backup) -> None:
    """Migrate a copy, then replace the present database with it in one SQLite transaction."""
    with tempfile.TemporaryDirectory(prefix="deadheat-restore-") as folder:
        copy = Path(folder) / DATABASE_FILE
        shutil.copy(backup.database, copy)
        if file_sha256(copy) != backup.manifest.database_sha256:
            raise BadBackup(f"{backup.database} was changed after it was checked.")
        with league_in(copy) as database:
            database.migrate()
        into_one_file(copy)
        target = Database(settings)
        with closing(sqlite3.connect(copy)) as source, target.engine.connect() as connection:
            source.backup(cast("sqlite3.Connection", connection.connection.driver_connection))
        if backup.manifest.revision == newest_revision():  # after a migration, the digests differ
            with target.engine.connect() as connection:
                _must_hold(connection, tables(target.engine), backup)
        target.close()


def _restore_rows(settings: Settings, backup: Backup) -> None:
    """Drop everything, create the back-up's schema, insert its rows and migrate it, all in one transaction."""
    with (
        closing(Database(settings)) as database,
        database.engine.begin() as target,
        reading(backup.database) as source,
    ):
        quoted = target.dialect.identifier_preparer.quote
        for name in inspect(target).get_table_names():
            target.execute(text(f"DROP TABLE {quoted(name)} CASCADE"))
        ours = text(
            "SELECT proname FROM pg_proc JOIN pg_language ON pg_language.oid = prolang "
            "WHERE pronamespace = current_schema()::regnamespace AND lanname = 'plpgsql' AND proname LIKE '%\\_refuse'"
        )
        for name in target.execute(ours).scalars().all():
            target.execute(text(f"DROP FUNCTION {quoted(name)}() CASCADE"))
        command.upgrade(migration_config(target), backup.manifest.revision)
        with source.connect() as connection:
            for table in tables(source):
                table_sum(connection, table, target)
                numbered = [column for column in table.primary_key.columns if column.name == "id"]
                if numbered and (last := target.execute(select(func.max(numbered[0]))).scalar()) is not None:
                    where = {"name": quoted(table.name), "last": last}  # numbers continue after the last restored row
                    target.execute(text("SELECT setval(pg_get_serial_sequence(:name, 'id'), :last)"), where)
        _must_hold(target, tables(source), backup)
        command.upgrade(migration_config(target), "head")
        grant(target)


def _must_hold(target: Connection, restored: Sequence[Table], backup: Backup) -> None:
    """Check that every table has the manifest's digest. Raises BadBackup."""
    for table in restored:
        if table_sum(target, table) != backup.manifest.tables[table.name]:
            raise BadBackup(f"The rows of {table.name} are not what was written.")


def _replay_some(store: Blobs, file: Path) -> tuple[int, list[str]]:
    """Re-simulate a few transcripts from the league's whole life. Return their number, and which end differently."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT id, transcript_sha256 FROM match WHERE transcript_sha256 <> '' ORDER BY id"
        ).fetchall()
    chosen = rows[:: max(1, len(rows) // SAMPLE)][:SAMPLE]
    replayed, unlike = 0, []
    for match_id, name in chosen:
        try:
            transcript = decode(store.get(name, MAX_TRANSCRIPT_BYTES))
        except (BlobMissing, BlobDamaged, BadTranscript) as error:
            unlike.append(f"match {match_id}: {error}")
            continue
        try:
            replay(rules_of(transcript), transcript)
        except (Diverged, KeyError, ValueError) as error:
            unlike.append(f"match {match_id}: {type(error).__name__}: {error}")
        replayed += 1
    return replayed, unlike
