"""Why a seat lost, or won: what each fault means and what cures it (the table of docs/authors.md), and what a
transcript tells of one seat. `deadheat explain` and the page of a match for its bots' owners say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine import figures
from engine.core import Fault, Points, Seat
from engine.figures import duration, limit
from engine.transcript import Exchange, Prompt, Transcript


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row of the table."""

    happened: str
    cure: str


VERDICTS: Mapping[Fault, Verdict] = {
    Fault.TIMEOUT: Verdict(
        "no complete line at the deadline, by your own doing",
        "compute less; if your CPU time is small, you did not flush",
    ),
    Fault.EXITED: Verdict(
        "your program ended, or closed its output, before its answer", "read the stderr of that match"
    ),
    Fault.OVERFLOW: Verdict("a line of more than 4,096 bytes", "something prints without newlines"),
    Fault.MALFORMED: Verdict(
        "a line that is not in the protocol",
        "compare it with the game's protocol; the reason says what does not fit",
    ),
    Fault.ILLEGAL: Verdict(
        "a well-formed line that the rules forbid",
        "the reason names the rule; look at the match to see where your program and it parted",
    ),
    Fault.UNEXPECTED: Verdict("output that nobody asked for", "debug output belongs on stderr"),
    Fault.MEMORY: Verdict("killed for using more than its memory", "use less"),
}

COMPUTED = 0.5  # of the limit, in CPU time: then it was thinking


def ending(transcript: Transcript, seat: Seat) -> str:
    """How it ended for a seat, in a few words."""
    if seat in transcript.result.faults and not transcript.result.rated:
        return "nobody wins, the others were at fault too"
    return place(transcript.result.ranks, seat)


def place(ranks: Sequence[int], seat: Seat) -> str:
    """A seat's place among the others, in a few words."""
    rank = ranks[seat]
    if ranks.count(rank) > 1:
        return "a draw" if rank == 1 else f"place {rank}, shared"
    if rank == 1:
        return "won"
    return "lost" if len(ranks) == 2 else f"place {rank} of {len(ranks)}"


def shown_points(points: Sequence[Points]) -> str:
    """Everybody's points, seat by seat."""
    return " : ".join(map(figures.points, points))


def why(transcript: Transcript, seat: Seat) -> str | None:
    """The referee's own sentence on the seat's fault, without its full stop."""
    event = next((e for e in transcript.events() if e.get("type") == "fault" and e.get("seat") == seat), {})
    return str(event["why"]) if event.get("why") else None


def slowest(transcript: Transcript, seat: Seat, count: int = 5) -> list[Prompt]:
    """A seat's slowest answers by share of their limits."""
    prompts = [p for p in transcript.prompts() if p.message.seat == seat]
    prompts.sort(key=lambda p: p.reply.elapsed_ns / max(1, p.limit_ns), reverse=True)
    return prompts[:count]


def last_exchanges(transcript: Transcript, seat: Seat, count: int) -> list[int]:
    """The numbers of the last exchanges that a seat heard of, up to its last prompt, and of the one after it."""
    last = transcript.last_prompt(seat)
    numbers = [n for n, exchange in enumerate(transcript.exchanges) if _speaks(exchange, seat)]
    if last is None:
        return numbers
    before = [number for number in numbers if number <= last.exchange][-count:]
    return before + [number for number in numbers if number > last.exchange][:1]


def _speaks(exchange: Exchange, seat: Seat) -> bool:
    return any(message.seat == seat for message in exchange.messages)


def hint(fault: Fault, prompt: Prompt) -> str | None:
    """What wall-clock and CPU time of the last prompt say about the fault, None if nothing."""
    reply = prompt.reply
    if fault is not Fault.TIMEOUT:
        return None
    if reply.cpu_ns is None:
        return f"no line within {limit(prompt.limit_ns)}; its CPU time was not measured."
    spent = f"{duration(reply.cpu_ns)} of CPU time within {duration(reply.elapsed_ns)}"
    if reply.cpu_ns >= COMPUTED * prompt.limit_ns:
        return f"{spent}: it was computing."
    return f"{spent}: it was waiting for something, or had answered without a newline or a flush."
