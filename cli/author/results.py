"""What everybody may read of a league: a season's ranking, who answers too late and whose fault it is, and the public
records (`deadheat audit`, `export`), which everybody may check.
"""

import json
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import JustifyMethod, RenderableType
from rich.table import Table

from deadheat.cli.console import USAGE, fail, harmless, note, out, plain
from deadheat.cli.output import AsJson, Column, Columns, Output, ToFile, listed, places, show, table
from deadheat.cli.server.api_client import Client, doubting
from deadheat.cli.server.client import Server, Token, connect, own_name, visits
from deadheat.engine.figures import used
from deadheat.league.records.entries import Entry
from deadheat.league.records.matches import Late, Over, Timeouts
from deadheat.league.records.rankings import Leaderboard, Standing, tally
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.verification.fairness import GENESIS, record_sha256
from deadheat.league.words import Exported


def leaderboard(
    season: Annotated[
        int, typer.Argument(min=0, help="Season number; 0: your newest season with results, or else the newest of all.")
    ] = 0,
    named: Annotated[int, typer.Option("--season", min=0, help="The season's number, given as an option.")] = 0,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show a season's ranking."""
    if season and named and season != named:
        fail("give one season, not two", USAGE)
    with connect(server) as client:
        number = season or named
        if not number:
            author = own_name(server, token)
            own = client.seasons(author, results=True) if author else []
            known = own or client.seasons(results=True) or client.seasons()
            number = known[0].id if known else fail("the server has no seasons yet")
        board = client.leaderboard(number)
        show(Output(board, _shown(client, board)), as_json)


def _shown(client: Client, board: Leaderboard) -> Iterator[RenderableType]:
    yield standings_table(board)
    yield from _absent(client.entries(board.season_id), board)


def _absent(entries: Iterable[Entry], board: Leaderboard) -> list[str]:
    """List entries that are no longer in the ranking, one line per reason."""
    ranked = {row.bot_id for row in board.rows}
    names: dict[str, list[str]] = {}
    for entry in entries:
        if entry.absence is not None and entry.bot_id not in ranked:
            names.setdefault(entry.absence, []).append(entry.bot)
    return [f"{why.capitalize()}: {', '.join(bots)}." for why, bots in sorted(names.items())]


GAP = 2
"""The number of characters between columns. With so few, all figures of a season with divisions fit into 80."""

NAMES = 14
"""The fewest characters for the names of a bot and its author."""

HEADINGS = ("div", "#", "places", "bot", "author", "rating", "games", "W/D/L", "faults")
LEFT_OUT = ("W/D/L", "faults", "places", "div", "games")
"""The columns that make room for names in a narrow terminal, the first first."""


def standings_table(board: Leaderboard) -> Table:
    """Make a table of a ranking. `places` is the 95 % interval of the place. In a narrow terminal, names are cut, and
    before too little is left of them, columns are left out (`LEFT_OUT`).
    """
    rows = [dict(zip(HEADINGS, _cells(row), strict=True)) for row in board.rows]
    widths = {heading: max(map(len, (heading, *(row[heading] for row in rows)))) for heading in HEADINGS}
    if len({row.division for row in board.rows}) < 2:
        del widths["div"]
    names, spared = widths["bot"] + widths["author"], iter(LEFT_OUT)
    while (room := out.width + names - sum(widths.values()) - GAP * len(widths)) < NAMES and (less := next(spared, "")):
        widths.pop(less, None)
    widths["author"] = min(widths["author"], max(room // 2, room - widths["bot"]))
    widths["bot"] = min(widths["bot"], room - widths["author"])
    table = Table(
        title=f"Season {board.season_id}",
        title_justify="left",
        caption=tally(board.config, (row.plackett_luce for row in board.rows)) or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
    )
    for heading, width in widths.items():
        justify: JustifyMethod = "left" if heading in ("bot", "author") else "right"
        table.add_column(heading, justify=justify, no_wrap=True, width=max(width, len(heading)))
    for row in rows:
        table.add_row(*(row[heading] for heading in widths))
    return table


def _cells(row: Standing) -> list[str]:
    return [
        str(row.division),
        "-" if row.rank is None else f"{row.rank}{'=' if row.tied else ''}",
        "-" if row.rank_low is None or row.rank_high is None else places(row.rank_low, row.rank_high),
        f"{plain(row.bot)} v{row.version}",
        plain(f"{row.author}, team {row.team}" if row.team else row.author),
        f"{row.elo:.0f} ± {(row.high - row.low) / 2:.0f}",
        str(row.games),
        f"{row.wins}/{row.draws}/{row.losses}",
        str(row.timeouts + row.other_faults),
    ]


SHARE: Columns[Late] = (
    Column("prompts", lambda late: f"{late.prompts:,}", right=True),
    Column("late", lambda late: late.timeouts, right=True),
    Column("share", lambda late: _percent(late.share), right=True),
    Column("95 % interval", lambda late: " - ".join(map(_percent, late.interval or ())), right=True),
)
FAULT: Columns[Late] = (
    *SHARE,
    Column("given back", lambda late: late.given_back, right=True),
    Column("void", lambda late: late.void, right=True),
)
COMMANDS: Columns[Late] = (
    Column("game", lambda late: late.game, whole=True),
    Column("command", lambda late: late.command or "unknown", whole=True),
    *FAULT,
    Column("p50 / p95 / p99 of the limit", lambda late: " / ".join(map(used, late.used or ())), right=True),
)
MACHINES: Columns[Late] = (Column("machine", lambda late: late.machine or "unknown", right=True), *FAULT)
BOTS: Columns[Late] = (Column("bot", lambda late: f"{late.author}/{late.bot}"), *SHARE)
SPARED = ("p50 / p95 / p99 of the limit", "void", "given back", "95 % interval", "prompts", "late")
"""The columns that make room in a narrow terminal, the first first. If that is not enough, bots take two lines."""


@visits
def timeouts(
    client: Client,
    season: Annotated[int, typer.Option(min=0, help="Only this season; 0: the whole league.")] = 0,
    over: Annotated[Over, typer.Option(help="How far back to count; season: everything.")] = Over.DAY,
) -> Output:
    """Show who answers too late, in which game and to which command, on which machine, and whose fault it is."""
    counts = client.timeouts(season=season, over=over)
    return Output(counts, _text(counts))


def _text(counts: Timeouts) -> Iterator[RenderableType]:
    if not counts.commands:
        yield "No matches yet."
        return
    season = "in the whole season" if counts.season_id else "in all seasons"
    time = season if counts.over is Over.SEASON else f"in the last {counts.over.replace('-', ' ')}"
    rows = [row for row in counts.commands if row.over == counts.over]
    yield from _table(f"By game and command, {time}", rows, COMMANDS)
    yield from _table(f"By machine, {time}", counts.machines, MACHINES)
    bots = "in the whole season" if counts.season_id else "in the seasons under way"
    yield from _table(f"Bots with the most timeouts, {bots}", counts.bots, BOTS)


def _table(title: str, rows: Sequence[Late], columns: Columns[Late]) -> Iterator[RenderableType]:
    """Yield a table under its title, without the columns for which the terminal is too narrow."""
    yield title if rows else f"{title}: none."
    spared, wide = iter(SPARED), out.options.update(max_width=10_000)  # more than any table has
    while out.measure(table(rows, columns), options=wide).maximum > out.width and (less := next(spared, "")):
        columns = tuple(column for column in columns if column.heading != less)
    if rows:
        yield table(rows, columns)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


AUDIT_LINES = 100


@visits
def audit(
    client: Client,
    subject: Annotated[str, typer.Argument(help="Only records about this subject, e.g. match/5.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Read the whole log and recompute its chain.")] = False,
    head: Annotated[str, typer.Option(help="With --check: the SHA-256 of a record that must be in the log.")] = "",
) -> Output:
    """Show the public log of decisions and their reasons, or check that nothing was changed."""
    if check:
        previous, count, seen = GENESIS, 0, not head
        for record in client.audit(oldest_first=True):
            if record.prev_sha256 != previous or record.sha256 != record_sha256(record):
                fail(f"record {record.id} does not follow from the previous one: the log was changed")
            previous = record.sha256
            seen = seen or previous == head
            count += 1
        if not seen:
            fail(f"no record has the SHA-256 {head}: the log was replaced")
        sentence = f"{count} records; each follows from the previous one. SHA-256 of the last: {previous}"
        return Output({"records": count, "sha256": previous}, sentence)

    def line(record: AuditRecord) -> str:
        with doubting():
            data = ", ".join(f"{key}: {value}" for key, value in json.loads(record.data).items() if value != "")
        return f"{record.at[:19]} {record.actor}: {record.action} {record.subject}  {data}"

    return listed(client.audit(subject, limit=AUDIT_LINES), line, "No record.")


def export(
    season: Annotated[int, typer.Argument(help="The season's number.", min=1)],
    table: Annotated[Exported, typer.Argument(help="The table.")],
    output: ToFile = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON Lines.")] = False,
    server: Server = "",
) -> None:
    """Export everything public about a season, table by table, as JSON Lines or CSV (docs/reference/data-export.md)."""
    with connect(server) as client:
        pieces = client.export(season, table.value, "csv" if as_csv else "jsonl")
        content = chain((next(pieces, b""),), pieces)  # a refusal arrives before the file is created
        try:
            if output is None and sys.stdout.isatty():  # a terminal would obey control characters
                decoder = getincrementaldecoder("utf-8")("replace")
                text = (decoder.decode(piece).replace("\r\n", "\n") for piece in content)
                sys.stdout.writelines(harmless(piece).plain for piece in text)
            elif output is None:
                sys.stdout.buffer.writelines(content)
                sys.stdout.buffer.flush()
            else:
                _save(content, output.resolve())
        except OSError as error:
            if output is None and isinstance(error, BrokenPipeError):
                raise  # the reader of our output closed it: end the command silently
            fail(f"{output or 'stdout'}: {error.strerror}")
    if output is not None:
        note(f"Written to {output}.")


def _save(pieces: Iterable[bytes], path: Path) -> None:
    """Write the whole file or nothing, so that a partial file never looks complete."""
    if path.exists() and not path.is_file():  # a device or a pipe, which must not be replaced by a file
        with path.open("wb") as target:
            target.writelines(pieces)
        return
    partial = path.with_name(f"{path.name}.part")
    try:
        with partial.open("wb") as target:
            target.writelines(pieces)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
