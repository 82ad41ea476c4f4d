"""`deadheat season ...`: runs a season from the terminal, over a server's HTTP API.

Settings have the form NAME=VALUE, with the API's names; `league.terms` explains them.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from deadheat.cli.author.bots import find_entry
from deadheat.cli.author.contests import Number as Contested
from deadheat.cli.author.contests import evaluation
from deadheat.cli.author.results import standings_table
from deadheat.cli.console import USAGE, fail, harmless, note, number_in, renamed
from deadheat.cli.organiser.archive import archive
from deadheat.cli.organiser.archive_checks import verify
from deadheat.cli.organiser.season_file import Number, apply, export, forecast, instant, shown
from deadheat.cli.output import Column, Columns, Output, commands, says, table, tabled
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks, visits
from deadheat.engine.figures import counted
from deadheat.league.records.entries import Entry
from deadheat.league.records.seasons import Division, Season, SeasonDetail
from deadheat.league.states import SEASON_STEPS, SeasonState, SeasonStep, dated_steps
from deadheat.league.terms import TERMS, Term
from deadheat.league.timetable import MOST_MATCHES, MOST_ROUNDS

Settings = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=VALUE]...", help="See `deadheat season settings`; `none` clears a setting."),
]

group = typer.Typer(no_args_is_help=True, help="Create and run seasons (for organisers).")
asked = commands(group, asks)


@asked()
def create(
    client: Client,
    name: Annotated[str, typer.Argument(help="Its name.")],
    settings: Settings = None,
    game: Annotated[str, typer.Option(help="The game; not needed with --from.")] = "",
    previous: Annotated[int, typer.Option("--from", help="Continue this published season; 0: none.")] = 0,
    divisions: Annotated[str, typer.Option(help="Highest first, e.g. First:8,Second:8,Third")] = "",
) -> Output:
    """Create a season. It starts when you open it, or on its date."""
    body = {"name": name, **_given(settings)}
    if game:
        body["game"] = game
    if previous:
        body["previous_id"] = previous
    if divisions:
        body["divisions"] = [_division(text) for text in divisions.split(",")]
    made = client.create_season(body)
    sentence = f"Season {made.id} is {made.state}. `deadheat season open {made.id}` opens it."
    return Output(made, [sentence, *_rounded(made)])


@group.command(name="list")
@visits
def list_seasons(client: Client) -> Output:
    """List all seasons, newest first."""
    return tabled(client.seasons(), SEASONS, "There are no seasons yet.")


@group.command()
@visits
def show(
    client: Client,
    season: Number,
    file: Annotated[bool, typer.Option("--file", help="Show it as the file that declares it.")] = False,
) -> Output:
    """Show a season's state, settings and standings."""
    if file:
        text = client.download(f"/v1/seasons/{season}/season.toml").decode()
        return Output({"season_id": season, "document": text}, text.rstrip("\n"))
    record = client.season(season)
    return Output(record, _shown_season(client, record))


def _shown_season(client: Client, record: SeasonDetail) -> Iterator[RenderableType]:
    board, progress, sent = client.leaderboard(record.id), record.progress, record.said
    yield Text.assemble(harmless(record.name, "bold"), harmless(f", {record.game}: {_state(record)}"))
    uncounted = progress.done - progress.counting
    yield (
        f"{counted(progress.entries, 'bot')}, {counted(progress.counting, 'match', 'matches')} played, "
        f"{progress.scheduled} to come, "
        + (f"{uncounted} that {'does' if uncounted == 1 else 'do'} not count, " if uncounted else "")
        + (f"{progress.held} held for an organiser, " if progress.held else "")
        + f"{progress.abandoned} abandoned"
    )
    yield from _finals(record)
    yield from _rounded(record)
    if record.waits_for:
        yield f"It is due to close but waits for {' and '.join(record.waits_for)}."
    if len(record.divisions) > 1:
        yield from map(_division_line, record.divisions)
    for term in TERMS.values():
        if sent.get(term.name, term.default) != term.default:
            yield f"  {term.name}={shown(sent[term.name])}"
    if record.log_sha256 and record.published_at:
        yield f"Final standings of {instant(record.published_at)}, log {record.log_sha256}"
    yield standings_table(board)


@asked(hidden=True)
def evaluate(
    client: Client,
    season: Number,
    rounds: Annotated[int, typer.Option(min=0, max=MOST_ROUNDS, help="Rounds of a Swiss; 0: a round robin.")] = 0,
    matches: Annotated[int, typer.Option(min=1, max=MOST_MATCHES, help="Matches of each pair in a round.")] = 2,
    name: Annotated[str, typer.Option(help="Its name.")] = "By hand",
    counts: Annotated[bool, typer.Option("--counts", help="Its matches count in the ranking, too.")] = False,
) -> Output:
    """Renamed: `deadheat contest start --season N`."""
    renamed(f"contest start --season {season}")
    return evaluation(client, season, rounds, matches, name, counts)


@asked("cancel-evaluation", hidden=True)
def cancel_evaluation(client: Client, number: Contested) -> Output:
    """Renamed: `deadheat contest cancel`."""
    renamed(f"contest cancel {number}")
    return Output(client.cancel_evaluation(number), f"Evaluation {number} is cancelled.")


@asked("resume-evaluation", hidden=True)
def resume_evaluation(client: Client, number: Contested) -> Output:
    """Renamed: `deadheat contest resume`."""
    renamed(f"contest resume {number}")
    return Output(client.resume_evaluation(number), f"Evaluation {number} goes on.")


@group.command()
@says
def settings() -> Output:
    """List all settings with their defaults and until when you can change them."""
    answers = (
        {"name": term.name, "default": term.default, "changes_until": term.setting.until.value, "meaning": term.words}
        for term in TERMS.values()
    )
    zone = "Dates are ISO 8601; without a zone, this machine's time zone applies."
    return Output(answers, [table(TERMS.values(), SETTINGS), zone])


@asked()
def edit(
    client: Client,
    season: Number,
    settings: Settings = None,
    divisions: Annotated[
        str | None, typer.Option(help="Until it opens: highest first, e.g. First:8,Second; none: a single division.")
    ] = None,
) -> Output:
    """Change a season's settings, its divisions, or its name."""
    body = _given(settings)
    if divisions is not None:
        body["divisions"] = [] if divisions == "none" else [_division(text) for text in divisions.split(",")]
    if not body:
        fail("give NAME=VALUE or --divisions to change something", USAGE)
    return _change(client, season, body)


asked()(apply)
asked()(export)
asked()(forecast)
asked()(archive)
group.command()(says(verify))


def _add_step(state: SeasonState, step: SeasonStep) -> None:
    @asked(name=step.command, help=step.meaning)
    def go(client: Client, season: Number) -> Output:
        return _change(client, season, {"state": state.value})


for _reached, _by in SEASON_STEPS.items():
    if _reached is not SeasonState.CLOSED:  # see `close`, which accepts --force
        _add_step(_reached, _by)


@asked()
def close(
    client: Client,
    season: Number,
    force: Annotated[bool, typer.Option("--force", help="Close despite open appeals, matches or finals.")] = False,
) -> Output:
    """Close a season for good. Its standings are published once the matches in progress have ended.

    While appeals, matches or finals are open this needs --force; the audit log then says what was cut off.
    """
    return _change(client, season, {"state": "closed", "force": force})


@asked()
def invite(
    client: Client,
    season: Number,
    authors: Annotated[list[str] | None, typer.Argument(help="Authors to invite; none: show the list.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from the list.")] = False,
) -> Output:
    """Invite authors to a season with admission=invited, or show the list."""
    for author in authors or []:
        (client.uninvite_from_season if remove else client.invite_to_season)(season, author)
    invited = client.invited(season)
    return Output({"invited": invited}, f"Invited to season {season}: {', '.join(invited) or 'nobody'}")


@group.command()
@visits
def entries(client: Client, season: Number) -> Output:
    """List a season's entries with their versions, and who is out and why."""
    return tabled(client.entries(season), ENTRIES, f"No bot is entered in season {season}.")


@asked()
def assign(
    client: Client,
    season: Number,
    division: Annotated[int, typer.Argument(help="The division's number; 1 is the highest.", min=1)],
    bots: Annotated[list[str], typer.Argument(help="Bots, by name (NAME, AUTHOR/NAME) or number.")],
) -> Iterator[Output]:
    """Move bots to a division of a season."""
    for bot in bots:
        entry = client.assign_division(season, find_entry(client, season, bot).bot_id, division)
        yield Output(entry, f"{entry.bot} plays in division {entry.division}.")


def _given(settings: list[str] | None) -> dict[str, Any]:
    """Parse NAME=VALUE for the API. End the command if there is no such setting."""
    body = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals or name not in {"name", *TERMS}:
            fail(f"{setting!r} is not a setting; `deadheat season settings` lists them", USAGE)
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
            fail(f"{name}: {text!r} is not a date such as 2026-12-01T18:00 or 2026-12-01T18:00+01:00", USAGE)
        return (date if date.tzinfo else date.astimezone()).isoformat()
    if term.kind is list:
        return [word.strip() for word in text.split(",")]
    if text.lower() in {"true", "yes", "false", "no"}:
        return text.lower() in {"true", "yes"}
    return text if (number := number_in(text)) is None else number


def _division(text: str) -> dict[str, Any]:
    name, colon, size = text.strip().partition(":")
    if colon and number_in(size) is None:
        fail(f"{text!r} is not a division such as First:8 or Last", USAGE)
    return {"name": name, "size": number_in(size)}


def _division_line(division: Division) -> str:
    room = counted(division.entries, "bot") if division.size is None else f"{division.entries} of {division.size} bots"
    return f"  {division.number}. {division.name}: {room}"


def _rounded(season: Season) -> list[str]:
    return [season.rounded] if season.rounded else []


def _change(client: Client, season: int, body: dict[str, Any]) -> Output:
    changed = client.change_season(season, body)
    return Output(changed, _changed(changed, body))


def _changed(changed: Season, body: dict[str, Any]) -> Iterator[str]:
    yield f"Season {changed.id} is {changed.state}."
    settings = [name for name in body if name not in {"state", "divisions", "force"}]
    for name in settings:
        yield f"  {name}={shown(changed.said.get(name))}"
    if settings:
        yield from _rounded(changed)
    if "divisions" in body:
        yield from map(_division_line, changed.divisions)
    if coming := _next_date(changed):
        note(f"Next by date: {coming}")


def _playing(entry: Entry) -> str:
    if not entry.follows:
        return f"{entry.version}, no other"
    at_gate = f", {entry.challenger} at the gate" if entry.challenger else ", gate"
    return f"{entry.version}{at_gate if entry.gated else ''}"


def _out(entry: Entry) -> str:
    if entry.absence is None:
        if entry.rests:
            return f"rests: {entry.rests}"
        return "too few points against the panel yet" if entry.waits_for_panel else ""
    return f"{entry.absence}: {entry.absence_reason}" if entry.absence_reason else f"{entry.absence} by its author"


def _state(season: Season) -> str:
    if season.state == "closed":
        return "closed, standings published" if season.published_at else "closed, last matches in progress"
    if season.state == "finals":
        return "finals, over" if season.finals_done_at else "finals"
    return season.state


def _finals(season: SeasonDetail) -> Iterator[str]:
    """Report the progress of the finals, one line per division or stage."""
    names = {division.number: division.name for division in season.divisions}
    for part in season.finals_progress:
        where = f"{names[part.division]}: " if len(names) > 1 else ""
        line = f"{where}{counted(part.finalists, 'finalist')}, round {part.round} of {part.rounds}, "
        line += f"{part.finished} of {part.series} series played"
        if part.extra_games or part.extra_left:
            line += f"; {counted(part.extra_games, 'extra game')}, {part.extra_left} left"
        yield f"  Finals: {line}"
    for stage in season.stage_progress:
        how = f"{stage.state}, evaluation {stage.evaluation_id}" if stage.state else "not begun"
        left = ", ".join(bot.bot for bot in stage.first) + (", ..." if stage.left > len(stage.first) else "")
        yield f"  Stage {stage.number} ({stage.words}): {how}{f'; left: {left}' if left else ''}"


def _next_date(season: Season) -> str:
    known = season.state in tuple(SeasonState)  # a newer server may have more states
    for _, setting, date in dated_steps(season, season.state if known else SeasonState.SCHEDULED):
        return f"{setting.removesuffix('_at')} {instant(date)}"
    return ""


SEASONS: Columns[Season] = (
    Column("season", lambda season: season.id, right=True),
    Column("name", lambda season: season.name),
    Column("game", lambda season: season.game),
    Column("state", _state),
    Column("bots", lambda season: sum(division.entries for division in season.divisions), right=True),
    Column("next", _next_date),
)

ENTRIES: Columns[Entry] = (
    Column("bot", lambda entry: entry.bot_id, right=True),
    Column("name", lambda entry: entry.bot),
    Column("author", lambda entry: f"{entry.author}, team {entry.team}" if entry.team else entry.author),
    Column("division", lambda entry: entry.division, right=True),
    Column("version", _playing),
    Column("", _out),
)

SETTINGS: Columns[Term] = (
    Column("setting", lambda term: term.name),
    Column("default", lambda term: shown(term.default)),
    Column("changes until", lambda term: term.setting.until.value),
    Column("", lambda term: term.words),
)
