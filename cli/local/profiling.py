"""Where a Python bot's own time goes, by function: `play --profile`, and `explain` of such a match.

The profiler slows a bot down, most where it calls small functions. So the profiled seat has no deadlines, and its times
do not count for anything else.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from deadheat.cli.console import short
from deadheat.cli.local import profiled_bot
from deadheat.cli.local.bots import BadBot
from deadheat.cli.local.transcripts import STDERR, beside
from deadheat.cli.output import Column, Columns, table
from deadheat.engine.core import NS_PER_S, Message, Reply, Seat, Transport
from deadheat.engine.figures import duration
from deadheat.sandbox.box import Program

PROFILE = "profile"
"""The ending of the file beside a transcript."""

HEADING = "Where its CPU time went, under the profiler: longer than usual, and not judged"
PATIENCE_NS = 3600 * NS_PER_S
SHOWN = 12
PLACE_WIDTH = 34


@dataclass(frozen=True, slots=True)
class Spent:
    """A function's calls, and its CPU seconds alone and with all that it called."""

    place: str
    calls: int
    own_s: float
    total_s: float


def total(rows: Iterable[Spent]) -> list[Spent]:
    """Add up rows of the same function, and return those with the most time of their own first."""
    sums: dict[str, Spent] = {}
    for row in rows:
        known = sums.get(row.place, Spent(row.place, 0, 0.0, 0.0))
        counts = known.calls + row.calls, known.own_s + row.own_s, known.total_s + row.total_s
        sums[row.place] = Spent(row.place, *counts)
    return sorted(sums.values(), key=lambda row: -row.own_s)


def profiled(program: Program) -> Program:
    """Return a Python bot's program under the profiler. Raises BadBot."""
    interpreter, *words = program.command
    if not Path(interpreter).name.startswith(("python", "pypy")):
        raise BadBot(f"--profile knows only Python, and {program.label} is started by {interpreter}")
    source = Path(profiled_bot.__file__)
    shutil.copy(source, program.directory / source.name)
    return replace(program, command=(interpreter, source.name, *words))


def keep(transcript: Path, seat: Seat) -> list[Spent]:
    """Move the profile in a seat's stderr to a file beside the transcript, and return it; empty if there is none."""
    stderr, file = beside(transcript, seat, STDERR), beside(transcript, seat, PROFILE)
    file.unlink(missing_ok=True)
    if not stderr.is_file():
        return []
    text, mark, rest = stderr.read_bytes().rpartition(f"\n{profiled_bot.MARK}".encode())
    if not mark:
        return []
    line, _, after = rest.partition(b"\n")
    file.write_bytes(line)
    stderr.write_bytes(text + after)
    if not text + after:
        stderr.unlink()
    return read(transcript, seat) or []


def read(transcript: Path, seat: Seat) -> list[Spent] | None:
    """Return the profile beside a transcript, or None."""
    try:
        rows = json.loads(beside(transcript, seat, PROFILE).read_bytes())
        return [
            Spent(f"{file}:{line} {name}" if file else str(name), int(calls), float(own), float(total))
            for file, line, name, calls, own, total in rows
        ]
    except (OSError, ValueError, TypeError):
        return None


def shown(rows: Sequence[Spent]) -> Iterator[RenderableType]:
    """Yield the functions that used most, as a table."""
    everything = sum(row.own_s for row in rows) or 1.0
    columns: Columns[Spent] = (
        Column("own", lambda row: duration(round(row.own_s * NS_PER_S)), right=True),
        Column("share", lambda row: f"{100 * row.own_s / everything:.1f} %", right=True),
        Column("with calls", lambda row: duration(round(row.total_s * NS_PER_S)), right=True),
        Column("calls", lambda row: f"{row.calls:,}", right=True),
        Column("function", lambda row: short(row.place, PLACE_WIDTH), whole=True),
    )
    yield Text(HEADING, "bold")
    yield table(rows[:SHOWN], columns)


@dataclass(frozen=True, slots=True)
class Unhurried:
    """A transport that gives some seats an hour for each answer."""

    transport: Transport
    seats: frozenset[Seat]

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        theirs = [message.limit_ns is not None and message.seat in self.seats for message in messages]
        patient = [m._replace(limit_ns=PATIENCE_NS) if yes else m for m, yes in zip(messages, theirs, strict=True)]
        return self.transport.exchange(patient)
