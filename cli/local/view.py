"""`deadheat view`: a match, or a whole tournament, in the browser, as one file that needs no server."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.author.matches import Looked, look
from deadheat.cli.console import USAGE, cannot, command, fail, note
from deadheat.cli.local import page
from deadheat.cli.local.page import shown
from deadheat.cli.local.transcripts import doubt, parsed, players
from deadheat.cli.output import Column, Columns, Output, says
from deadheat.cli.server.client import Server, Token
from deadheat.engine import figures
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.scenes import scenes
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, Transcript
from deadheat.engine.verdicts import VERDICTS, Taken, ending, why

Shown = Annotated[
    Path, typer.Argument(help="A transcript (- is standard input), the number of a match, or a tournament's folder.")
]
Written = Annotated[Path | None, typer.Option("--output", help="Write this file, and open nothing.")]


@says
def view(file: Shown, output: Written = None, server: Server = "", token: Token = "") -> Output:
    """Show a match or a tournament in the browser, as one file that needs no server, and print the file's name.

    A match is written to a temporary folder and a tournament's report to its own, unless --output names another file.
    """
    try:
        if file.is_dir():
            written = _report(file, output)
        else:
            looked = _looked(file, server, token)
            written = output or Path(tempfile.mkdtemp(prefix="deadheat-view-")) / "match.html"
            page.save(written, match_page(looked))
    except OSError as error:
        cannot(f"write {error.filename or output}", error, USAGE)
    if output is None and not webbrowser.open(written.resolve().as_uri()):
        note("No browser was found; open the file yourself.")
    return Output({"file": str(written)}, str(written))


def _report(folder: Path, output: Path | None) -> Path:
    from deadheat.cli.tournament import report  # its numpy takes longer to import than a match takes to show

    try:
        return report.write(folder, output)
    except report.BadFolder as error:
        fail(str(error), USAGE)


def _looked(file: Path, server: str, token: str) -> Looked:
    """Load the transcript, and end the command unless it follows the rules, because the viewer relies on its form."""
    if str(file) == "-":
        name = "standard input"
        looked = Looked(name, parsed(sys.stdin.buffer.read(MAX_TRANSCRIPT_BYTES + 1), name))
    else:
        looked = look(file, server, token)
    if wrong := doubt(looked.transcript):
        told = "" if str(file) == "-" else f"; {command('replay', str(file))} shows what it claims"
        fail(f"{looked.name} is not verified: {wrong}{told}")
    return looked


def match_page(looked: Looked) -> Iterator[str]:
    transcript, names = looked.transcript, players(looked.transcript)
    title = f"{transcript.game}: {', '.join(names)}"
    return page.page(title, _body(looked.name, transcript, names, title))


def _body(name: str, transcript: Transcript, names: list[str], title: str) -> Iterator[str]:
    told = scenes(transcript, names)
    yield f'<h1>{shown(title)}</h1>\n<p class="result">{shown(told[-1].words)}</p>\n'
    columns: Columns[int] = (
        Column("Seat", lambda seat: str(seat_number(seat)), right=True),
        Column("Bot", lambda seat: shown(names[seat])),
        Column("Result", lambda seat: ending(transcript, seat)),
        Column("Points", lambda seat: _points(transcript, seat), right=True),
    )
    yield from page.table("Players", range(transcript.seats), columns, head=1)
    for seat, fault in sorted(transcript.result.faults.items()):
        prompt = transcript.last_prompt(seat)
        at = f" at <code>{shown(prompt.message.command)}</code>" if prompt else ""
        yield f'<p class="faultbox"><strong>{shown(names[seat])}</strong> failed by <strong>{fault}</strong>{at}: '
        yield f"{shown(why(transcript, seat) or VERDICTS[fault].happened)}. Cure: {VERDICTS[fault].cure}.</p>\n"
    yield f"<h2>Replay</h2>\n{page.viewer(first=1)}"
    yield f"<details><summary>All {counted(len(told), 'move')} in words</summary>\n<ol>\n"
    for scene in told:
        style = "" if scene.fault is None else ' class="fault"'
        yield f"<li{style}>{shown(scene.words)}</li>\n"
    yield "</ol>\n</details>\n"
    taken = Taken.of(transcript.prompts())
    exchanges = counted(len(transcript.exchanges), "exchange")
    yield f'<p class="note">From {shown(name)}, verified by the rules: {exchanges}, '
    yield f"seed <code>{transcript.seed.hex()}</code>. {shown(taken.sentence) if taken.replies else ''}</p>\n"
    yield page.packed(1, transcript, names)


def _points(transcript: Transcript, seat: Seat) -> str:
    points = transcript.result.points
    return "&ndash;" if points is None else figures.points(points[seat])
