"""`deadheat matches`, `logs`, `download`: matches, the output of your bots, and transcripts as files."""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from deadheat.cli.author.bots import find_bot
from deadheat.cli.console import USAGE, cannot, err, fail, harmless, make_folder, note, number_in, quoted, say
from deadheat.cli.local.transcripts import STDERR, beside, load, note_killed, parsed
from deadheat.cli.output import Column, Columns, Output, as_object, listed, table, tabled
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.client import Most, asks, connect
from deadheat.cli.server.follow import (
    DEFAULT_TIMEOUT_S,
    LogReader,
    Patience,
    Timeout,
    looks,
    result,
    state_line,
    verdict,
)
from deadheat.engine.figures import counted, duration, seat_number
from deadheat.engine.transcript import Transcript
from deadheat.league.records.matches import AttemptView, EndingView, LatencyView, Match, MatchDetail
from deadheat.league.records.seasons import SeasonDetail

Bot = Annotated[
    str, typer.Option("--bot", help="Only this bot's: yours by name, anyone's by number, with --season also by name.")
]
Season = Annotated[int, typer.Option("--season", min=0, help="Only matches of this season; 0: any season.")]


@asks
def matches(
    client: Client,
    match: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Show everything about this match; default: a list.")
    ] = None,
    bot: Bot = "",
    season: Season = 0,
    lost: Annotated[bool, typer.Option("--lost", help="Only those in which the bot was not first.")] = False,
    state: Annotated[str, typer.Option(help="State: scheduled, done, held, decided, abandoned or all.")] = "done",
    limit: Most = 20,
) -> Output:
    """List matches, newest first, or show one with its attempts and response times."""
    if match:
        detail = client.match(match)
        return Output(detail, _details(detail))
    bot_id = find_bot(client, bot, season=season)
    if lost and not bot_id:
        fail("--lost is about one bot; choose it with --bot", USAGE)
    listing = client.matches(season=season, bot=bot_id, lost=lost, state="" if state == "all" else state, limit=limit)
    own: Columns[Match] = (Column("", lambda match: verdict(match, bot_id), whole=True),)
    columns: Columns[Match] = (
        Column("match", lambda match: match.id, right=True),
        Column("season", lambda match: match.season_id, whole=True),
        Column("ended", _ended, whole=True),
        *(own if bot_id else ()),
        Column("result", result),
    )
    return tabled(listing, columns, "No match.")


def _ended(match: Match) -> str:
    return match.finished_at.astimezone().strftime("%m-%d %H:%M") if match.finished_at else match.state


LATENCIES: Columns[LatencyView] = (
    Column("seat", lambda row: seat_number(row.seat), right=True),
    Column("command", lambda row: row.command),
    Column("prompts", lambda row: row.prompts, right=True),
    Column("mean", lambda row: duration(row.mean_ns), right=True),
    Column("worst", lambda row: duration(row.worst_ns), right=True),
    Column("limit", lambda row: duration(row.limit_ns), right=True),
)


def _details(match: MatchDetail) -> Iterator[RenderableType]:
    head = harmless(f"Match {match.id} of season {match.season_id}, {match.game}: {match.state}")
    if match.uncounted:
        yield Text.assemble(head, ", ", ("does not count", "red"), harmless(f" ({match.uncounted.cause})"))
    else:
        yield Text.assemble(head, ", counts" if match.state == "done" else "")
    yield f"  {result(match)}"
    if match.uncounted:
        yield Text.assemble(("  It does not count.", "red"), " ", harmless(match.uncounted.sentence))
    if match.not_played:
        yield Text.assemble(("  It was not played.", "red"), " ", harmless(match.not_played))
    if match.repeats_id:
        yield f"  It is played instead of match {match.repeats_id}: same versions and seats, different dice."
    if match.comeback:
        yield f"  The winner came back from {match.comeback:,.12g} behind."
    for seat in match.seats:
        why = f": {seat.fault.why}" if seat.fault and seat.fault.why else ""
        yield f"  seat {seat_number(seat.seat)}: {seat.bot} v{seat.version} by {seat.author}{why}"
    for attempt in match.attempts:
        yield f"  {attempt.finished_at.astimezone().strftime('%Y-%m-%d %H:%M:%S')} {tried(attempt)}"
    if match.latencies:
        yield table(match.latencies, LATENCIES)


def tried(attempt: AttemptView) -> str:
    """Describe one line of the ledger: result, dice, seat whose turn it was, and machine."""
    facts = [] if attempt.seed_number is None else [f"seed {attempt.seed_number}"]
    facts += [] if attempt.seat is None else [f"seat {seat_number(attempt.seat)} was to answer"]
    facts += [] if attempt.machine is None else [f"machine {attempt.machine}"]
    details = f" ({', '.join(facts)})" if facts else ""
    return attempt.cause + details + (f": {attempt.detail}" if attempt.detail else "")


@asks
def logs(
    client: Client,
    bot: Annotated[str, typer.Argument(help="One of your bots, by name or number: show its build log.")] = "",
    version: Annotated[int, typer.Option(min=0, help="Version number; 0: the newest.")] = 0,
    match: Annotated[int, typer.Option(min=0, help="Show your bots' stderr in this match instead.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="Follow the log until the build is over.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: bool = False,
) -> Output:
    """Show the log of a build and its trial match, or with --match the stderr of your bots in a match."""
    if bool(bot) == bool(match):
        fail("name a bot, or choose a match with --match", USAGE)
    if match and follow:
        fail("--follow works only with build logs", USAGE)
    if match:
        none = "None of your bots played in it, or other matches with its dice are not over."
        return listed(client.endings(match), _ending_lines, none)
    bot_id = find_bot(client, bot)
    if not version:
        known = client.versions(bot_id)
        version = known[0].number if known else fail(f"{bot} has no versions yet")
    if follow:
        reader, state = LogReader(client, bot_id, version), ""
        built = client.version(bot_id, version)
        for seen in looks(client, built, Patience(timeout, f"version {version} is not built")):
            lines = reader.look(last=seen.ended)
            if lines and not as_json:
                say("\n".join(lines))
            if state_line(seen) != state and not as_json:
                state = state_line(seen)
                note(state)
    log = client.build_log(bot_id, version)
    for attempt in log.tries:
        note(f"{attempt.cause}: {attempt.detail}", "service failure:")
    return Output({"bot_id": bot_id, "version": version, **as_object(log)}, () if follow else log.log)


def _ending_lines(ending: EndingView) -> Iterator[RenderableType]:
    how = "ended by the service"
    if ending.exit_code is not None:
        how = f"exit code {ending.exit_code}"
    elif ending.signal is not None:
        how = f"signal {ending.signal}"
    killed = ", still running after FINISH" if ending.lingered else ""
    yield f"Seat {seat_number(ending.seat)}, {ending.bot} v{ending.version}: {how}{killed}"
    yield quoted(ending.stderr) if ending.stderr else "  (nothing on stderr)"


@asks
def download(
    client: Client,
    match: Annotated[list[int] | None, typer.Argument(min=1, help="Match numbers; none: all finished matches.")] = None,
    folder: Annotated[Path, typer.Option("--folder", help="Target folder.")] = Path(),
    bot: Bot = "",
    season: Season = 0,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most this many, newest first.")] = 1000,
    as_json: bool = False,
) -> Iterator[Output]:
    """Save transcripts, and what your own bots wrote to stderr in those matches.

    Each transcript is compared with its published SHA-256. Existing files stay.
    """
    if not match and not bot and not season:
        fail("name matches, or choose them with --bot or --season", USAGE)
    make_folder(folder)
    chosen: list[Match] = [client.match(number) for number in match or ()]
    if not match:
        ended = list(client.matches(season=season, bot=find_bot(client, bot, season=season), state="done", limit=limit))
        chosen = [item for item in ended if not item.withheld]
        if untold := len(ended) - len(chosen):
            sentence = (
                f"{counted(untold, 'match', 'matches')} left out: matches with the same dice are still to be played"
            )
            note(f"{sentence}. Download them later.")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=as_json or not err.is_terminal) as progress:
        for item in progress.track(chosen, description="matches"):
            path = _save(client, item, folder)
            yield Output({"match_id": item.id, "file": str(path), "sha256": item.transcript_sha256})
    yield Output((), f"{counted(len(chosen), 'transcript')} in {folder}")


@dataclass(frozen=True, slots=True)
class Looked:
    """A transcript to inspect. `name` is its file or match, for people. `match` and `season` are the league's records
    if it was requested by number.
    """

    name: str
    transcript: Transcript
    match: MatchDetail | None = None
    season: SeasonDetail | None = None


def look(file: Path, server: str, token: str) -> Looked:
    """Load a transcript from a file, or a match's by its number, without writing anything."""
    number = match_number(file)
    if number is None:
        return Looked(str(file), load(file))
    with connect(server, token) as client:
        match = client.match(number)
        name = f"match {number}"
        return Looked(name, parsed(published(client, match), name), match, client.season(match.season_id))


def match_number(file: Path) -> int | None:
    """Return the match number that `file` stands for, or None; an existing file takes precedence."""
    return None if file.exists() else number_in(str(file))


def local_file(file: Path, seat: int | None, server: str, token: str) -> tuple[Path, int | None]:
    """Return a file as it is. For a match's number, return its transcript in a new temporary folder with the user's own
    stderr, and the seat, or else the only one of the user's bots, from 1. End the command unless there is exactly one.
    """
    number = match_number(file)
    if number is None:
        return file, seat
    with connect(server, token) as client:
        match = client.match(number)
        if seat is None:
            own = {bot.id for bot in client.bots()} if client.has_token else set()
            seats = [seat_number(seated.seat) for seated in match.seats if seated.bot_id in own]
            if len(seats) != 1:
                whose = (
                    f"seats {' and '.join(map(str, seats))} are yours" if seats else "none of your bots played in it"
                )
                why = whose if client.has_token else "you are not logged in"
                fail(f"match {number}: {why}; choose a seat with --seat", USAGE)
            seat = seats[0]
        path = _save(client, match, Path(tempfile.mkdtemp(prefix="deadheat-match-")))
    note(f"Downloaded to {path}")
    return path, seat


def _save(client: Client, match: Match, folder: Path) -> Path:
    """Save the transcript and return its file. End the command if there is none, or it is not the published one."""
    path = folder / f"match-{match.id}.jsonl"
    try:
        if not path.is_file() or _sha256(path.read_bytes()) != match.transcript_sha256:
            path.write_bytes(published(client, match))
        endings = []
        if client.has_token:
            try:
                endings = client.endings(match.id)
            except Refused as error:
                if error.status not in {401, 403, 404}:  # the user did not play
                    raise
        for ending in endings:
            note_killed(path, ending.seat, ending.lingered)
            if ending.stderr:
                beside(path, ending.seat, STDERR).write_text(ending.stderr, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        cannot(f"write {error.filename or path}", error)
    return path


def published(client: Client, match: Match) -> bytes:
    """Return the match's transcript. End the command if its SHA-256 is not the published one."""
    content = client.transcript(match.id)
    if _sha256(content) != match.transcript_sha256:
        fail(f"the transcript of match {match.id} is not the published one: its SHA-256 is {_sha256(content)}")
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
