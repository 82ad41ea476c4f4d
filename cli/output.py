"""Commands as functions that return their output: JSON for programs, lines and tables for people.

A command is a function of its own arguments; `says` adds shared options (--json, and in `cli.server.client` --server
and --token) and shows the function's result.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import typer
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from deadheat.cli.console import harmless, say
from deadheat.league.records import Record

Row = TypeVar("Row")
Answer = Record | Mapping[str, Any]
Lines = RenderableType | Iterable[RenderableType]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: one object, or one per line.")]
ToFile = Annotated[Path | None, typer.Option("--output", "-o", help="Output file; default: the terminal.")]


@dataclass(frozen=True, slots=True)
class Output:
    """A command's output: the `answer` for programs, one object or one per line; the `text` for people, made only if
    shown; and the exit `code`.
    """

    answer: Answer | Iterable[Answer] = ()
    text: Lines = ()
    code: int = 0


Returned = Output | Iterable[Output]


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table: its heading, and the function that makes a row's cell. A `whole` cell stays on one line."""

    heading: str
    cell: Callable[[Row], object]
    right: bool = False
    whole: bool = False


Columns = tuple[Column[Row], ...]


def table(rows: Iterable[Row], columns: Columns[Row]) -> Table:
    """Make a table, one line per row. Cells other than `Text` may be untrusted, so they are shown without markup."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        justify = "right" if column.right else "left"
        made.add_column(column.heading, justify=justify, no_wrap=column.right or column.whole, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        cells = (column.cell(row) for column in columns)
        made.add_row(*(cell if isinstance(cell, Text) else harmless(str(cell)) for cell in cells))
    return made


def tabled(rows: Iterable[Row], columns: Columns[Row], nothing: str) -> Output:
    """Show answers as a table, or the sentence `nothing` if there are none."""

    def text() -> Iterator[RenderableType]:
        made = table(rows, columns)
        yield made if made.row_count else nothing

    return Output(rows, text())  # type: ignore[arg-type]  # rows of a command are answers


def listed(rows: Iterable[Row], lines: Callable[[Row], Lines], nothing: str) -> Output:
    """Show answers as some lines each, or the sentence `nothing` if there are no answers."""

    def text() -> Iterator[RenderableType]:
        empty = True
        for row in rows:
            empty = False
            yield from _parts(lines(row))
        if empty:
            yield nothing

    return Output(rows, text())  # type: ignore[arg-type]  # rows of a command are answers


def _parts(lines: Lines) -> Iterable[RenderableType]:
    return lines if isinstance(lines, Iterable) and not isinstance(lines, str) else (lines,)


def places(low: int, high: int) -> str:
    """Return the places from `low` to `high` as text: "2", or "3-6"."""
    return f"{low}-{high}" if low < high else f"{low}"


def as_object(answer: Answer) -> Mapping[str, Any]:
    """Return an answer as a JSON object, including fields that this client does not know."""
    return answer.said if isinstance(answer, Record) else answer


def print_json(answer: Answer) -> None:
    """Print one line of JSON, ASCII only, so that no name can send control characters to a terminal."""
    print(json.dumps(as_object(answer)), flush=True)


def show(returned: Returned, as_json: bool) -> None:
    for output in (returned,) if isinstance(returned, Output) else returned:
        if not as_json:
            for part in _parts(output.text):
                say(part)
        elif isinstance(output.answer, Record | Mapping):
            print_json(output.answer)
        else:
            for answer in output.answer:
                print_json(answer)
        if output.code:
            raise typer.Exit(output.code)


Verb = Callable[..., Returned]
Command = Callable[..., None]


def says(
    verb: Verb,
    options: Mapping[str, tuple[Any, Any]] | None = None,
    opened: Callable[..., AbstractContextManager[Any]] | None = None,
) -> Command:
    """Turn a function into a command with --json and more `options` (annotation and default by name).

    `opened`, called with these options, returns the function's first argument. A function that needs to know whether
    JSON is wanted has a parameter `as_json`.
    """
    own = list(inspect.signature(verb, eval_str=True).parameters.values())[1 if opened else 0 :]
    knows = any(parameter.name == "as_json" for parameter in own)
    shared = {**(options or {}), "as_json": (AsJson, False)}

    @wraps(verb)
    def command(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in shared}
        as_json: bool = chosen.pop("as_json")
        given |= {"as_json": as_json} if knows else {}
        if opened is None:
            show(verb(**given), as_json)
        else:
            with opened(**chosen) as first:
                show(verb(first, **given), as_json)

    kept = [parameter for parameter in own if parameter.name != "as_json"]
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, kind, annotation=of, default=default) for name, (of, default) in shared.items()]
    command.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
    return command


def commands(group: typer.Typer, made: Callable[[Verb], Command] = says) -> Callable[..., Callable[[Verb], Command]]:
    """Return `group.command` as a decorator of functions that `made` turns into commands."""
    return lambda *name, **more: lambda verb: group.command(*name, **more)(made(verb))
