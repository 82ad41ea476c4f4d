"""`deadheat diff`: where two playings of one match part."""

from collections.abc import Iterator, Mapping, Sequence
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


def _unlike(one: Transcript, other: Transcript) -> str | None:
    """Name what differs if two transcripts are not playings of the same match."""
    dice = [attempt_seed(transcript.seed, transcript.attempt) for transcript in (one, other)]
    rules = [(transcript.rules_version, transcript.variant) for transcript in (one, other)]
    same = {"game": one.game == other.game, "rules": rules[0] == rules[1], "dice": dice[0] == dice[1]}
    return next((what for what, equal in same.items() if not equal), None if one.seats == other.seats else "seats")


@says
def diff(one: One, other: Other, server: Server = "", token: Token = "") -> Output:
    """Show where two playings of the same match first differ: who answered what to which lines, and how fast.

    Exit code 1 if an answer differs, 2 if these are different matches.
    """
    both = look(one, server, token), look(other, server, token)
    transcripts = both[0].transcript, both[1].transcript
    if what := _unlike(*transcripts):
        fail(f"{both[0].name} and {both[1].name} are different matches: not the same {what}", USAGE)
    parting = first_difference(*transcripts)
    if parting is None:
        count = counted(len(transcripts[0].exchanges), "exchange")
        return Output({"same": True, "exchange": None}, f"All answers in {count} are the same; only times may differ.")
    sides = [
        _side(transcript, parting, prompt) for transcript, prompt in zip(transcripts, parting.prompts, strict=True)
    ]
    answer = {"same": False, "exchange": parting.exchange, "seat": parting.seat, "a": sides[0], "b": sides[1]}
    return Output(answer, _text(both, parting, sides), 1)


def _side(transcript: Transcript, parting: Parting, prompt: Prompt) -> Mapping[str, Any]:
    messages, result = transcript.exchanges[parting.exchange].messages, transcript.result
    return {
        "bot": players(transcript)[parting.seat],
        "sent": [message.line for message in messages if message.seat == parting.seat],
        "replied": prompt.reply.line,
        "fault": prompt.reply.fault,
        "limit_ns": prompt.limit_ns,
        **times(prompt.reply),
        "ranks": list(result.ranks),
        "points": None if result.points is None else [str(value) for value in result.points],
    }


def _text(both: Sequence[Looked], parting: Parting, sides: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    first, seat = both[0].transcript, seat_number(parting.seat)
    yield Text(f"{first.game}: the same until {parting.where(first)}, where seat {seat} answers differently.", "bold")
    for mark, looked, prompt, side in zip("AB", both, parting.prompts, sides, strict=True):
        yield ""
        yield Text.assemble((f"{mark}  ", "bold"), short(looked.name, NAME_WIDTH))
        yield f"   seat {seat} is {short(side['bot'], NAME_WIDTH)}"
        yield from (f"   << {visible(line)}" for line in side["sent"])
        line = f"(no line: {side['fault']})" if side["replied"] is None else visible(side["replied"])
        yield f"   >> {line}   {took(prompt.reply)} of {limit(prompt.limit_ns)}"
        scored = "" if side["points"] is None else f", {' : '.join(map(points, side['points']))}"
        yield f"   In the end: {ending(looked.transcript, parting.seat)}{scored}."
