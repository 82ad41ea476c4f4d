"""A season as a file: `deadheat season apply`, `export` and `forecast`. docs/reference/season-file.md has the format.

The file is sent unchanged, and the server reads it. So all mistakes in it are reported at once, including those that
only the league can see, and a command that is older than its server does not refuse what it does not know.
"""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from deadheat.cli.console import USAGE, cannot, fail, note, say
from deadheat.cli.output import Column, Columns, Output, ToFile, table
from deadheat.cli.server.api_client import Client
from deadheat.engine.figures import away, plural
from deadheat.league.records.seasons import Declared, DeclaredChange, DeclaredDate, Forecast, ForecastEvaluation
from deadheat.league.season_file import MAX_CHARACTERS

Number = Annotated[int, typer.Argument(metavar="SEASON", help="The season's number.", min=1)]
Expected = Annotated[int, typer.Option(help="How many bots the forecast assumes; 0: those that have entered.", min=0)]


def apply(
    client: Client,
    file: Annotated[
        Path, typer.Argument(help="The season's file (docs/reference/season-file.md); -: stdin.", allow_dash=True)
    ],
    season: Annotated[int, typer.Option(help="Change this season; 0: create one.", min=0)] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply it without asking.")] = False,
    bots: Expected = 0,
    as_json: bool = False,
) -> Output:
    """Create or change a season as a file declares it: settings, dates, divisions, who may enter.

    Before you confirm, you see what differs, the timetable in your time zone and whether the machines suffice. What the
    file leaves out gets its default. Applying a file twice changes nothing.
    """
    text = _read(file)
    seen = client.apply_season_file(text, season, preview=True, bots=bots or None)
    if dry_run or not seen.changes:
        return Output(seen, _shown_file(seen, season))
    if not yes:
        if not as_json:
            say(*_shown_file(seen, season))
        if not sys.stdin.isatty():
            fail("there is no terminal to ask: pass --yes to apply this, or --dry-run to only see it", USAGE)
        if not typer.confirm(f"Change season {season}?" if season else "Create this season?", err=True):
            fail("nothing was changed")
    done = client.apply_season_file(text, season)
    shows = f"deadheat season show {done.season_id}"
    sentence = f"Season {done.season_id} is {'changed' if season else 'created'}. `{shows}` shows it."
    return Output(done, [*(_shown_file(seen, season) if yes else ()), sentence])


def export(client: Client, season: Number, output: ToFile = None) -> Output:
    """Write a season as a file. Edit it, then change the season with `season apply FILE --season SEASON`."""
    text = client.season_file(season)
    if output is None:
        return Output({"season_id": season, "document": text}, text.rstrip("\n"))
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        cannot(f"write {output}", error)
    note(f"Written to {output}.")
    return Output({"season_id": season, "file": str(output)})


def forecast(client: Client, season: Number, bots: Expected = 0) -> Output:
    """Say whether the machines suffice for a season's timetable, and when each evaluation will be done."""
    estimate = client.season_forecast(season, bots or None)
    return Output(estimate, [*_forecast(estimate), *(f"Note: {warning}" for warning in estimate.warnings)])


def shown(value: Any) -> str:
    """Return a setting's value as written in NAME=VALUE."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def instant(date: datetime) -> str:
    """Return a date in this machine's time zone, to the minute."""
    return date.astimezone().strftime("%Y-%m-%d %H:%M %Z")


def _read(file: Path) -> str:
    try:
        with nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as source:
            content = source.read(4 * MAX_CHARACTERS + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        cannot(f"read {file}", error, USAGE)
    except UnicodeDecodeError:
        fail(f"{file} is not UTF-8", USAGE)
    if len(text) > MAX_CHARACTERS:
        fail(f"{file} has more than {MAX_CHARACTERS} characters", USAGE)
    return text


def _shown_file(declared: Declared, season: int) -> Iterator[RenderableType]:
    if declared.changes:
        yield table(declared.changes, _changes("now", "then") if season else _changes("default", "in the file"))
    now = datetime.now(UTC)
    timetable: Columns[DeclaredDate] = (
        Column("step", lambda date: date.label),
        Column("in your time zone", lambda date: instant(date.at) if date.at else date.otherwise, whole=True),
        Column("", lambda date: away((date.at - now).total_seconds()) if date.at else ""),
    )
    yield table(declared.timetable, timetable)
    yield from _forecast(declared.forecast)
    for warning in declared.warnings:
        yield f"Note: {warning}"
    if not declared.changes:
        yield "There is nothing to change."


def _forecast(expected: Forecast) -> Iterator[RenderableType]:
    yield f"Forecast: {expected.words}."
    if expected.panel_matches:
        yield f"Each version plays {expected.panel_matches} matches against the panel: {expected.panel_seconds:.0f} s."
    if expected.ladder_done_at:
        left = plural(expected.ladder_matches or 0, "match", "matches")
        yield f"The ladder still has {left}; the last ends {instant(expected.ladder_done_at)}."
    if expected.evaluations:
        yield table(expected.evaluations[:MOST_SHOWN], FORESEEN)
        if (more := len(expected.evaluations) - MOST_SHOWN) > 0:
            yield f"... and {more} more."
    if expected.finals_done_at:
        left = plural(expected.finals_matches, "match", "matches")
        yield f"The finals have {left}; the last ends {instant(expected.finals_done_at)}."


def _value(change: DeclaredChange, value: Any) -> str:
    if value is not None and change.path.startswith("dates."):
        return instant(datetime.fromisoformat(value))
    return shown(value)


def _changes(now: str, then: str) -> Columns[DeclaredChange]:
    return (
        Column("key", lambda change: change.path),
        Column(now, lambda change: _value(change, change.now)),
        Column(then, lambda change: _value(change, change.then)),
    )


MOST_SHOWN = 12
"""The most evaluations that a forecast lists; --json has them all."""

FORESEEN: Columns[ForecastEvaluation] = (
    Column("evaluation", lambda evaluation: evaluation.name),
    Column("due", lambda evaluation: instant(evaluation.due_at), whole=True),
    Column("matches", lambda evaluation: evaluation.matches, right=True),
    Column("done", lambda evaluation: f"{evaluation.done_at.astimezone():%H:%M:%S}", whole=True),
    Column("", lambda evaluation: "late" if evaluation.late else ""),
)
