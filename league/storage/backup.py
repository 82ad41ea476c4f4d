"""Back-ups of a whole running league: its database, and every blob that the database names.

Theory of operation
-------------------
*Form.* A folder holds any number of back-ups and one store of blobs, which they share: content keeps its name forever,
so another back-up copies only new blobs and reads the existing ones. Each back-up is a folder with `database.sqlite3`
and `manifest.json`; it appears under its name in one step, when it is complete.

*Consistent.* The database is read at one instant (SQLite's online copy; one REPEATABLE READ transaction on PostgreSQL),
and the blobs are copied after it. A row is written after the blob that it names, and no blob is ever changed or
removed, so every blob that the snapshot names exists. Later changes are in the next back-up.

*Damage stops nothing.* A blob that is damaged in the folder is copied again from the league's store; one that is lost
in both is reported, and the back-up is complete without it. A back-up that lacked nothing is not removed for its age
while all younger ones lack something, according to their manifests. One whose manifest cannot be read is not removed
either, but reported for a person to check.

*Always an SQLite file*, whatever the database was: our own migrations make its schema, up to the revision of the
source, and rows are copied value by value. For each table, the manifest has the number of rows and a digest that
depends only on their values, computed at the source. Restoring recomputes it from the written rows; so a league may
move from SQLite to PostgreSQL, or back, and the digests prove that nothing changed on the way.

`league.storage.restore` restores back-ups.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from alembic import command
from sqlalchemy import Engine, text
from sqlmodel import Session

from deadheat.league.blobs import BlobDamaged, BlobMissing, Blobs, to_disk
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.service.ground.audit import first_broken
from deadheat.league.storage.schema import VERSION_TABLE, SchemaAge, migration_config, must_fit, revision
from deadheat.league.storage.tablecopy import TableSum, into_one_file, league_in, reading, sums, table_sum, tables

# Signatures of back-ups, so that nobody who can write to their folder can make a restore accept what they like.
# A signature is the HMAC-SHA256 of the manifest, which names everything else by its hash. The key is a setting, or a
# file in the data directory that the first back-up makes. It is in no back-up.

SIGNATURE, KEY_FILE = "signature", "backup.key"


def sign(settings: Settings, manifest: Path) -> Path:
    """Write the manifest's signature beside it, and return its path. Without a key, make one."""
    if not (key := _key_of(settings)):
        key = secrets.token_hex(32)
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        private = os.open(settings.data_dir / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(private, "w") as file:
            file.write(key)
    signature = manifest.with_name(SIGNATURE)
    signature.write_text(_signature(key, manifest.read_bytes()), "ascii")
    return signature


def doubt(settings: Settings, signature: Path, manifest: bytes) -> str:
    """Return why it is not certain that our key signed this manifest; "" if it did."""
    key = _key_of(settings)
    if not signature.exists():
        return "It has no signature: an older version made it, or somebody removed the signature."
    if not key:
        return "Its signature cannot be checked, because the key is missing: anybody may have changed it."
    if not hmac.compare_digest(signature.read_bytes(), _signature(key, manifest).encode()):
        return "Its signature is wrong: it was changed, or another key signed it."
    return ""


def _key_of(settings: Settings) -> str:
    """Return the key; "" if there is none."""
    file = settings.data_dir / KEY_FILE
    return settings.backup_key or (file.read_text("ascii") if file.exists() else "")


def _signature(key: str, manifest: bytes) -> str:
    return hmac.digest(key.encode(), manifest, "sha256").hex()


FORMAT = 1
MANIFEST, DATABASE_FILE, BLOBS_FOLDER = "manifest.json", "database.sqlite3", "blobs"
NAMED_BY = {
    "bot_version": ("source_sha256", "program_sha256", "trial_sha256"),
    "match": ("transcript_sha256",),
    "game_table": ("transcript_sha256", "advice_sha256"),
}
"""The columns that name blobs."""

PARTIAL = "partial-"
"""The prefix of a back-up's folder until it is complete."""

COPIERS = 8
"""The number of blobs copied at a time, because a remote object store is slow for each."""

Progress = Callable[[int, int], None]
"""A function that is called with the number of blobs done, and of all."""


class BadBackup(Exception):
    """A back-up cannot be made or restored; the text is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A back-up's description of itself. The database names the `missing` blobs, but no undamaged copy exists."""

    format: int
    taken_at: str
    source: str  # the kind of database
    revision: str
    database_sha256: str
    tables: dict[str, TableSum]
    blobs: int
    blobs_sha256: str  # of their sorted names, one a line
    missing: list[str]


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete back-up. `lost`: why each of the `missing` blobs is missing, if the back-up has just been made."""

    path: Path
    manifest: Manifest
    lost: Mapping[str, str] = field(default_factory=dict)
    read: bytes = b""  # the manifest's file, as `read_backup` read it once

    @property
    def store(self) -> Blobs:
        """The blobs of all back-ups of its folder."""
        return Blobs((self.path.parent / BLOBS_FOLDER).absolute().as_uri())

    @property
    def database(self) -> Path:
        """The file with the database at the time of the back-up."""
        return self.path / DATABASE_FILE


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result of `prune`. `spared`: an older back-up that was kept because it lacks nothing and all newer ones do.
    `unreadable`: the reasons why some back-ups cannot be read; these were not touched.
    """

    removed: int
    spared: Path | None
    unreadable: list[str]


# Taking one -------------------------------------------------------------------------------------------------------


def back_up(settings: Settings, folder: Path, progress: Progress = lambda *_: None) -> Backup:
    """Add a back-up of the deployment to those in `folder`. Raises WrongSchema: there is no league, or its schema is
    unknown; BadBackup: another one is in progress, or the database was migrated meanwhile.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _alone(folder):
        taken_at = datetime.now(UTC)
        name = taken_at.strftime("%Y-%m-%dT%H-%M-%S.%fZ")
        for left in folder.glob(f"{PARTIAL}*"):  # left by a process that was killed
            shutil.rmtree(left)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=folder))
        try:
            source, schema, contents = _snapshot(settings, partial / DATABASE_FILE)
            names = named_blobs(partial / DATABASE_FILE)
            store = Blobs((folder / BLOBS_FOLDER).absolute().as_uri())
            lost = copy_blobs(Blobs(settings.blobs), store, names, progress)
            manifest = Manifest(
                format=FORMAT,
                taken_at=taken_at.isoformat(),
                source=source,
                revision=schema,
                database_sha256=file_sha256(partial / DATABASE_FILE),
                tables=contents,
                blobs=len(names),
                blobs_sha256=names_sha256(names),
                missing=sorted(lost),
            )
            (partial / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n", "ascii")
            signature = sign(settings, partial / MANIFEST)
            for path in (partial / DATABASE_FILE, partial / MANIFEST, signature):
                to_disk(path)
            partial.rename(folder / name)
            to_disk(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return Backup(folder / name, manifest, lost)


def prune(folder: Path, keep: int) -> Pruned:
    """Remove all but the newest `keep` back-ups, and the blobs that no remaining one names. Never remove the last one
    that was complete when made.
    """
    with _alone(folder):
        readable, unreadable = backups(folder)
        gone, kept = readable[:-keep], readable[-keep:]
        spared = None
        if all(backup.manifest.missing for backup in kept):
            spared = next((backup for backup in reversed(gone) if not backup.manifest.missing), None)
        gone = [backup for backup in gone if backup is not spared]
        for old in gone:
            shutil.rmtree(old.path)
        if gone:
            try:
                wanted = {name for path in _complete(folder) for name in named_blobs(path / DATABASE_FILE)}
                for path in (folder / BLOBS_FOLDER).glob("??/*.zst"):
                    if path.stem not in wanted:
                        path.unlink()
            except sqlite3.Error:
                pass  # one cannot be read, so nobody knows what it names
    return Pruned(len(gone), spared.path if spared else None, list(unreadable.values()))


def backups(folder: Path) -> tuple[list[Backup], dict[Path, str]]:
    """Return the complete back-ups in a folder, the oldest first, and the reason for each one that cannot be read."""
    readable, unreadable = [], {}
    for path in _complete(folder):
        try:
            readable.append(read_backup(path))
        except BadBackup as error:
            unreadable[path] = str(error)
    return readable, unreadable


def read_backup(path: Path) -> Backup:
    """Read one back-up, or the newest in a folder with several. Raises BadBackup."""
    if not (path / MANIFEST).exists():
        inside = _complete(path)
        if not inside:
            raise BadBackup(f"There is no complete back-up in {path}.")
        path = inside[-1]
    try:
        read = (path / MANIFEST).read_bytes()
        stored = json.loads(read)
        contents = {name: TableSum(**values) for name, values in stored.pop("tables").items()}
        manifest = Manifest(tables=contents, **stored)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadBackup(f"{path / MANIFEST} is not a manifest: {error}.") from error
    if manifest.format != FORMAT:
        raise BadBackup(f"{path} has format {manifest.format}, and this version knows {FORMAT}.")
    return Backup(path, manifest, read=read)


def must_be_signed(settings: Settings, backup: Backup, unsigned: bool = False) -> str:
    """Return a warning if nobody can say whether our key signed the back-up; "" if it did.

    `unsigned`: only warn in any case. Raises BadBackup if there is a key that did not sign it.
    """
    why = doubt(settings, backup.path / SIGNATURE, backup.read)
    if why and _key_of(settings) and not unsigned:
        raise BadBackup(f"{why} (`--unsigned` restores it anyway.)")
    return why


def _complete(folder: Path) -> list[Path]:
    """Return the folders of finished back-ups, the oldest first."""
    folders = (path.parent for path in folder.glob(f"*/{MANIFEST}"))
    return sorted(path for path in folders if not path.name.startswith(PARTIAL))


def _snapshot(settings: Settings, file: Path) -> tuple[str, str, dict[str, TableSum]]:
    """Write the present database to an SQLite file. Return its kind, its revision, and the digests of its tables."""
    with closing(Database(settings)) as database:
        must_fit(database.engine, SchemaAge.OLDER)
        version = revision(database.engine)
        assert version is not None
        if database.engine.dialect.name != "sqlite":
            return database.engine.dialect.name, version, _convert(database.engine, version, file)
        with database.engine.connect() as connection, closing(sqlite3.connect(file)) as target:
            source = cast("sqlite3.Connection", connection.connection.driver_connection)
            source.backup(target)  # in one step, so that no later write gets in
        into_one_file(file)
        return "sqlite", version, sums(file)


def _convert(engine: Engine, wanted: str, file: Path) -> dict[str, TableSum]:
    """Copy the database to an SQLite file whose schema the same migrations made."""
    with league_in(file) as made, engine.connect().execution_options(isolation_level="REPEATABLE READ") as source:
        with made.engine.begin() as target:
            command.upgrade(migration_config(target), wanted)
        with made.engine.begin() as target:
            contents = {table.name: table_sum(source, table, target) for table in tables(made.engine)}
        if source.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one() != wanted:  # noqa: S608
            raise BadBackup("The database was migrated during the copy: try again.")
    into_one_file(file)
    if sums(file) != contents:
        raise BadBackup("The copy differs from the original. This is a bug in Deadheat; please report it.")
    return contents


def broken_record(file: Path) -> int | None:
    """Return the first record that breaks the chain of the audit log in a back-up's database, or None."""
    with reading(file) as engine, Session(engine) as session:
        return first_broken(session)


# Blobs ------------------------------------------------------------------------------------------------------------


def named_blobs(file: Path) -> list[str]:
    """Return all blobs that a back-up's database names, sorted."""
    blobs: set[str] = set()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        for table, column in _naming(connection):
            blobs.update(row[0] for row in connection.execute(f"SELECT DISTINCT {column} FROM {table}"))  # noqa: S608
    return sorted(name for name in blobs if name)


def _naming(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the tables with their columns that name blobs; older schemas have fewer."""
    for table, columns in NAMED_BY.items():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        yield from ((table, column) for column in columns if column in there)


def owners(file: Path, names: Collection[str]) -> dict[str, str]:
    """Return, for each of these blobs in a back-up's database, one thing to which it belongs."""
    named: dict[str, str] = {}
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        for table, column in _naming(connection):
            word = f"{column.removesuffix('_sha256')} of {table.replace('_', ' ')}"
            for number, name in connection.execute(f"SELECT id, {column} FROM {table} ORDER BY id"):  # noqa: S608
                if name in names:
                    named.setdefault(name, f"{word} {number}")
    return named


def copy_blobs(source: Blobs, target: Blobs | None, names: Sequence[str], progress: Progress) -> dict[str, str]:
    """Copy the blobs that `target` lacks or has damaged, each checked against its name. Return the lost ones, and why.

    `target` None: check only. Raises BlobsAway.
    """

    def copy(name: str) -> str:
        try:
            if target is None:
                source.verify(name)
            elif not target.whole(name):
                source.copy(name, target)
        except (BlobMissing, BlobDamaged) as error:
            return str(error)
        return ""

    lost = {}
    with ThreadPoolExecutor(COPIERS, thread_name_prefix="blobs") as pool:
        for done, (name, why) in enumerate(zip(names, pool.map(copy, names), strict=True), 1):
            progress(done, len(names))
            if why:
                lost[name] = why
    if target is not None:
        os.sync()  # before anything refers to the blobs, with one wait for all
    return lost


def names_sha256(names: Sequence[str]) -> str:
    """Return one hash of a sorted list of blobs' names."""
    return hashlib.sha256("".join(f"{name}\n" for name in names).encode()).hexdigest()


def file_sha256(file: Path) -> str:
    """Return the hash of a file's content."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Allow one back-up at a time in a folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BadBackup(f"Another back-up into {folder} is in progress.") from error
    finally:
        os.close(fd)
