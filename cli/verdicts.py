"""What each fault means and what cures it: the table of docs/authors.md, and what the clock adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cli.timing import duration, limit
from engine.core import Fault
from engine.transcript import Prompt


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
        "compare it with the game's protocol; the reason quotes what does not fit",
    ),
    Fault.ILLEGAL: Verdict(
        "a well-formed line that the rules forbid",
        "the reason names the rule; look at the match to see where your program and it parted",
    ),
    Fault.UNEXPECTED: Verdict("output that nobody asked for", "debug output belongs on stderr"),
    Fault.MEMORY: Verdict("killed for using more than its memory", "use less"),
}

COMPUTED = 0.5  # of the limit, in CPU time: then it was thinking


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
