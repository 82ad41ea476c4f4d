"""The checks of `deadheat season verify`: members, transcripts, ranking, seeds, evaluations and stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from deadheat.cli.console import err, fail
from deadheat.cli.organiser.archive import Archived, opened
from deadheat.cli.organiser.archive_tournaments import Checked, evaluations, finals
from deadheat.cli.output import Output
from deadheat.cli.server.wire import Refused
from deadheat.cli.statistics.recount import Row, dice_of, recount_of, rows
from deadheat.engine.chance import commitment
from deadheat.engine.figures import counted
from deadheat.engine.transcript import decode
from deadheat.league.states import MatchState
from deadheat.league.verification.agreement import verdict

MOST_SHOWN = 20
"""The most sentences shown for one check."""


def verify(file: Annotated[Path, typer.Argument(help="An archive of `season archive`.")]) -> Iterator[Output]:
    """Check an archive by itself: transcripts by the rules, the ranking, the dice, all evaluations and the finals.

    Exit code 1 if anything is wrong.
    """
    failed = 0
    with opened(file) as archived:
        for check in checks(archived):
            failed += bool(check.wrong)
            answer = {"check": check.name, "verified": not check.wrong, "wrong": list(check.wrong)}
            yield Output(answer | {"detail": check.sentence}, _lines(check))
    if failed:
        fail(f"{file}: {counted(failed, 'check')} failed")


def _lines(check: Checked) -> Iterator[str]:
    yield f"{'WRONG' if check.wrong else 'right'}  {check.name}: {check.sentence}"
    yield from (f"       {sentence}" for sentence in check.wrong[:MOST_SHOWN])
    if len(check.wrong) > MOST_SHOWN:
        yield f"       and {len(check.wrong) - MOST_SHOWN} more"


def checks(archived: Archived) -> Iterator[Checked]:
    """Run all checks. Whatever is missing counts as wrong."""
    wrong = tuple(archived.wrong_members())
    yield Checked("members", f"the manifest names {counted(archived.member_count, 'member')}.", wrong)
    for check in (transcripts, ranking, dice, evaluations, finals, sources):
        try:
            yield check(archived)
        except (Refused, ValueError, KeyError, TypeError, IndexError) as error:
            yield Checked(check.__name__, "they cannot be read.", (f"{type(error).__name__}: {error}",))


def transcripts(archived: Archived) -> Checked:
    """Re-simulate every transcript, and compare it with the tables. Until the final standings, some may be withheld."""
    seats = groupby(rows(archived, archived.season_id, "participants"), lambda row: row["match_id"])
    by_match = {match_id: list(found) for match_id, found in seats}
    done = [row for row in rows(archived, archived.season_id, "matches") if row["state"] == MatchState.DONE]
    is_final = archived.season(archived.season_id).published_at is not None
    played = [row for row in done if is_final or row["transcript_sha256"]]
    wrong = []
    for row in track(played, "transcripts", console=err, transient=True, disable=not err.is_terminal):
        clauses = _of_transcript(archived.transcript(row["match_id"]), row, by_match.get(row["match_id"], []))
        wrong += [f"Match {row['match_id']}: {clause}." for clause in clauses]
    said = f"{counted(len(played), 'match', 'matches')} played again"
    later = "" if len(played) == len(done) else f"; not public yet: {len(done) - len(played)}"
    return Checked("transcripts", f"{said}{later}.", tuple(wrong))


def _of_transcript(data: bytes, row: Row, seats: Sequence[Row]) -> Iterator[str]:
    if sha256(data).hexdigest() != row["transcript_sha256"]:
        yield "the transcript is not the one in the table"
        return
    transcript = decode(data)
    if commitment(transcript.seed) != row["commitment"]:
        yield "its seed does not match the commitment"
    if row["seed"] and transcript.seed.hex() != row["seed"]:
        yield "its seed is not the one in the table"
    if transcript.about.get("match") != row["match_id"] or transcript.attempt != row["attempt"]:
        yield "its number or attempt is not the one in the table"
    result = transcript.result
    told = {seat["seat"]: (seat["rank"], seat["fault"] or None) for seat in seats}
    if told != {seat: (rank, result.faults.get(seat)) for seat, rank in enumerate(result.ranks)}:
        yield "its places or faults are not those in the table"
    right, why = verdict(transcript, ())
    if right is not True:
        yield f"{why}"


def ranking(archived: Archived) -> Checked:
    """Recompute the newest ranking from the tables. Before it is published, it may lag behind them."""
    found = recount_of(archived, archived.season_id)
    lags = archived.season(archived.season_id).published_at is None and len(found.differences) == 1
    if lags and "log_sha256" in found.differences[0]:
        return Checked("ranking", "not compared: results have arrived since it was made, and it is not final.", ())
    told = f"computed again from {counted(found.games, 'game')}." if found.snapshot_id else "nothing is ranked."
    return Checked("ranking", told, found.differences)


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
