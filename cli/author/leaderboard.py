"""`deadheat leaderboard`: a season's ranking as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich import box
from rich.console import JustifyMethod, RenderableType
from rich.table import Table

from deadheat.cli.console import USAGE, fail, out, plain
from deadheat.cli.output import AsJson, Output, places, show
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Server, Token, own_name, visit
from deadheat.league.records.entries import Entry
from deadheat.league.records.rankings import Leaderboard, Standing, tally


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
    with visit(server) as client:
        board = client.leaderboard(season or named or newest_with_results(client, own_name(server, token)))
        show(Output(board, _shown(client, board)), as_json)


def _shown(client: Client, board: Leaderboard) -> Iterator[RenderableType]:
    yield standings_table(board)
    yield from absent(client.entries(board.season_id), board)


def newest_with_results(client: Client, author: str) -> int:
    """Return the newest season with results that the author ("": nobody) is in; else any with results, else any."""
    known = client.seasons(author, results=True) if author else []
    known = known or client.seasons(results=True) or client.seasons()
    return known[0].id if known else fail("the server has no seasons yet")


def absent(entries: Iterable[Entry], board: Leaderboard) -> list[str]:
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
SPARED = ("W/D/L", "faults", "places", "div", "games")
"""The columns that make room for names in a narrow terminal, the first first."""


def standings_table(board: Leaderboard) -> Table:
    """Make a table of a ranking. `places` is the 95 % interval of the place. In a narrow terminal, names are cut, and
    before too little is left of them, columns are left out (`SPARED`).
    """
    rows = [dict(zip(HEADINGS, _cells(row), strict=True)) for row in board.rows]
    widths = {heading: max(map(len, (heading, *(row[heading] for row in rows)))) for heading in HEADINGS}
    if len({row.division for row in board.rows}) < 2:
        del widths["div"]
    names, spared = widths["bot"] + widths["author"], iter(SPARED)
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
