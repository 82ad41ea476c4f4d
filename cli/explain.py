"""`deadheat explain`: why did I lose this one?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.bots import HOUSE
from cli.client import Server, Token
from cli.console import command as to_type
from cli.console import err, fail, last_lines, out, plain, quoted, short, visible
from cli.matches import local_file
from cli.recorded import RECORDED
from cli.replays import VIEWS
from cli.timing import duration, limit
from cli.transcripts import doubt, load, players, stderr_path
from cli.verdicts import VERDICTS, hint
from cli.watch import File
from engine.core import Fault, Points, Reply, Seat
from engine.transcript import Exchange, Prompt, Transcript
from sandbox.box import STDERR_KEPT_BYTES

SLOWEST = 5
ASKED_WIDTH = 28
STDERR_LINES = 12
LOCAL_BOT = "my_bot.py"  # stands for a program that is not where the transcript says


def explain(
    file: File,
    seat: Annotated[int, typer.Option(min=0, help="Whose match it was.")],
    exchanges: Annotated[int, typer.Option(min=1, max=100_000, help="How many exchanges to show before the end.")] = 3,
    server: Server = "",
    token: Token = "",
) -> None:
    """Why a seat lost, or won: verdict and cure, its last lines with their times, stderr, and how to play it again."""
    file = local_file(file, server, token)
    transcript = load(file)
    if seat >= transcript.seats:
        fail(f"{file} has the seats 0 to {transcript.seats - 1}, no seat {seat}", 2)
    reason = doubt(transcript)
    if reason is not None:
        err.print(f"[red]Not verified:[/] {plain(reason)}. What follows is what the file claims.", soft_wrap=True)
    out.print(_verdict(transcript, seat))
    fault = transcript.result.faults.get(seat)
    if fault is not None:
        _show_fault(transcript, seat, fault)
    view = VIEWS.get(transcript.game)
    if fault is None and reason is None and view is not None and view.account is not None:
        out.print()
        out.print(view.account(transcript, seat))
    if fault is None:
        _show_slowest(transcript, seat)
    _show_lines(transcript, seat, exchanges)
    _show_stderr(file, seat)
    _show_again(file, transcript, seat)


def _verdict(transcript: Transcript, seat: Seat) -> Text:
    result, names = transcript.result, players(transcript)
    what = f"{transcript.game}, seat {seat} ({short(names[seat], 40)}): "
    fault = result.faults.get(seat)
    others = sorted(set(result.faults) - {seat})
    if fault is not None:
        prompt = transcript.last_prompt(seat)
        at = f" at {visible(prompt.message.command)}{_in_round(transcript, prompt)}" if prompt else ""
        ending = "nobody wins, the others were at fault too" if not result.rated else _place(result.ranks, seat)
        return Text.assemble((f"{what}{fault}{at}; {ending}.", "bold red"))
    text = Text(f"{what}{_place(result.ranks, seat)}", style="bold")
    if others:
        text.append("".join(f"; seat {other} failed by {result.faults[other]}" for other in others))
    elif result.points is not None:
        text.append(f", points {' : '.join(_points(value) for value in result.points)}")
    return text.append(".")


def _points(value: Points) -> str:
    return str(value) if isinstance(value, int) else f"{float(value):g}"


def _place(ranks: Sequence[int], seat: Seat) -> str:
    rank = ranks[seat]
    if ranks.count(rank) > 1:
        return "a draw" if rank == 1 else f"place {rank}, shared"
    if rank == 1:
        return "won"
    return "lost" if len(ranks) == 2 else f"place {rank} of {len(ranks)}"


def _in_round(transcript: Transcript, prompt: Prompt) -> str:
    """The round of a prompt, where the game has any."""
    seat, command = prompt.message.seat, prompt.message.command
    first = VIEWS[transcript.game].once_a_round.get(command) if transcript.game in VIEWS else None
    if first is not None:
        same = (p for p in transcript.prompts() if (p.message.seat, p.message.command) == (seat, command))
        return f" in round {first + sum(1 for p in same if p.exchange < prompt.exchange)}"
    told = transcript.exchanges[: prompt.exchange + 1]
    rounds = [event["round"] for exchange in told for event in exchange.events if isinstance(event.get("round"), int)]
    return f" in round {rounds[-1]}" if rounds else ""


def _show_fault(transcript: Transcript, seat: Seat, fault: Fault) -> None:
    event = next((e for e in transcript.events() if e.get("type") == "fault" and e.get("seat") == seat), {})
    verdict = VERDICTS[fault]
    out.print()
    out.print(Text.assemble(("What happened  ", "bold"), f"{verdict.happened}."))
    if why := event.get("why"):
        out.print(Text.assemble(("In detail      ", "bold"), f"{visible(str(why))}."))
    prompt = transcript.last_prompt(seat)
    if prompt is not None and (told := hint(fault, prompt)):
        out.print(Text.assemble(("The clock      ", "bold"), told))
    out.print(Text.assemble(("Cure           ", "bold"), f"{verdict.cure}."))


def _show_slowest(transcript: Transcript, seat: Seat) -> None:
    prompts = [p for p in transcript.prompts() if p.message.seat == seat]
    prompts.sort(key=lambda p: p.reply.elapsed_ns / max(1, p.limit_ns), reverse=True)
    out.print()
    out.print(Text("Its slowest answers, by share of the limit", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("exchange", "took", "of", "limit", "CPU"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("asked", no_wrap=True)
    for prompt in prompts[:SLOWEST]:
        table.add_row(
            str(prompt.exchange),
            duration(prompt.reply.elapsed_ns),
            f"{100 * prompt.reply.elapsed_ns / max(1, prompt.limit_ns):.1f} %",
            limit(prompt.limit_ns),
            _cpu(prompt.reply),
            Text(_cropped(prompt.message.line)),
        )
    out.print(table)


def _cropped(line: str) -> str:
    shown = visible(line)
    return shown if len(shown) <= ASKED_WIDTH else shown[: ASKED_WIDTH - 1] + "…"


def _show_lines(transcript: Transcript, seat: Seat, count: int) -> None:
    last = transcript.last_prompt(seat)
    numbers = [n for n, exchange in enumerate(transcript.exchanges) if _speaks(exchange, seat)]
    if last is not None:
        before = [number for number in numbers if number <= last.exchange][-count:]
        numbers = before + [number for number in numbers if number > last.exchange][:1]
    out.print()
    out.print(Text("Its last lines (<< to the bot, >> from it)", style="bold"))
    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading in ("", "took", "limit", "CPU"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("line", overflow="fold")
    for number in numbers:
        for row in _rows(transcript.exchanges[number], seat):
            table.add_row(*row)
    out.print(Padding(table, (0, 0, 0, 2)))


def _speaks(exchange: Exchange, seat: Seat) -> bool:
    return any(message.seat == seat for message in exchange.messages)


def _rows(exchange: Exchange, seat: Seat) -> list[tuple[RenderableType, ...]]:
    rows: list[tuple[RenderableType, ...]] = []
    limit_ns = 0
    for message in exchange.messages:
        if message.seat == seat:
            rows.append(("<<", "", "", "", Text(visible(message.line))))
            limit_ns = message.limit_ns or limit_ns
    reply = exchange.replies.get(seat)
    if reply is not None:
        said = Text(visible(reply.line)) if reply.line is not None else Text(f"(no line: {reply.fault})", style="red")
        rows.append((">>", duration(reply.elapsed_ns), limit(limit_ns), _cpu(reply), said))
    return rows


def _cpu(reply: Reply) -> str:
    return "-" if reply.cpu_ns is None else duration(reply.cpu_ns)


def _show_stderr(file: Path, seat: Seat) -> None:
    path = stderr_path(file, seat)
    out.print()
    try:
        with path.open("rb") as stream:
            written = stream.read(STDERR_KEPT_BYTES)
    except OSError:
        out.print(Text.assemble(("Its stderr  ", "bold"), "none is beside the transcript"))
        return
    out.print(Text.assemble(("The end of its stderr  ", "bold"), visible(str(path))), soft_wrap=True)
    out.print(quoted(last_lines(written, STDERR_LINES)), soft_wrap=True)


def _show_again(file: Path, transcript: Transcript, seat: Seat) -> None:
    """The command that lets the others say the same again."""
    name = players(transcript)[seat]
    mine = name if name.startswith(HOUSE) or Path(name).exists() else LOCAL_BOT
    bots = [mine if s == seat else f"{RECORDED}{file}#{s}" for s in range(transcript.seats)]
    options = ["--seed", transcript.seed.hex(), "--matches", "1"]
    if transcript.about.get("sandbox") == "local":
        options += ["--sandbox", "local"]
    out.print()
    out.print(Text("The same dice again, and the same lines of the others, as far as they fit", style="bold"))
    out.print(Text(to_type("play", visible(transcript.game), *bots, *options)), soft_wrap=True)
