"""`deadheat diff`: where two playings of one match part."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import RenderableType
from rich.text import Text

from deadheat.cli.author.explain import in_round, times
from deadheat.cli.author.matches import Looked, look
from deadheat.cli.console import USAGE, fail, short
from deadheat.cli.local.transcripts import players
from deadheat.cli.output import Output, says
from deadheat.cli.server.client import Server, Token
from deadheat.engine.chance import attempt_seed
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted, limit, points, seat_number, visible
from deadheat.engine.transcript import Prompt, Transcript
from deadheat.engine.verdicts import ending, took

NAME_WIDTH = 60

One = Annotated[Path, typer.Argument(metavar="A", help="A transcript, or a match's number.")]
Other = Annotated[Path, typer.Argument(metavar="B", help="Another playing of it.")]


class Parting(NamedTuple):
    """The first answer that differs: the exchange, the seat, and both prompts with their answers."""

    exchange: int
    seat: Seat
    prompts: tuple[Prompt, Prompt]

    def where(self, transcript: Transcript) -> str:
        """Say where it is, in a few words."""
        return f"exchange {self.exchange}{in_round(transcript, self.prompts[0])}"


def first_difference(one: Transcript, other: Transcript) -> Parting | None:
    """Return the first answer that differs in two playings of the same match, whatever time it took.

    Dice and rules are the same, so until then both playings sent the same lines, but for the time left.
    """
    for first, second in zip(one.prompts(), other.prompts(), strict=False):
        answers = [(prompt.message.command, prompt.reply.line, prompt.reply.fault) for prompt in (first, second)]
        if answers[0] != answers[1]:
            return Parting(first.exchange, first.message.seat, (first, second))
    return None


def unlike(one: Transcript, other: Transcript) -> str:
    """Say in what two transcripts are not playings of the same match; "" if they are."""
    dice = [attempt_seed(transcript.seed, transcript.attempt) for transcript in (one, other)]
    same = {
        "games": one.game == other.game,
        "rules": (one.rules_version, one.variant) == (other.rules_version, other.variant),
        "numbers of seats": one.seats == other.seats,
        "dice": dice[0] == dice[1],
    }
    return next((f"they have different {what}" for what, equal in same.items() if not equal), "")


@says
def diff(one: One, other: Other, server: Server = "", token: Token = "") -> Output:
    """Show where two playings of the same match first differ: who answered what to which lines, and how fast.

    Exit code 1 if an answer differs, 2 if these are different matches.
    """
    both = look(one, server, token), look(other, server, token)
    transcripts = both[0].transcript, both[1].transcript
    if what := unlike(*transcripts):
        fail(f"{both[0].name} and {both[1].name} are different matches: {what}", USAGE)
    parting = first_difference(*transcripts)
    if parting is None:
        count = counted(len(transcripts[0].exchanges), "exchange")
        return Output({"same": True, "exchange": None}, f"All answers in {count} are the same; only times may differ.")
    sides = [_side(transcript, parting, n) for n, transcript in enumerate(transcripts)]
    answer = {"same": False, "exchange": parting.exchange, "seat": parting.seat, "a": sides[0], "b": sides[1]}
    return Output(answer, _text(both, parting), 1)


def _side(transcript: Transcript, parting: Parting, number: int) -> Mapping[str, Any]:
    prompt, result = parting.prompts[number], transcript.result
    return {
        "bot": players(transcript)[parting.seat],
        "sent": _sent(transcript, parting),
        "replied": prompt.reply.line,
        "fault": prompt.reply.fault,
        "limit_ns": prompt.limit_ns,
        **times(prompt.reply),
        "ranks": list(result.ranks),
        "points": None if result.points is None else [str(value) for value in result.points],
    }


def _sent(transcript: Transcript, parting: Parting) -> list[str]:
    messages = transcript.exchanges[parting.exchange].messages
    return [message.line for message in messages if message.seat == parting.seat]


def _text(both: tuple[Looked, Looked], parting: Parting) -> Iterator[RenderableType]:
    head, where = both[0].transcript.game, parting.where(both[0].transcript)
    yield Text(f"{head}: the same until {where}, where seat {seat_number(parting.seat)} answers differently.", "bold")
    for mark, looked, prompt in zip("AB", both, parting.prompts, strict=True):
        transcript, reply = looked.transcript, prompt.reply
        yield ""
        yield Text.assemble((f"{mark}  ", "bold"), short(looked.name, NAME_WIDTH))
        yield f"   seat {seat_number(parting.seat)} is {short(players(transcript)[parting.seat], NAME_WIDTH)}"
        yield from (f"   << {visible(line)}" for line in _sent(transcript, parting))
        line = visible(reply.line) if reply.line is not None else f"(no line: {reply.fault})"
        yield f"   >> {line}   {took(reply)} of {limit(prompt.limit_ns)}"
        scored = "" if transcript.result.points is None else f", {' : '.join(map(points, transcript.result.points))}"
        yield f"   In the end: {ending(transcript, parting.seat)}{scored}."
