"""`deadheat explain`: why a bot lost a match."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deadheat.cli.author.matches import local_file, match_number
from deadheat.cli.console import USAGE, fail, last_lines, note, quoted, short
from deadheat.cli.console import command as to_type
from deadheat.cli.local import profiling
from deadheat.cli.local.bots import HOUSE, RECORDED
from deadheat.cli.local.transcripts import KILLED, STDERR, beside, doubt, load, players
from deadheat.cli.local.watch import File
from deadheat.cli.output import Column, Columns, Output, says, table
from deadheat.cli.replays.pages import VIEWS, sheet
from deadheat.cli.server.client import Server, Token
from deadheat.engine.chance import attempt_seed
from deadheat.engine.core import STDERR_KEPT_BYTES, Reply, Seat
from deadheat.engine.figures import duration, limit, points, seat_number, visible
from deadheat.engine.own_time import WALL_CLOCK
from deadheat.engine.transcript import Prompt, Transcript, untimed, wall_clock
from deadheat.engine.verdicts import (
    ending,
    evidence_words,
    hint,
    last_exchanges,
    past_deadline,
    slowest,
    used,
    verdict,
    why,
)

SLOWEST = 5
ASKED_WIDTH = 28
STDERR_LINES = 12
KILLED_WORDS = "It was still running after a second and was killed. The result stands. Exit when you read FINISH."
LOCAL_BOT = "my_bot.py"  # replaces a program that is not where the transcript says


@says
def explain(
    file: File,
    number: Annotated[
        int | None,
        typer.Option(
            "--seat", min=1, help="The seat to explain, from 1; default: yours, or in a file the one that failed."
        ),
    ] = None,
    exchanges: Annotated[int, typer.Option(min=1, max=100_000, help="How many of the last exchanges to show.")] = 3,
    server: Server = "",
    token: Token = "",
) -> Output:
    """Explain why a seat lost or won: verdict, cure, last lines with times, stderr, and how to play it again."""
    match = match_number(file)
    own = number is None and match is not None
    file, number = local_file(file, number, server, token)
    transcript = load(file)
    if number is None:
        if len(transcript.result.faults) != 1:
            fail("a file does not say which seat is yours; choose one with --seat", USAGE)
        number = seat_number(next(iter(transcript.result.faults)))
    if number > transcript.seats:
        fail(f"{file} has seats 1 to {transcript.seats}, but no seat {number}", USAGE)
    facts = _explained(file, transcript, number - 1, exchanges, doubt(transcript))
    own = own or facts["stderr"] is not None  # a match's is downloaded for the bot's owners only
    return Output(facts, _text(file, transcript, facts, exchanges, match if own else None))


DETAILS = {
    "happened": "What happened",
    "why": "In detail",
    "clock": "The clock",
    "evidence": "The evidence",
    "cure": "Cure",
}
"""The parts of an explanation, with their headings for people."""


def _text(
    file: Path, transcript: Transcript, facts: Mapping[str, Any], exchanges: int, own_match: int | None
) -> Iterator[RenderableType]:
    """Yield the explanation for people. `own_match`: the number of the league's match whose logs the user can read."""
    seat, fault = facts["seat"], facts["fault"]
    if not facts["verified"]:
        note(f"{facts['problem']}. The rest is only what the file claims.", "Not verified:", "red")
    yield Group(_verdict(transcript, seat))  # a group wraps prose into lines
    if fault is not None:
        yield ""
        for key, lead in DETAILS.items():
            if facts[key]:
                yield Group(Text.assemble((f"{lead:15}", "bold"), visible(facts[key]).removesuffix("."), "."))
    else:
        view = VIEWS.get(transcript.game)
        if facts["verified"] and view is not None:
            yield from ("", view.account(transcript, seat)) if view.account else sheet(transcript, seat)
        prompts = slowest(transcript, seat, SLOWEST)
        if prompts:
            yield from ("", Text("Its slowest answers, by share of the limit", "bold"), table(prompts, SLOW))
            if wall_clock(transcript.about):
                yield f"{WALL_CLOCK}."
        others = (p for p in transcript.prompts() if p.message.seat == seat and past_deadline(p) and p not in prompts)
        for prompt in (*prompts, *islice(others, SLOWEST)):
            if prompt.reply.stolen_ns:
                late = "; past its deadline, but counted" if past_deadline(prompt) else ""
                yield f"Exchange {prompt.exchange}: {_evidence(prompt)}{late}."
    yield from ("", Text("Its last lines (<< to the bot, >> from it)", "bold"))
    yield Padding(_lines_table(transcript, seat, exchanges), (0, 0, 0, 2))
    if facts["profile"] is not None:
        yield from ("", *profiling.shown(profiling.read(file, seat) or ()))
    if facts["killed_after_finish"]:
        yield Text.assemble(("\nAfter FINISH", "bold"), f"  {KILLED_WORDS}")
    yield ""
    if facts["stderr"] is None:
        yield Text.assemble(("Its stderr  ", "bold"), "no file beside the transcript")
    else:
        yield Text.assemble(("The end of its stderr  ", "bold"), visible(str(beside(file, seat, STDERR))))
        yield quoted(facts["stderr"])
    if own_match is not None:
        yield Text.assemble(
            ("How it ended, and all of its stderr  ", "bold"), to_type("logs", "--match", str(own_match))
        )
    yield from ("", Text("Play again with the same dice and, while they fit, the others' recorded lines", "bold"))
    yield facts["again"]


def _explained(file: Path, transcript: Transcript, seat: Seat, exchanges: int, reason: str | None) -> Mapping[str, Any]:
    """Return the explanation as JSON (docs/reference/commands.md). `reason` says why the transcript is not verified."""
    result, fault = transcript.result, transcript.result.faults.get(seat)
    prompt = transcript.last_prompt(seat) if fault is not None else None
    meant, measured = verdict(transcript, seat, fault) if fault is not None else None, _measured(transcript, seat)
    return {
        "game": transcript.game,
        "seat": seat,
        "bot": players(transcript)[seat],
        "verified": reason is None,
        "problem": reason,
        "ranks": list(result.ranks),
        "points": None if result.points is None else [str(value) for value in result.points],
        "rated": result.rated,
        "fault": fault,
        "command": prompt.message.command if prompt else None,
        "happened": meant.happened if meant else None,
        "why": why(transcript, seat) if fault is not None else None,
        "clock": hint(fault, prompt, measured) if fault is not None and prompt else None,
        "evidence": _evidence(prompt) if prompt else None,
        "cure": meant.cure if meant else None,
        "others": {str(other): failure for other, failure in result.faults.items() if other != seat},
        "slowest": [
            {
                "exchange": slow.exchange,
                "command": slow.message.command,
                "limit_ns": slow.limit_ns,
                "cpu_ns": slow.reply.cpu_ns,
                **times(slow.reply),
            }
            for slow in slowest(transcript, seat, SLOWEST)
        ],
        "last_exchanges": [
            {
                "exchange": number,
                "sent": [message.line for message in transcript.exchanges[number].messages if message.seat == seat],
                "replied": reply.line if (reply := transcript.exchanges[number].replies.get(seat)) else None,
                **times(reply if measured else None),
            }
            for number in last_exchanges(transcript, seat, exchanges)
        ],
        "killed_after_finish": fault is None and beside(file, seat, KILLED).is_file(),
        "stderr": None if (written := _stderr(file, seat)) is None else last_lines(written, STDERR_LINES),
        "profile": None if (spent := profiling.read(file, seat)) is None else [*map(asdict, spent)],
        "again": _again(file, transcript, seat),
    }


def _measured(transcript: Transcript, seat: Seat) -> bool:
    """Say whether a program sat there; agents' own times are not measured."""
    return seat not in untimed(transcript.about)


def times(reply: Reply | None) -> Mapping[str, object]:
    """Return an answer's measured times by name, in nanoseconds."""
    return {name: getattr(reply, name, None) for name in ("elapsed_ns", "own_ns", "stolen_ns")}


def _evidence(prompt: Prompt) -> str | None:
    """Say in words what the counters beside a reply show, if there are any."""
    evidence = prompt.reply.evidence
    return evidence_words({"limit_ns": prompt.limit_ns, **evidence.as_dict()}) if evidence else None


def _verdict(transcript: Transcript, seat: Seat) -> Text:
    result, names = transcript.result, players(transcript)
    what = f"{transcript.game}, seat {seat_number(seat)} ({short(names[seat], 40)}): "
    fault = result.faults.get(seat)
    others = sorted(set(result.faults) - {seat})
    if fault is not None:
        prompt = transcript.last_prompt(seat)
        at = f" at {visible(prompt.message.command)}{in_round(transcript, prompt)}" if prompt else ""
        return Text.assemble((f"{what}{fault}{at}; {ending(transcript, seat)}.", "bold red"))
    text = Text(f"{what}{ending(transcript, seat)}", style="bold")
    if others:
        text.append("".join(f"; seat {seat_number(other)} failed by {result.faults[other]}" for other in others))
    elif result.points is not None:
        text.append(f", points {' : '.join(map(points, result.points))}")
    return text.append(".")


def in_round(transcript: Transcript, prompt: Prompt) -> str:
    """Return " in round N" for a prompt, or "" if the game has no rounds."""
    seat, command = prompt.message.seat, prompt.message.command
    first = VIEWS[transcript.game].once_a_round.get(command) if transcript.game in VIEWS else None
    if first is not None:
        same = (p for p in transcript.prompts() if (p.message.seat, p.message.command) == (seat, command))
        return f" in round {first + sum(1 for p in same if p.exchange < prompt.exchange)}"
    exchanges = transcript.exchanges[: prompt.exchange + 1]
    rounds = [
        event["round"] for exchange in exchanges for event in exchange.events if isinstance(event.get("round"), int)
    ]
    return f" in round {rounds[-1]}" if rounds else ""


SLOW: Columns[Prompt] = (
    Column("exchange", lambda prompt: prompt.exchange, right=True),
    Column("took", lambda prompt: duration(prompt.reply.own_ns), right=True),
    Column("of", lambda prompt: f"{100 * used(prompt):.1f} %", right=True),
    Column("limit", lambda prompt: limit(prompt.limit_ns), right=True),
    Column("CPU", lambda prompt: _cpu(prompt.reply), right=True),
    Column("asked", lambda prompt: _cropped(prompt.message.line), whole=True),
)


def _cropped(line: str) -> str:
    shown = visible(line)
    return shown if len(shown) <= ASKED_WIDTH else shown[: ASKED_WIDTH - 1] + "…"


def _lines_table(transcript: Transcript, seat: Seat, count: int) -> Table:
    made = Table(box=None, pad_edge=False, show_edge=False)
    exchanges = [transcript.exchanges[number] for number in last_exchanges(transcript, seat, count)]
    measured = _measured(transcript, seat)
    taken = any(seat in exchange.replies and exchange.replies[seat].stolen_ns for exchange in exchanges)
    for heading in ("", "took", *(["host took"] if taken else []), "limit", "CPU"):
        made.add_column(heading, justify="right", no_wrap=True)
    made.add_column("line", overflow="fold")
    for exchange in exchanges:
        limit_ns = 0
        for message in exchange.messages:
            if message.seat == seat:
                made.add_row("<<", "", *([""] if taken else []), "", "", Text(visible(message.line)))
                limit_ns = message.limit_ns or limit_ns
        reply = exchange.replies.get(seat)
        if reply is not None:
            line = Text(f"(no line: {reply.fault})", "red") if reply.line is None else Text(visible(reply.line))
            host = [duration(reply.stolen_ns) if reply.stolen_ns else "-"] if taken else []
            times = (duration(reply.own_ns), *host, limit(limit_ns)) if measured else ("-", *host, "-")
            made.add_row(">>", *times, _cpu(reply), line)
    return made


def _cpu(reply: Reply) -> str:
    return "-" if reply.cpu_ns is None else duration(reply.cpu_ns)


def _stderr(file: Path, seat: Seat) -> bytes | None:
    """Return the seat's stderr, or None if there is none beside the transcript."""
    try:
        with beside(file, seat, STDERR).open("rb") as stream:
            return stream.read(STDERR_KEPT_BYTES)
    except OSError:
        return None


def _again(file: Path, transcript: Transcript, seat: Seat) -> str:
    """Return the command that plays the match again, with the recorded replies of the others."""
    name = players(transcript)[seat]
    there = os.path.exists(name)  # noqa: PTH110  pathlib's raises for a name that is too long
    mine = name if name.startswith(HOUSE) or there else LOCAL_BOT
    bots = [mine if s == seat else f"{RECORDED}{file}#{seat_number(s)}" for s in range(transcript.seats)]
    options = ["--seed", attempt_seed(transcript.seed, transcript.attempt).hex(), "--matches", "1"]
    if (sandbox := transcript.about.get("sandbox")) in ("bwrap", "local"):
        options += ["--sandbox", str(sandbox)]
    options += [word for name, value in transcript.variant.items() for word in ("--set", f"{name}={value}")]
    return to_type("play", visible(transcript.game), *bots, *options)
