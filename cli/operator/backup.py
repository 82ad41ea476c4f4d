"""`deadheat backup`, `restore`, `upgrade`: for operators, on a machine that reaches the database and the blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from deadheat.cli.console import USAGE, err, fail, note, say
from deadheat.cli.operator import deployment, read_settings
from deadheat.cli.output import Output, says
from deadheat.engine.figures import counted

if TYPE_CHECKING:
    from deadheat.league.config import Settings
    from deadheat.league.storage.backup import Backup
    from deadheat.league.storage.restore import Checked

MOST_LOST = 20
"""The most lost blobs that are listed one by one."""

Folder = Annotated[Path, typer.Argument(help="The folder of back-ups.", file_okay=False)]


@says
def backup(
    folder: Folder, keep: Annotated[int, typer.Option(min=0, help="Keep only this many back-ups; 0: keep all.")] = 0
) -> Iterator[Output]:
    """Back up the whole league while it runs. A second back-up into the same folder copies only what is new."""
    from deadheat.league.storage import backup as backups

    with _progress() as progress, _one_sentence():
        made = backups.back_up(read_settings(), folder, progress)
        broken = backups.broken_record(made.database)
        pruned = backups.prune(folder, keep) if keep and broken is None else backups.Pruned(0, None, [])
    gone = [f"{counted(pruned.removed, 'older back-up')} removed."] if pruned.removed else []
    yield Output({**_facts(made), "removed": pruned.removed}, [_line(made), *gone])
    if pruned.spared:
        note(f"{pruned.spared} stays as well: it is the newest complete back-up.", "note:")
    for sentence in pruned.unreadable:
        note(f"A back-up was kept. {sentence} Check it, and remove its folder if you do not need it.", "note:")
    _note_lost(made, made.lost)
    if broken is not None:
        fail(f"the audit log's chain is broken at record {broken}: `restore` will refuse this, so older ones were kept")
    if made.lost:
        fail(f"{counted(len(made.lost), 'blob')} that the database names could not be backed up; everything else was")


@says
def restore(
    path: Annotated[Path, typer.Argument(help="A back-up, or a folder of back-ups (uses the newest).", exists=True)],
    force: Annotated[bool, typer.Option("--force", help="Replace the existing league.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check whether it can be restored.")] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Continue without blobs that are missing or damaged in the back-up.")
    ] = False,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Only warn if this league's key did not sign the back-up.")
    ] = False,
) -> Output:
    """Replace this deployment's data with a back-up. Stop everything first."""
    from deadheat.league.storage import restore as restoring
    from deadheat.league.storage.backup import must_be_signed, read_backup

    settings = read_settings()
    with _progress() as progress, _one_sentence():
        chosen = read_backup(path)
        if doubt := must_be_signed(settings, chosen, unsigned):
            note(doubt, "warning:")
        if check:
            checked = restoring.check(chosen, allow_missing=allow_missing, progress=progress)
        else:
            checked = restoring.restore(settings, chosen, force=force, allow_missing=allow_missing, progress=progress)
    results = {
        "replayed": checked.replayed,
        "unlike": checked.unlike,
        "lost": sorted(checked.lost),
        "signed": not doubt,
    }
    answer = {**_facts(chosen), **results, "restored": not check}
    return Output(answer, _restored(settings, chosen, checked, check))


def _restored(settings: Settings, chosen: Backup, checked: Checked, check: bool) -> Iterator[str]:
    from deadheat.league.database import Database
    from deadheat.league.service.rulings.closing import Standing

    yield _line(chosen)
    yield (
        f"In order: the database, the chain of the audit log, {counted(checked.blobs, 'blob')}. "
        f"Re-simulated: {counted(checked.replayed, 'transcript')}, "
        f"of which {checked.replayed - len(checked.unlike)} end as they did."
    )
    for sentence in checked.unlike:
        note(sentence, "note:")
    _note_lost(chosen, checked.lost)
    if check:
        yield "It can be restored."
        return
    yield "The league is restored, and the audit log records it. Start everything again."
    yield "Accounts, passwords and tokens are those of the back-up. Anyone who got a newer one must do so again."
    file = deployment.token_file(settings)
    with closing(Database(settings)) as database:
        standing = deployment.standing(database, file)
    if standing is Standing.GOOD:
        yield f"The organiser's token in {file} is still good."
    else:
        yield deployment.taken_away(standing, file) or (
            f"There is no organiser's token of this league in {file}: `deadheat serve` writes a new one there when it "
            "starts, and the token in the back-up is then no longer valid."
        )


def upgrade(
    folder: Annotated[Path | None, typer.Option("--backup", help="Back up into this folder first.")] = None,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="You have a back-up already.")] = False,
) -> None:
    """Upgrade a league to this version: back it up, then migrate its database.

    Workers of other versions step aside.
    """
    from deadheat.league.database import Database
    from deadheat.league.storage.backup import back_up
    from deadheat.league.storage.schema import SchemaAge, must_fit, newest_revision, revision

    if (folder is None) != no_backup:
        fail("choose a folder to back up to first (--backup FOLDER), or pass --no-backup if you have one", USAGE)
    settings = read_settings()
    with _one_sentence(), closing(Database(settings)) as database:
        before = revision(database.engine)
        if before is not None and folder is not None:
            with _progress() as progress:
                made = back_up(settings, folder, progress)
            say(_line(made))
            _note_lost(made, made.lost)
        must_fit(database.engine, SchemaAge.NONE, SchemaAge.OLDER)
        database.migrate()
    after = newest_revision()
    if before == after:
        say(f"The database already has this version's schema ({after}).")
    else:
        say(f"The database is migrated from {before or 'nothing'} to {after}. Start this version everywhere.")


def _facts(made: Backup) -> dict[str, Any]:
    manifest = made.manifest
    return {
        "path": str(made.path),
        "taken_at": manifest.taken_at,
        "source": manifest.source,
        "revision": manifest.revision,
        "rows": sum(table.rows for table in manifest.tables.values()),
        "blobs": manifest.blobs - len(manifest.missing),
        "missing": manifest.missing,
    }


def _line(made: Backup) -> str:
    facts = _facts(made)
    holds = f"{counted(facts['rows'], 'row')}, {counted(facts['blobs'], 'blob')}"
    return f"{made.path}: taken {facts['taken_at']} from {facts['source']}, schema {facts['revision']}, {holds}."


def _note_lost(made: Backup, lost: Mapping[str, str]) -> None:
    """Report the blobs that a back-up lacks or has lost, their owners and the reasons. The manifest lists all."""
    from deadheat.league.storage.backup import owners

    whose = owners(made.database, lost.keys()) if lost else {}
    for name in sorted(lost, key=whose.__getitem__)[:MOST_LOST]:
        note(f"Without the {whose[name]}. {lost[name]}", "note:")
    if len(lost) > MOST_LOST:
        note(f"{len(lost) - MOST_LOST} more are lost.", "note:")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("blobs", total=None)
        yield lambda done, of_all: bar.update(task, completed=done, total=of_all)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Report an error of a back-up or of the deployment as the command's error, in one sentence."""
    from obstore.exceptions import BaseError
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.league.errors import BlobsAway
    from deadheat.league.storage.backup import BadBackup
    from deadheat.league.storage.restore import NotEmpty
    from deadheat.league.storage.schema import WrongSchema

    try:
        yield
    except NotEmpty as error:
        fail(f"{error} (`--force` replaces a league that is stopped.)")
    except (BadBackup, WrongSchema, OSError) as error:
        fail(str(error))
    except (BlobsAway, BaseError) as error:
        fail(f"the blob store failed: {error.why if isinstance(error, BlobsAway) else error}")
    except SQLAlchemyError as error:
        fail(f"the database failed: {error}")
