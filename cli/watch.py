"""Look at a match that was played: is it what the rules say, and what happened in it?"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cli.client import Server, Token
from cli.console import err, fail, out, plain, short
from cli.matches import local_file
from cli.replays import GENERIC, VIEWS
from cli.transcripts import doubt, load, players
from engine.figures import seat_number
from engine.games import GAMES
from engine.replay import Diverged
from engine.replay import replay as play_again
from engine.transcript import Transcript, encode_result
from engine.verdicts import Taken

File = Annotated[Path, typer.Argument(help="A transcript (.jsonl or .jsonl.zst), or the number of a match.")]


def replay(
    file: File,
    round_number: Annotated[
        int | None, typer.Option("--round", min=0, help="Only this round (or exchange, where there are no rounds).")
    ] = None,
    speed: Annotated[float, typer.Option(min=0, max=1000, help="Rounds a second; 0: everything at once.")] = 0,
    server: Server = "",
    token: Token = "",
) -> None:
    """Show a match round by round: who did what, how long it took, and how it ended."""
    file = local_file(file, server, token)
    transcript = load(file)
    reason = doubt(transcript)
    view = VIEWS.get(transcript.game, GENERIC) if reason is None else GENERIC
    if reason is not None:
        err.print(f"[red]Not verified:[/] {plain(reason)}. What follows is what the file claims.", soft_wrap=True)
    names = players(transcript)
    if round_number is None:
        out.print(Text(f"{transcript.game}, seed {transcript.seed.hex()}", style="bold"))
        seated = (f"  seat {seat_number(seat)}  {short(name, 68)}" for seat, name in enumerate(names))
        out.print(Text("\n".join(seated) + "\n"))
    shown = 0
    for page in view.pages(transcript):
        if round_number in (None, page.round):
            if shown and speed:
                time.sleep(1 / speed)
            out.print(page.content)
            shown += 1
    if not shown:
        fail(f"{file} has no round {round_number}", 2)
    if (taken := Taken.of(transcript.prompts())).replies:
        out.print(f"{taken.sentence} Response times are the bots' own; behind a plus is what the host took.")


def verify(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
    server: Server = "",
    token: Token = "",
) -> None:
    """Re-simulate a transcript; exit code 1 and the exchange's number if the rules lead anywhere else."""
    file = local_file(file, server, token)
    transcript = load(file)
    game = GAMES.get(transcript.game) or fail(f"{file} is of {transcript.game!r}, a game not known here", 2)
    try:
        play_again(game, transcript)
    except Diverged as error:
        if as_json:
            print(json.dumps({"verified": False, "exchange": error.at_exchange, "detail": error.detail}))
        fail(f"{file} is not what the rules say: {error}")
    except ValueError as error:
        fail(f"{file}: {error}")
    taken, count = Taken.of(transcript.prompts()), len(transcript.exchanges)
    if as_json:
        told = {"verified": True, "exchanges": count, "attempt": transcript.attempt, "taken": asdict(taken)}
        print(json.dumps(told | encode_result(transcript.result)))
        return
    out.print(f"{plain(str(file))}: verified, {count} exchanges of {transcript.game}.", soft_wrap=True)
    out.print(_result_line(transcript))
    if transcript.attempt > 1:
        out.print(f"It was played at attempt {transcript.attempt}, with that attempt's dice.")
    if taken.replies:
        out.print(taken.sentence)


def _result_line(transcript: Transcript) -> str:
    result = encode_result(transcript.result)
    points = "no points (forfeit)" if result["points"] is None else f"points {result['points']}"
    faults = f", faults {result['faults']}" if result["faults"] else ""
    return plain(f"ranks {result['ranks']}, {points}{faults}")
