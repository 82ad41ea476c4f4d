"""Shows a match, in the terminal or as a file for the browser, and says whether it follows the rules."""

import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from deadheat.cli.author.matches import Looked, look
from deadheat.cli.console import USAGE, cannot, command, fail, note, say, short
from deadheat.cli.local import page
from deadheat.cli.local.page import shown
from deadheat.cli.local.transcripts import doubt, parsed, players
from deadheat.cli.output import Column, Columns, Output, says
from deadheat.cli.replays import pages
from deadheat.cli.replays.pages import VIEWS
from deadheat.cli.server.client import Server, Token
from deadheat.engine import figures
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import rules_of
from deadheat.engine.own_time import WALL_CLOCK
from deadheat.engine.replay import Diverged
from deadheat.engine.replay import replay as play_again
from deadheat.engine.scenes import scenes
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, Transcript, encode_result, wall_clock
from deadheat.engine.verdicts import Taken, ending, verdict, why
from deadheat.league.verification.agreement import HOSTS_WORD, disagreements
from deadheat.league.verification.fairness import BY_THEMSELVES, Dealt, Told, wrong_secret, wrong_seed

NAME_WIDTH = 68

File = Annotated[Path, typer.Argument(help="A transcript (.jsonl or .jsonl.zst), or the number of a match.")]


def replay(
    file: File,
    round_number: Annotated[
        int | None,
        typer.Option("--round", min=0, help="Show only this round (or exchange, if the game has no rounds)."),
    ] = None,
    speed: Annotated[float, typer.Option(min=0, max=1000, help="Rounds per second; 0: everything at once.")] = 0,
    into: Annotated[
        str, typer.Option(metavar="COMMAND", help="Send a seat's lines to a bot under a debugger, without deadlines.")
    ] = "",
    seat: Annotated[int, typer.Option(min=1, help="The seat whose lines --into sends.")] = 1,
    server: Server = "",
    token: Token = "",
) -> None:
    """Show a match round by round: who did what, how long it took, and how it ended.

    \b
    With --into, play it again to your bot instead, line by line, and compare its answers:
      --into "python3 main.py"                  # breakpoint() opens pdb here
      --into "python3 -m deadheat_pdb main.py"  # pdb from the first line on
      --into "gdb -ex 'run < {lines} > {answers}' ./bot"
    """  # noqa: D301  Click leaves the lines after this mark as they are
    looked = look(file, server, token)
    transcript = looked.transcript
    if into:
        from deadheat.cli.local import feeding  # needs what only some systems have

        if seat > transcript.seats:
            fail(f"{looked.name} has seats 1 to {transcript.seats}, but no seat {seat}", USAGE)
        feeding.feed(transcript, seat - 1, into)
        return
    reason = doubt(transcript)
    view = VIEWS.get(transcript.game) if reason is None else None
    if reason is not None:
        note(f"{reason}. The rest is only what the file claims.", "Not verified:", "red")
    names = players(transcript)
    if round_number is None:
        say(Text(f"{transcript.game}, seed {transcript.seed.hex()}", "bold"))
        say(*(f"  seat {seat_number(seat)}  {short(name, NAME_WIDTH)}" for seat, name in enumerate(names)), "")
    shown = 0
    for part in pages.plain_pages(transcript) if view is None else pages.pages(transcript, view):
        if round_number in (None, part.round):
            if shown and speed:
                time.sleep(1 / speed)
            say(part.content)
            shown += 1
    if not shown:
        fail(f"{looked.name} has no round {round_number}", USAGE)
    if wall_clock(transcript.about):
        say(f"{WALL_CLOCK}.")
    if (taken := Taken.of(transcript.prompts())).replies:
        say(f"{taken.sentence} Response times are the bots' own time; a plus adds what the host took.")


@says
def verify(file: File, server: Server = "", token: Token = "") -> Iterator[Output]:
    """Re-simulate a transcript by the rules; with a match's number, compare it with the league's record too.

    Exit code 1 if the rules lead to anything else, or the record differs; the message says at which exchange, or how.
    """
    looked = look(file, server, token)
    name, transcript = looked.name, looked.transcript
    if wrong := "; ".join(_disagreements(looked)):
        yield Output({"verified": False, "exchange": None, "detail": wrong})
        fail(f"{name} differs from the league's record: {wrong}")
    if transcript.game not in GAMES:
        fail(f"{name} is a match of {transcript.game!r}, a game that is not known here", USAGE)
    try:
        play_again(rules_of(transcript), transcript)
    except Diverged as error:
        yield Output({"verified": False, "exchange": error.at_exchange, "detail": error.detail})
        fail(f"{name} does not follow from the rules: {error}")
    except ValueError as error:
        fail(f"{name}: {error}")
    result = encode_result(transcript.result) | {"taken": asdict(Taken.of(transcript.prompts()))}
    count, number = len(transcript.exchanges), looked.match and looked.match.id
    answer = {"verified": True, "match": number, "exchanges": count, "attempt": transcript.attempt}
    yield Output(answer | result, _verified(looked))


def _disagreements(looked: Looked) -> list[str]:
    """Return the differences between the transcript and the match and its season, as clauses; empty for a file."""
    if looked.match is None or looked.season is None:
        return []
    match, season = looked.match, looked.season
    published = Told(season.dice_commitment, season.dice_secret)
    dealt = Dealt(match.id, match.deal, match.commitment, match.seed, asked=match.asked is not None)
    secret, seed = wrong_secret(published), wrong_seed(published, dealt)
    of_its_season = [secret.rstrip(".")] if secret else [f"the match {seed}"] if seed else []
    return disagreements(looked.transcript, match) + of_its_season


def _verified(looked: Looked) -> Iterator[str]:
    transcript, taken = looked.transcript, Taken.of(looked.transcript.prompts())
    yield f"{looked.name}: verified, {counted(len(transcript.exchanges), 'exchange')} of {transcript.game}."
    for seat, name in enumerate(players(transcript)):
        words = [f"  seat {seat_number(seat)} {short(name, NAME_WIDTH)}: {ending(transcript, seat)}"]
        if transcript.result.points is not None:
            scored = figures.points(transcript.result.points[seat])
            words.append(f"{scored} {'point' if scored == '1' else 'points'}")
        if seat in transcript.result.faults:
            last, fault = transcript.last_prompt(seat), transcript.result.faults[seat]
            words.append(f"{fault} at {last.message.command}" if last else str(fault))
        yield ", ".join(words)
    if transcript.attempt > 1:
        yield f"It is attempt {transcript.attempt}, with that attempt's dice."
    if taken.replies:
        yield taken.sentence
    if wall_clock(transcript.about):
        yield f"{WALL_CLOCK}."
    yield f"{_compared(looked)} A transcript does not contain stderr."
    yield HOSTS_WORD


def _compared(looked: Looked) -> str:
    """Name the record with which the transcript was compared, or say why there was none."""
    if looked.match is None:
        about = looked.transcript.about
        if "sandbox" in about:  # only our own commands write this key; a league does not
            return "It was played outside a league, so there is no record to compare it with."
        number = about.get("match")
        ask = command("verify", str(number) if type(number) is int else "NUMBER")
        return (
            "A file cannot tell whether a league has this match, who played it, or whether its dice were committed to "
            f"beforehand: `{ask}` asks the league."
        )
    season = looked.season
    if season is None or season.dice_commitment is None:
        drawn = BY_THEMSELVES
    elif season.dice_secret is None:
        later = "can be checked once the final standings are published"
        drawn = f"Whether its dice follow from its season's secret {later}."
    else:
        drawn = f"Its dice follow from its season's secret as deal {looked.match.deal}."
    return (
        "Game, dice and their commitment, attempts, players, places, points, faults and response times agree with the "
        f"league's record of match {looked.match.id}. {drawn}"
    )


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
            from deadheat.cli.tournament import report  # its numpy takes longer to import than a match takes to show

            try:
                written = report.write(file, output)
            except report.BadFolder as error:
                fail(str(error), USAGE)
        else:
            if from_stdin := str(file) == "-":
                name = "standard input"
                looked = Looked(name, parsed(sys.stdin.buffer.read(MAX_TRANSCRIPT_BYTES + 1), name))
            else:
                looked = look(file, server, token)
            if wrong := doubt(looked.transcript):  # the viewer relies on its form
                cure = "" if from_stdin else f"; {command('replay', str(file))} shows what it claims"
                fail(f"{looked.name} is not verified: {wrong}{cure}")
            written = output or Path(tempfile.mkdtemp(prefix="deadheat-view-")) / "match.html"
            page.save(written, match_page(looked))
    except OSError as error:
        cannot(f"write {error.filename or output}", error, USAGE)
    if output is None and not webbrowser.open(written.resolve().as_uri()):
        note("No browser was found; open the file yourself.")
    return Output({"file": str(written)}, str(written))


def match_page(looked: Looked) -> Iterator[str]:
    transcript, names = looked.transcript, players(looked.transcript)
    title = f"{transcript.game}: {', '.join(names)}"
    return page.page(title, _body(looked.name, transcript, names, title))


def _body(name: str, transcript: Transcript, names: list[str], title: str) -> Iterator[str]:
    moves, points = scenes(transcript, names), transcript.result.points
    yield f'<h1>{shown(title)}</h1>\n<p class="result">{shown(moves[-1].words)}</p>\n'
    columns: Columns[int] = (
        Column("Seat", lambda seat: str(seat_number(seat)), right=True),
        Column("Bot", lambda seat: shown(names[seat])),
        Column("Result", lambda seat: ending(transcript, seat)),
        Column("Points", lambda seat: "&ndash;" if points is None else figures.points(points[seat]), right=True),
    )
    yield from page.table("Players", range(transcript.seats), columns, head=1)
    for seat, fault in sorted(transcript.result.faults.items()):
        prompt = transcript.last_prompt(seat)
        at = f" at <code>{shown(prompt.message.command)}</code>" if prompt else ""
        yield f'<p class="faultbox"><strong>{shown(names[seat])}</strong> failed by <strong>{fault}</strong>{at}: '
        meant = verdict(transcript, seat, fault)
        yield f"{shown(why(transcript, seat) or meant.happened)}. Cure: {meant.cure}.</p>\n"
    yield f"<h2>Replay</h2>\n{page.viewer(first=1)}"
    yield f"<details><summary>All {counted(len(moves), 'move')} in words</summary>\n<ol>\n"
    for scene in moves:
        style = "" if scene.fault is None else ' class="fault"'
        yield f"<li{style}>{shown(scene.words)}</li>\n"
    yield "</ol>\n</details>\n"
    taken = Taken.of(transcript.prompts())
    exchanges = counted(len(transcript.exchanges), "exchange")
    yield f'<p class="note">From {shown(name)}, verified by the rules: {exchanges}, '
    yield f"seed <code>{transcript.seed.hex()}</code>. {shown(taken.sentence) if taken.replies else ''}</p>\n"
    yield page.packed(1, transcript, names)
