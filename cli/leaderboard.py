"""`deadheat leaderboard`: a season's ranking as people read it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from cli.api_models import Leaderboard
from cli.client import AsJson, Server, print_json, visit
from cli.console import fail, out, plain


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(leaderboard)


def leaderboard(
    season: Annotated[int, typer.Argument(help="Its number; 0: the newest season.")] = 0,
    server: Server = "",
    as_json: AsJson = False,
) -> None:
    """Show a season's ranking."""
    with visit(server) as client:
        if not season:
            known = client.seasons()
            if not known:
                fail("the server has no season yet")
            season = known[0].id
        board = client.leaderboard(season)
    if as_json:
        print_json(board)
    else:
        out.print(standings_table(board))


def standings_table(board: Leaderboard) -> Table:
    """A ranking as people read it, 80 columns wide; `places` are the 95 % interval of the place."""
    table = Table(title=f"Season {board.season_id}", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    divided = len({row.division for row in board.rows}) > 1
    headings = ("#", "places", "bot", "author", "rating", "games", "W/D/L", "faults")
    for heading in ("division", *headings) if divided else headings:
        table.add_column(heading, justify="left" if heading in ("bot", "author") else "right", no_wrap=True)
    for row in board.rows:
        table.add_row(
            *([str(row.division)] if divided else []),
            f"{row.rank}{'=' if row.tied else ''}",
            f"{row.rank_low}-{row.rank_high}" if row.rank_low < row.rank_high else f"{row.rank_low}",
            f"{plain(row.bot)} v{row.version}",
            plain(f"{row.team} (team)" if row.team else row.author),
            f"{row.elo:.0f} ± {(row.high - row.low) / 2:.0f}",
            str(row.games),
            f"{row.wins}/{row.draws}/{row.losses}",
            str(row.timeouts + row.other_faults),
        )
    return table
