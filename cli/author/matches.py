"""`deadheat matches`, `logs`, `download`: what was played, what one's own bots wrote, and the transcripts as files."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from cli.author.entering import find_bot
from cli.console import err, fail, out, plain, quoted
from cli.local.transcripts import load, note_killed, parsed, stderr_path
from cli.server.api_client import Client, Refused
from cli.server.api_models import AttemptView, EndingView, Match, MatchDetail, SeasonDetail, Version
from cli.server.client import USAGE, AsJson, Server, Token, connect, print_json, print_json_lines
from cli.server.follow import DEFAULT_TIMEOUT_S, LogReader, Patience, Timeout, looks, result, state_line, verdict
from engine.figures import counted, duration, seat_number
from engine.transcript import Transcript

Bot = Annotated[str, typer.Option("--bot", help="Only matches of this bot: yours by name, or anyone's by number.")]
Season = Annotated[int, typer.Option("--season", min=0, help="Only matches of this season; 0: of any.")]


def register(app: typer.Typer) -> None:
    """Add this module's verbs to `app`."""
    app.command()(matches)
    app.command()(logs)
    app.command()(download)


def matches(
    match: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Show everything about this match; default: a list.")
    ] = None,
    bot: Bot = "",
    season: Season = 0,
    state: Annotated[str, typer.Option(help="State: scheduled, done, held, decided, abandoned or all.")] = "done",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Show at most this many.")] = 20,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List matches, newest first, or show one with its attempts and response times."""
    with connect(server, token) as client:
        if match:
            detail = client.match(match)
            print_json(detail) if as_json else _show(detail)
            return
        bot_id = find_bot(client, bot) if bot else 0
        found = client.matches(season=season, bot=bot_id, state="" if state == "all" else state, limit=limit)
        if as_json:
            print_json_lines(found)
        else:
            _list(found, bot_id)


def _list(found: Iterator[Match], bot_id: int) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("match", justify="right")
    for heading in ("season", "ended", "") if bot_id else ("season", "ended"):
        table.add_column(heading, no_wrap=True)
    table.add_column("result", overflow="fold")
    for match in found:
        ended = match.finished_at.astimezone().strftime("%m-%d %H:%M") if match.finished_at else plain(match.state)
        own = [plain(verdict(match, bot_id))] if bot_id else []
        table.add_row(str(match.id), str(match.season_id), ended, *own, plain(result(match)))
    out.print(table if table.row_count else "No match.")


def _show(match: MatchDetail) -> None:
    out.print(f"Match {match.id} of season {match.season_id}, {plain(match.game)}: {_standing(match)}", soft_wrap=True)
    out.print(f"  {plain(result(match))}", soft_wrap=True)
    if match.uncounted:
        out.print(f"  [red]It does not count.[/] {plain(match.uncounted.sentence)}", soft_wrap=True)
    if match.not_played:
        out.print(f"  [red]It was not played.[/] {plain(match.not_played)}", soft_wrap=True)
    if match.repeats_id:
        out.print(f"  It is played instead of match {match.repeats_id}: same versions and seats, other dice.")
    for seat in match.seats:
        why = f": {seat.fault.why}" if seat.fault and seat.fault.why else ""
        who = plain(f"{seat.bot} v{seat.version} by {seat.author}{why}")
        out.print(f"  seat {seat_number(seat.seat)}: {who}", soft_wrap=True)
    for attempt in match.attempts:
        when = attempt.finished_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        out.print(f"  {when} {plain(tried(attempt))}", soft_wrap=True)
    if match.latencies:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("seat", "command", "prompts", "mean", "worst", "limit"):
            table.add_column(heading, justify="left" if heading == "command" else "right")
        for row in match.latencies:
            times = (duration(row.mean_ns), duration(row.worst_ns), duration(row.limit_ns))
            table.add_row(str(seat_number(row.seat)), plain(row.command), str(row.prompts), *times)
        out.print(table)


def tried(attempt: AttemptView) -> str:
    """One line of the ledger: what came of it, with which dice, whose turn it was, and where."""
    facts = [] if attempt.seed_number is None else [f"seed {attempt.seed_number}"]
    facts += [] if attempt.seat is None else [f"seat {seat_number(attempt.seat)} was to answer"]
    facts += [] if attempt.machine is None else [f"machine {attempt.machine}"]
    told = f" ({', '.join(facts)})" if facts else ""
    return attempt.cause + told + (f": {attempt.detail}" if attempt.detail else "")


def _standing(match: Match) -> str:
    """Its state, and whether it counts."""
    if match.uncounted:
        return f"{plain(match.state)}, [red]does not count[/] ({plain(match.uncounted.cause)})"
    return f"{plain(match.state)}, counts" if match.state == "done" else plain(match.state)


def logs(
    bot: Annotated[str, typer.Argument(help="One of your bots, by name or number: show its build log.")] = "",
    version: Annotated[int, typer.Option(min=0, help="Version number; 0: the newest.")] = 0,
    match: Annotated[int, typer.Option(min=0, help="Show your bots' stderr in this match instead.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="Follow the log until the build is over.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show the log of a build and its trial match, or with --match the stderr of your bots in a match."""
    if bool(bot) == bool(match):
        fail("name a bot, or choose a match with --match", USAGE)
    if match and follow:
        fail("--follow works only with build logs", USAGE)
    with connect(server, token) as client:
        if match:
            endings = client.endings(match)
            print_json_lines(endings) if as_json else _show_endings(endings)
            return
        bot_id = find_bot(client, bot)
        if not version:
            known = client.versions(bot_id)
            version = known[0].number if known else fail(f"{bot} has no versions yet")
        if follow:
            _follow_log(client, client.version(bot_id, version), timeout, as_json)
        log = client.build_log(bot_id, version)
    if as_json:
        print_json({"bot_id": bot_id, "version": version, **log.model_dump(mode="json")})
        return
    for attempt in log.tries:
        err.print(f"[magenta]service failure:[/] {plain(f'{attempt.cause}: {attempt.detail}')}", soft_wrap=True)
    if not follow:
        out.print(plain(log.log), soft_wrap=True)


def _follow_log(client: Client, version: Version, timeout_s: int, quiet: bool) -> None:
    """The log as it grows on stdout, and where the version is on stderr."""
    reader, state = LogReader(client, version.bot_id, version.number), ""
    for seen in looks(client, version, Patience(timeout_s, f"version {version.number} is not built")):
        lines = reader.look(last=seen.ended)
        if quiet:
            continue
        if lines:
            out.print(plain("\n".join(lines)), soft_wrap=True)
        if state_line(seen) != state:
            state = state_line(seen)
            err.print(state, soft_wrap=True)


def _show_endings(endings: list[EndingView]) -> None:
    for ending in endings:
        how = "ended by us"
        if ending.exit_code is not None:
            how = f"exit code {ending.exit_code}"
        elif ending.signal is not None:
            how = f"signal {ending.signal}"
        killed = ", still running after FINISH" if ending.lingered else ""
        out.print(f"Seat {seat_number(ending.seat)}, {plain(ending.bot)} v{ending.version}: {how}{killed}")
        out.print(quoted(ending.stderr) if ending.stderr else "  (nothing on stderr)", soft_wrap=True)
    if not endings:
        out.print("None of your bots played in it, or other matches with its dice are not over.")


def download(
    match: Annotated[list[int] | None, typer.Argument(min=1, help="Match numbers; none: all finished matches.")] = None,
    folder: Annotated[Path, typer.Option("--folder", help="Where to.")] = Path(),
    bot: Bot = "",
    season: Season = 0,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most this many, newest first.")] = 1000,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Save transcripts, and what your own bots wrote to stderr in those matches.

    Each transcript is compared with the SHA-256 that the match has published. What is there already stays.
    """
    if not match and not bot and not season:
        fail("name matches, or choose them with --bot or --season", USAGE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot make the folder {folder}: {error.strerror}", USAGE)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with connect(server, token) as client:
        if match:
            chosen: list[Match] = [client.match(number) for number in match]
        else:
            bot_id = find_bot(client, bot) if bot else 0
            chosen = list(client.matches(season=season, bot=bot_id, state="done", limit=limit))
        untold = 0
        with Progress(*columns, console=err, transient=True, disable=as_json or not err.is_terminal) as progress:
            for found in progress.track(chosen, description="matches"):
                if found.withheld and not match:
                    untold += 1
                    continue
                path = save(client, found, folder)
                if as_json:
                    print_json({"match_id": found.id, "file": str(path), "sha256": found.transcript_sha256})
    if not as_json:
        out.print(f"{counted(len(chosen) - untold, 'transcript')} in {plain(str(folder))}", soft_wrap=True)
        if untold:
            told = f"{counted(untold, 'match', 'matches')} left out: matches with the same dice are still to be played"
            err.print(f"{told}. Download them later.", soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Looked:
    """A transcript to look at. `name`: of its file or match, for people. `match` and `season`: what the league says of
    it, where it was asked for by its number.
    """

    name: str
    transcript: Transcript
    match: MatchDetail | None = None
    season: SeasonDetail | None = None


def look(file: Path, server: str, token: str) -> Looked:
    """The transcript in a file, or of a match by its number; nothing is written."""
    number = match_number(file)
    if number is None:
        return Looked(str(file), load(file))
    with connect(server, token) as client:
        match = client.match(number)
        name = f"match {number}"
        return Looked(name, parsed(published(client, match), name), match, client.season(match.season_id))


def match_number(file: Path) -> int | None:
    """The match number that `file` stands for, or None; an existing file takes precedence."""
    text = str(file)
    return int(text) if text.isascii() and text.isdigit() and not file.exists() else None


def own_seat(file: Path, server: str, token: str) -> int:
    """The only seat, from 1, in which a bot of the asker's sat; ends the command where there is no such one."""
    number = match_number(file)
    if number is None:
        fail("a file does not say which seat is yours; choose one with --seat", USAGE)
    with connect(server, token) as client:
        own = {bot.id for bot in client.bots()} if client.has_token else set()
        seats = [seat_number(seat.seat) for seat in client.match(number).seats if seat.bot_id in own]
    if len(seats) != 1:
        whose = f"seats {' and '.join(map(str, seats))} are yours" if seats else "none of your bots played in it"
        fail(
            f"match {number}: {whose if client.has_token else 'you are not logged in'}; choose a seat with --seat",
            USAGE,
        )
    return seats[0]


def local_file(file: Path, server: str, token: str) -> Path:
    """The file; or for the number of a match its transcript, in a new temporary folder with the asker's own stderr."""
    number = match_number(file)
    if number is None:
        return file
    with connect(server, token) as client:
        path = save(client, client.match(number), Path(tempfile.mkdtemp(prefix="deadheat-match-")))
    err.print(f"Downloaded to {plain(str(path))}", soft_wrap=True)
    return path


def save(client: Client, match: Match, folder: Path) -> Path:
    """The transcript's file; ends the command if the match has none, or if it is not the one that was published."""
    path = folder / f"match-{match.id}.jsonl"
    try:
        if not path.is_file() or _sha256(path.read_bytes()) != match.transcript_sha256:
            path.write_bytes(published(client, match))
        for ending in _own_endings(client, match.id):
            note_killed(path, ending.seat, ending.lingered)
            if ending.stderr:
                stderr_path(path, ending.seat).write_text(ending.stderr, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        fail(f"cannot write {error.filename or path}: {error.strerror}")
    return path


def published(client: Client, match: Match) -> bytes:
    """The match's transcript; ends the command if it is not the one whose SHA-256 the match has published."""
    content = client.transcript(match.id)
    if _sha256(content) != match.transcript_sha256:
        fail(f"the transcript of match {match.id} is not the published one: its SHA-256 is {_sha256(content)}")
    return content


def _own_endings(client: Client, match_id: int) -> list[EndingView]:
    """None without a token, or with one of somebody who did not play: then there is nothing of one's own."""
    if not client.has_token:
        return []
    try:
        return client.endings(match_id)
    except Refused as error:
        if error.status in {401, 403, 404}:
            return []
        raise


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
