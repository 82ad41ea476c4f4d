"""Why a seat lost, or won: what each fault means and how to cure it (the table of docs/authors.md), and what a
transcript shows about one seat. `deadheat explain` and the page of a match for its bots' owners say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deadheat.engine import figures
from deadheat.engine.core import Fault, Points, Reply, Seat
from deadheat.engine.figures import counted, duration, limit
from deadheat.engine.transcript import Exchange, Prompt, Transcript


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row of the table."""

    happened: str
    cure: str


VERDICTS: Mapping[Fault, Verdict] = {
    Fault.TIMEOUT: Verdict(
        "no complete line within the limit of your own time",
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
        "the reason names the rule; watch the match to see where your program lost track",
    ),
    Fault.UNEXPECTED: Verdict("output that nobody asked for", "debug output belongs on stderr"),
    Fault.MEMORY: Verdict("killed for using more than its memory", "use less"),
}

COMPUTED = 0.5  # of the limit, in CPU time: then it was thinking


def ending(transcript: Transcript, seat: Seat) -> str:
    """The outcome for a seat, in a few words."""
    if seat in transcript.result.faults and not transcript.result.rated:
        return "nobody wins, because the others committed faults too"
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
    """A seat's slowest answers by the share of their limits that was own time."""
    prompts = [p for p in transcript.prompts() if p.message.seat == seat]
    prompts.sort(key=used, reverse=True)
    return prompts[:count]


def used(prompt: Prompt) -> float:
    """The share of its limit that an answer used, by own time; more than 1 is too late."""
    return prompt.reply.own_ns / max(1, prompt.limit_ns)


def past_deadline(prompt: Prompt) -> bool:
    """Whether an answer counted although the clock's deadline had passed, because the host had taken the excess."""
    return prompt.reply.line is not None and prompt.reply.elapsed_ns > prompt.limit_ns


@dataclass(frozen=True, slots=True)
class Taken:
    """The time that the host took from bots: the total, the number of replies, and how many of these counted past the
    deadline.
    """

    stolen_ns: int = 0
    replies: int = 0
    past_deadline: int = 0

    def __add__(self, other: Taken) -> Taken:
        return Taken(
            self.stolen_ns + other.stolen_ns, self.replies + other.replies, self.past_deadline + other.past_deadline
        )

    @classmethod
    def of(cls, prompts: Iterable[Prompt]) -> Taken:
        """Add up what the host took over all prompts."""
        found = [prompt for prompt in prompts if prompt.reply.stolen_ns]
        return cls(sum(p.reply.stolen_ns for p in found), len(found), sum(map(past_deadline, found)))

    @property
    def sentence(self) -> str:
        """A sentence for people, empty if nothing was taken."""
        if not self.replies:
            return ""
        of = counted(self.replies, "reply", "replies")
        return f"The host took {duration(self.stolen_ns)} from {of}; {self.past_deadline} counted past the deadline."


def took(reply: Reply) -> str:
    """An answer's own time, and what its host took beside it."""
    taken = f" (the host took {duration(reply.stolen_ns)} more)" if reply.stolen_ns else ""
    return f"{duration(reply.own_ns)}{taken}"


_TAKEN_BY = {
    "waited_ns": "it waited {} for a processor",
    "steal_ns": "the hypervisor took {}",
    "frozen_ns": "its container was stopped for {}",
    "referee_ns": "the referee waited {} to write the prompt",
    "unseen_ns": "the answer may have lain unseen for {}",
}


def evidence_words(evidence: Mapping[str, object]) -> str:
    """The counters beside an answer, as `engine.own_time.Evidence.as_dict` or the ledger has them: how much of the time
    was the bot's own, and who took the rest.
    """
    known = {key: value for key, value in evidence.items() if type(value) is int}
    said = [f"limit {limit(known['limit_ns'])}"] if "limit_ns" in known else []
    words = {
        "wall_ns": "passed",
        "own_ns": "of it your program's own",
        "stolen_ns": "taken from it by the host",
        "cpu_ns": "of CPU time used",
    }
    why = ", ".join(told.format(duration(known[key])) for key, told in _TAKEN_BY.items() if known.get(key))
    if why and known.get("stolen_ns"):
        words["stolen_ns"] += f" ({why})"
    return ", ".join(said + [f"{duration(known[key])} {told}" for key, told in words.items() if key in known])


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
    """A hint about the fault from the last prompt's own time and CPU time, or None."""
    reply = prompt.reply
    if fault is not Fault.TIMEOUT:
        return None
    if reply.cpu_ns is None:
        return f"no line within {limit(prompt.limit_ns)}; its CPU time was not measured."
    taken = f", not counting {duration(reply.stolen_ns)} that the host took" if reply.stolen_ns else ""
    spent = f"{duration(reply.cpu_ns)} of CPU time within {duration(reply.own_ns)}{taken}"
    if reply.cpu_ns >= COMPUTED * prompt.limit_ns:
        return f"{spent}: it was computing."
    return f"{spent}: it was waiting for something, or had answered without a newline or a flush."
