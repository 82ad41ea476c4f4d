"""`deadheat losses`: a bot's lost matches, played again by its present program against what the others said.

A recording fits while its player is sent the lines of then. After that it no longer reacts to the bot, so a win is a
hint. Once it fails, nothing is known but that the bot did not, which is better if it failed in the league.

The matches stay in ``.deadheat/losses`` of the bot's folder, as last played in ``games/``. A mark is on each that went
better once: if it is lost again, the command fails.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from deadheat.cli.author.bots import find_bot
from deadheat.cli.author.diff import first_difference
from deadheat.cli.author.matches import published
from deadheat.cli.console import INTERRUPTED, REFUSED, USAGE, command, ending_in_order, fail, note, short
from deadheat.cli.local.bots import HIDDEN, RECORDED, parting
from deadheat.cli.local.builds import built
from deadheat.cli.local.play import SANDBOX_HELP, USUAL, Backend, failing, open_backend
from deadheat.cli.local.reserve import locks_folder, own_processors
from deadheat.cli.local.transcripts import load, players
from deadheat.cli.output import Column, Columns, Output, table
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, asks
from deadheat.cli.tournament.command import sentences
from deadheat.cli.tournament.records import TRANSCRIPTS
from deadheat.cli.tournament.runner import Interrupted, Runner
from deadheat.cli.tournament.schedule import Deal, Seated
from deadheat.cli.tournament.worker import Job
from deadheat.engine.chance import attempt_seed
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.games.variants import rules_of
from deadheat.engine.replay import known_rules, why_unknown
from deadheat.engine.transcript import Transcript
from deadheat.engine.verdicts import ending

UNCLEAR, NO_FAULT = "unclear", "no fault"
NAME = re.compile(r"match-\d+-\d+\.jsonl", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Lost:
    """A lost match, with the bot's seat. Its file is named after both, the seat from 1."""

    file: Path
    match: int
    seat: Seat
    then: Transcript

    @property
    def others(self) -> list[Seat]:
        return [seat for seat in range(self.then.seats) if seat != self.seat]

    @property
    def again(self) -> Path:
        return self.file.parent / TRANSCRIPTS / f"{self.match:06}.jsonl"


def _read(file: Path) -> _Lost:
    _, match, seat = file.stem.split("-")
    return _Lost(file, int(match), int(seat) - 1, load(file))


@asks
def losses(
    client: Client,
    bot: Annotated[str, typer.Argument(help="One of your bots in the league, by name or number.")],
    folder: Annotated[Path, typer.Argument(help="The folder of its present program.")] = Path(),
    limit: Most = 20,
    offline: Annotated[bool, typer.Option("--offline", help="Play only what was fetched before.")] = False,
    sandbox: Annotated[Backend, typer.Option(help=SANDBOX_HELP)] = USUAL,
) -> Output:
    """Play a bot's lost matches again with its present program, and say which would now be won.

    Fetched matches are kept and played each time. Exit code 1 if one that went better before is lost again.
    """
    if not folder.is_dir():
        fail(f"{folder} is not a folder; name the bot's", USAGE)
    kept = folder / HIDDEN / "losses"
    with (
        tempfile.TemporaryDirectory(prefix="deadheat-losses-") as work,
        ending_in_order(),
        sentences(),
        failing(f"use {kept}"),
    ):
        (kept / TRANSCRIPTS).mkdir(parents=True, exist_ok=True)
        if not offline:
            _fetch(client, find_bot(client, bot), limit, kept)
        lost = [_read(file) for file in kept.glob("match-*.jsonl") if NAME.fullmatch(file.name)]
        for match in (match for match in lost if not known_rules(match.then)):
            note(f"match {match.match}: {why_unknown(match.then)}", "left out:")
        playable = sorted((match for match in lost if known_rules(match.then)), key=_rules)
        for _, group in groupby(playable, key=_rules):
            _play([*group], folder, sandbox, Path(work))
    results = [_compared(match) for match in sorted(playable, key=lambda match: -match.match) if match.again.exists()]
    return Output(results, _text(results), REFUSED if any(result["lost_again"] for result in results) else 0)


def _rules(lost: _Lost) -> str:
    return f"{lost.then.game} {sorted(lost.then.variant.items())}"


def _fetch(client: Client, bot: int, limit: int, kept: Path) -> None:
    """Save the newest lost matches that are not there yet, as far as they are public."""
    for match in client.matches(bot=bot, lost=True, state="done", limit=limit):
        seats = [seat_number(seat.seat) for seat in match.seats if seat.bot_id == bot and seat.rank != 1]
        if match.withheld or not seats:
            continue
        file = kept / f"match-{match.id}-{seats[0]}.jsonl"
        if not file.exists():
            new = file.with_suffix(".new")
            new.write_bytes(published(client, match))
            new.replace(file)


def _play(group: Sequence[_Lost], folder: Path, sandbox: Backend, work: Path) -> None:
    """Play matches of the same rules again, several at a time. End the command if it is interrupted."""
    game, backend = rules_of(group[0].then), open_backend(sandbox, work)
    names, deals = [str(folder)], []
    for lost in group:
        lost.again.unlink(missing_ok=True)
        seating = [0] * lost.then.seats
        for seat in lost.others:
            seating[seat] = len(names)
            names.append(f"{RECORDED}{lost.file}#{seat_number(seat)}")
        dice = attempt_seed(lost.then.seed, lost.then.attempt)
        deals.append(Deal(str(lost.match), dice, (Seated(lost.match, tuple(seating)),)))
    programs = tuple(built(game, names, backend, work / _rules(group[0])))
    cpus, opened = own_processors(), partial(open_backend, sandbox.value, work, warns=False)
    kept = group[0].file.parent
    job = Job(game, programs, opened, sandbox.value, "all", kept, locks_folder(), cpus)
    voided = lambda void: note(f"match {void.number}: {void.cause}: {void.detail}", "void:")  # noqa: E731
    try:
        Runner(job, max(1, len(cpus)), lambda _: False, voided).play(deals, 1)
    except Interrupted:
        note("the matches that were not played again are left for the next time", "stopped:")
        raise typer.Exit(INTERRUPTED) from None


def _compared(lost: _Lost) -> Mapping[str, Any]:
    """Say how a match went again, compared with then."""
    then, again, seat = lost.then, load(lost.again), lost.seat
    left = [at for other in lost.others if (at := parting(then, other, again, other)) is not None]
    unclear = any(other in again.result.faults and other not in then.result.faults for other in lost.others)
    won = not unclear and again.result.ranks[seat] == 1 and again.result.ranks.count(1) == 1
    cured = seat in then.result.faults and seat not in again.result.faults
    mark, first = lost.file.with_suffix(".better"), first_difference(then, again)
    if won or cured:
        mark.touch()
    return {
        "match": lost.match,
        "against": [players(then)[other] for other in lost.others],
        "seat": seat,
        "then": ending(then, seat),
        "now": (NO_FAULT if cured else UNCLEAR) if unclear else ending(again, seat),
        "won": won,
        "lost_again": mark.exists() and not (won or cured or unclear),
        "first_difference": first and {"exchange": first.exchange, "seat": first.seat, "where": first.where(then)},
        "fits_until": min(left, default=None),
        "files": [str(lost.file), str(lost.again)],
    }


COLUMNS: Columns[Mapping[str, Any]] = (
    Column("match", lambda row: row["match"], right=True),
    Column("against", lambda row: short(", ".join(row["against"]), 18), whole=True),
    Column("then", lambda row: row["then"], whole=True),
    Column("now", lambda row: row["now"] + (" again" if row["lost_again"] else ""), whole=True),
    Column("first different\nanswer", lambda row: (row["first_difference"] or {"where": "none"})["where"]),
    Column(
        "recording\nfits until", lambda row: "the end" if row["fits_until"] is None else row["fits_until"], right=True
    ),
)


def _text(results: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if not results:
        yield "No lost match to play again."
        return
    yield table(results, COLUMNS)
    won, unclear = sum(row["won"] for row in results), sum(row["now"] == UNCLEAR for row in results)
    yield f"{won} of {counted(len(results), 'match', 'matches')} would now be won."
    if any(row["won"] and row["fits_until"] is not None for row in results):
        yield "A win after a recording stopped fitting is a hint: it no longer reacts."
    if unclear:
        yield f"{unclear} unclear: a recording failed after it had stopped fitting."
    if files := next((row["files"] for row in results if row["first_difference"]), None):
        yield f"Compare, for example: {command('diff', *files)}"
