"""Run a season from the terminal: `deadheat season ...`, over a server's HTTP API.

Settings are given as NAME=VALUE, with the names of the API; `league.terms` says what they mean.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from cli.author.entering import find_entry
from cli.author.leaderboard import standings_table
from cli.console import err, fail, out, plain
from cli.output import AsJson, print_json, print_json_lines
from cli.server.client import Server, Token, connect, visit
from engine.figures import counted
from league.records.entries import Entry
from league.records.seasons import Division, Season, SeasonDetail
from league.states import SEASON_STEPS, SeasonState, SeasonStep, dated_steps
from league.terms import TERMS, Term

Number = Annotated[int, typer.Argument(metavar="SEASON", help="The season's number.", min=1)]
Settings = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=VALUE]...", help="See `deadheat season settings`; `none` clears a setting."),
]

group = typer.Typer(no_args_is_help=True, help="Create and run seasons (for organisers).")


def register(app: typer.Typer) -> None:
    """Add this module's verbs to `app`."""
    app.add_typer(group, name="season")


@group.command()
def create(
    name: Annotated[str, typer.Argument(help="Its name.")],
    settings: Settings = None,
    game: Annotated[str, typer.Option(help="The game; not needed with --from.")] = "",
    previous: Annotated[int, typer.Option("--from", help="Continue this published season; 0: none.")] = 0,
    divisions: Annotated[str, typer.Option(help="Highest first, e.g. First:8,Second:8,Third")] = "",
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Create a season. It starts when you open it, or at its date."""
    body = {"name": name, **given(settings)}
    if game:
        body["game"] = game
    if previous:
        body["previous_id"] = previous
    if divisions:
        body["divisions"] = [_division(text) for text in divisions.split(",")]
    with connect(server, token) as client:
        made = client.create_season(body)
    if as_json:
        print_json(made)
    else:
        out.print(f"Season {made.id} is {plain(made.state)}. `deadheat season open {made.id}` opens it.")
        _show_rounded(made)


@group.command(name="list")
def list_seasons(server: Server = "", as_json: AsJson = False) -> None:
    """List all seasons, newest first."""
    with visit(server) as client:
        found = client.seasons()
    if as_json:
        print_json_lines(found)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("season", "name", "game", "state", "bots", "next"):
        table.add_column(heading, justify="right" if heading in {"season", "bots"} else "left")
    for season in found:
        entries = sum(division.entries for division in season.divisions)
        cells = (season.id, season.name, season.game, _state(season), entries, _next_date(season))
        table.add_row(*(plain(str(cell)) for cell in cells))
    out.print(table if found else "There are no seasons yet.")


@group.command()
def show(season: Number, server: Server = "", as_json: AsJson = False) -> None:
    """Show a season's state, settings and standings."""
    with visit(server) as client:
        found = client.season(season)
        board = None if as_json else client.leaderboard(season)
    if board is None:
        print_json(found)
        return
    progress = found.progress
    out.print(f"[bold]{plain(found.name)}[/], {plain(found.game)}: {plain(_state(found))}")
    uncounted = progress.done - progress.counting
    out.print(
        f"{counted(progress.entries, 'bot')}, {counted(progress.counting, 'match', 'matches')} played, "
        f"{progress.scheduled} to come, "
        + (f"{uncounted} that {'does' if uncounted == 1 else 'do'} not count, " if uncounted else "")
        + (f"{progress.held} held for an organiser, " if progress.held else "")
        + f"{progress.abandoned} abandoned"
    )
    for line in _finals(found):
        out.print(f"  {plain(line)}", soft_wrap=True)
    _show_rounded(found)
    if found.waits_for:
        out.print(f"It is due to close but waits for {plain(' and '.join(found.waits_for))}.", soft_wrap=True)
    for division in found.divisions if len(found.divisions) > 1 else []:
        out.print(_division_line(division))
    sent = found.said
    for term in TERMS.values():
        if sent.get(term.name, term.default) != term.default:
            out.print(f"  {term.name}={plain(_shown(sent[term.name]))}")
    if found.log_sha256 and found.published_at:
        out.print(f"Final standings of {_instant(found.published_at)}, log {plain(found.log_sha256)}", soft_wrap=True)
    out.print(standings_table(board))


@group.command()
def settings(as_json: AsJson = False) -> None:
    """List all settings with their defaults and until when you can change them."""
    if as_json:
        for term in TERMS.values():
            until = term.setting.until.value
            print_json({"name": term.name, "default": term.default, "changes_until": until, "meaning": _meaning(term)})
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("setting", "default", "changes until", ""):
        table.add_column(heading, overflow="fold")
    for term in TERMS.values():
        table.add_row(term.name, _shown(term.default), term.setting.until.value, plain(_meaning(term)))
    out.print(table)
    out.print("Dates are ISO 8601; without a zone, this machine's time zone applies.")


@group.command()
def edit(
    season: Number,
    settings: Settings = None,
    divisions: Annotated[
        str | None, typer.Option(help="Until it opens: highest first, e.g. First:8,Second; none: a single division.")
    ] = None,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Change a season's settings, its divisions, or its name."""
    body = given(settings)
    if divisions is not None:
        body["divisions"] = [] if divisions == "none" else [_division(text) for text in divisions.split(",")]
    if not body:
        fail("give NAME=VALUE or --divisions to change something", 2)
    _change(server, token, season, body, as_json)


def _add_step(state: SeasonState, step: SeasonStep) -> None:
    """Add the command that brings a season to a state."""

    @group.command(name=step.command, help=step.meaning)
    def go(season: Number, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
        _change(server, token, season, {"state": state.value}, as_json)


for _reached, _by in SEASON_STEPS.items():
    if _reached is not SeasonState.CLOSED:  # see `close`, which can be forced
        _add_step(_reached, _by)


@group.command()
def close(
    season: Number,
    force: Annotated[bool, typer.Option("--force", help="Close despite open appeals, matches or finals.")] = False,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Close a season for good. Its standings are published when what runs has ended.

    While appeals, matches or finals are open this needs --force; the audit log then says what was cut off.
    """
    _change(server, token, season, {"state": "closed", "force": force}, as_json)


@group.command()
def invite(
    season: Number,
    authors: Annotated[list[str] | None, typer.Argument(help="Authors to invite; none: show the list.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from the list.")] = False,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Invite authors to a season with admission=invited, or show the list."""
    with connect(server, token) as client:
        for author in authors or []:
            (client.uninvite_from_season if remove else client.invite_to_season)(season, author)
        listed = client.invited(season)
    if as_json:
        print_json({"invited": listed})
    else:
        out.print(f"Invited to season {season}: {plain(', '.join(listed)) or 'nobody'}")


@group.command()
def entries(season: Number, server: Server = "", as_json: AsJson = False) -> None:
    """List a season's entries with their versions, and who is out and why."""
    with visit(server) as client:
        found = list(client.entries(season))
    if as_json:
        print_json_lines(found)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("bot", "name", "author", "division", "version", ""):
        table.add_column(heading, justify="right" if heading in {"bot", "division"} else "left", overflow="fold")
    for entry in found:
        author = f"{entry.author}, team {entry.team}" if entry.team else entry.author
        cells = (entry.bot_id, entry.bot, author, entry.division, _playing(entry), _out(entry))
        table.add_row(*(plain(str(cell)) for cell in cells))
    out.print(table if found else f"No bot is entered in season {season}.")


@group.command()
def assign(
    season: Number,
    division: Annotated[int, typer.Argument(help="The division's number; 1 is the highest.", min=1)],
    bots: Annotated[list[str], typer.Argument(help="Bots, by name (NAME, AUTHOR/NAME) or number.")],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Move bots to a division of a season."""
    with connect(server, token) as client:
        for bot in bots:
            entry = client.assign_division(season, find_entry(client, season, bot).bot_id, division)
            if as_json:
                print_json(entry)
            else:
                out.print(f"{plain(entry.bot)} plays in division {entry.division}.")


def _meaning(term: Term) -> str:
    words = f" One of: {', '.join(term.kind)}." if issubclass(term.kind, StrEnum) else ""
    return term.meaning.replace("null", "none") + words


def given(settings: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE as the API takes it; ends the command where there is no such setting."""
    body = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals or name not in {"name", *TERMS}:
            fail(f"{setting!r} is not a setting; `deadheat season settings` lists them", 2)
        body[name] = _value(name, value)
    return body


def _value(name: str, text: str) -> Any:
    if name == "name":
        return text
    term = TERMS[name]
    if text.lower() in {"none", ""}:
        return "none" if "none" in term.setting.options else None
    if term.kind is datetime:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            fail(f"{name}: {text!r} is not a date; write for example 2026-12-01T18:00 or 2026-12-01T18:00+01:00", 2)
        return (date if date.tzinfo else date.astimezone()).isoformat()
    if term.kind is list:
        return [word.strip() for word in text.split(",")]
    if text.lower() in {"true", "yes", "false", "no"}:
        return text.lower() in {"true", "yes"}
    return int(text) if text.isascii() and text.isdigit() else text


def _division(text: str) -> dict[str, Any]:
    name, colon, size = text.strip().partition(":")
    if colon and not (size.isascii() and size.isdigit()):
        fail(f"{text!r} is not a division; write for example First:8 or Last", 2)
    return {"name": name, "size": int(size) if colon else None}


def _division_line(division: Division) -> str:
    room = counted(division.entries, "bot") if division.size is None else f"{division.entries} of {division.size} bots"
    return f"  {division.number}. {plain(division.name)}: {room}"


def _show_rounded(season: Season) -> None:
    """What is played otherwise than it is set."""
    if season.rounded:
        out.print(plain(season.rounded), soft_wrap=True)


def _change(server: str, token: str, season: int, body: dict[str, Any], as_json: bool) -> None:
    with connect(server, token) as client:
        changed = client.change_season(season, body)
    if as_json:
        print_json(changed)
        return
    out.print(f"Season {season} is {plain(changed.state)}.")
    sent = changed.said
    for name in body:
        if name not in {"state", "divisions", "force"}:
            out.print(f"  {name}={plain(_shown(sent.get(name)))}")
    if not body.keys().isdisjoint({"seats", "series_length", "games_per_pair", "finals", "finals_games"}):
        _show_rounded(changed)
    for division in changed.divisions if "divisions" in body else []:
        out.print(_division_line(division))
    if coming := _next_date(changed):
        err.print(f"Next by date: {coming}")


def _playing(entry: Entry) -> str:
    """Its version, and what newer ones do."""
    if not entry.follows:
        return f"{entry.version}, no other"
    at_gate = f", {entry.challenger} at the gate" if entry.challenger else ", gate"
    return f"{entry.version}{at_gate if entry.gated else ''}"


def _out(entry: Entry) -> str:
    if entry.absence is None:
        return ""
    return f"{entry.absence}: {entry.absence_reason}" if entry.absence_reason else f"{entry.absence} by its author"


def _state(season: Season) -> str:
    """In words that tell more than the state."""
    if season.state == "closed":
        return "closed, standings published" if season.published_at else "closed, last matches in progress"
    if season.state == "finals":
        return "finals, over" if season.finals_done_at else "finals"
    return season.state


def _finals(season: SeasonDetail) -> list[str]:
    """How far the finals are, a line for each division."""
    names = {division.number: division.name for division in season.divisions}
    lines = []
    for part in season.finals_progress:
        where = f"{names[part.division]}: " if len(names) > 1 else ""
        line = f"{where}{counted(part.finalists, 'finalist')}, round {part.round} of {part.rounds}, "
        line += f"{part.finished} of {part.series} series played"
        if part.extra_games or part.extra_left:
            line += f"; {counted(part.extra_games, 'extra game')}, {part.extra_left} left"
        lines.append(f"Finals: {line}")
    return lines


def _next_date(season: Season) -> str:
    """What happens next by date."""
    known = season.state in tuple(SeasonState)  # a newer server may know more of them
    for _, setting, date in dated_steps(season, season.state if known else SeasonState.SCHEDULED):
        return f"{setting.removesuffix('_at')} {_instant(date)}"
    return ""


def _instant(date: datetime) -> str:
    return date.astimezone().strftime("%Y-%m-%d %H:%M %Z")


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else str(value)
