"""The checks of `deadheat season verify`: members, transcripts, names, ranking, seeds, evaluations, stages and log."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.console import fail
from deadheat.cli.organiser.archive import Archived, opened
from deadheat.cli.organiser.archive_matches import transcripts
from deadheat.cli.organiser.archive_names import log, players, wrong_standings
from deadheat.cli.organiser.archive_tournaments import Checked, evaluations, finals
from deadheat.cli.output import Output
from deadheat.cli.server.wire import Refused
from deadheat.cli.statistics.recount import dice_of, recount_of, rows
from deadheat.engine.figures import counted
from deadheat.league.verification.agreement import HOSTS_WORD

MOST_SHOWN = 20
"""The most sentences shown for one check."""


def verify(file: Annotated[Path, typer.Argument(help="An archive of `season archive`.")]) -> Iterator[Output]:
    """Check an archive by itself: transcripts by the rules and against all tables, the ranking, the dice, all
    evaluations, the finals and the log.

    Exit code 1 if anything is wrong.
    """
    failed = 0
    with opened(file) as archived:
        for check in checks(archived):
            failed += bool(check.wrong)
            answer = {"check": check.name, "verified": not check.wrong, "wrong": list(check.wrong)}
            yield Output(answer | {"detail": check.sentence}, _lines(check))
        yield Output(text=HOSTS_WORD)
    if failed:
        fail(f"{file}: {counted(failed, 'check')} failed")


def _lines(check: Checked) -> Iterator[str]:
    yield f"{'WRONG' if check.wrong else 'right'}  {check.name}: {check.sentence}"
    yield from (f"       {sentence}" for sentence in check.wrong[:MOST_SHOWN])
    if len(check.wrong) > MOST_SHOWN:
        yield f"       and {len(check.wrong) - MOST_SHOWN} more"


def checks(archived: Archived) -> Iterator[Checked]:
    """Run all checks. Whatever is missing counts as wrong."""
    for check in (members, transcripts, players, ranking, dice, evaluations, finals, sources, log):
        try:
            yield check(archived)
        except Exception as error:  # noqa: BLE001  whatever an archive makes a check stumble over is wrong
            yield Checked(check.__name__, "they cannot be read.", (f"{type(error).__name__}: {error}",))


def members(archived: Archived) -> Checked:
    """Compare the members with the manifest."""
    wrong = tuple(archived.wrong_members())
    return Checked("members", f"the manifest names {counted(archived.member_count, 'member')}.", wrong)


def ranking(archived: Archived) -> Checked:
    """Recompute the newest ranking from the tables. Before it is published, it may lag behind them."""
    found = recount_of(archived, archived.season_id)
    lags = archived.season(archived.season_id).published_at is None and len(found.differences) == 1
    if lags and "log_sha256" in found.differences[0]:
        return Checked("ranking", "not compared: results have arrived since it was made, and it is not final.", ())
    told = f"computed again from {counted(found.games, 'game')}." if found.snapshot_id else "nothing is ranked."
    return Checked("ranking", told, (*found.differences, *wrong_standings(archived)))


def sources(archived: Archived) -> Checked:
    """Compare the published sources with their table."""
    try:
        told = list(rows(archived, archived.season_id, "sources"))
    except Refused:
        return Checked("sources", "the archive comes from a server that published none.", ())
    wrong = [
        f"The source of version {row['version_id']} is not the one in the table."
        for row in told
        if sha256(archived.public_source(archived.season_id, row["version_id"])).hexdigest() != row["source_sha256"]
    ]
    return Checked("sources", f"{counted(len(told), 'version')} published.", tuple(wrong))


def dice(archived: Archived) -> Checked:
    """Check all seeds against the season's commitment."""
    found = dice_of(archived, archived.season_id)
    return Checked("dice", found.sentence, found.differences)
