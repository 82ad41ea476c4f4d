"""Explains why a seat lost or won: what each fault means and how to cure it (as docs/reference/verdicts.md), and
what a transcript shows about one seat. `deadheat explain` and the page of a match for its bots' owners say the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deadheat.engine.core import NS_PER_MS, Fault, Reply, Seat
from deadheat.engine.figures import counted, duration, limit
from deadheat.engine.language import N_, _
from deadheat.engine.scenes.core import Scene
from deadheat.engine.transcript import DEPARTURES, Prompt, Transcript, departure, untimed


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row of the table of faults."""

    happened: str
    cure: str


VERDICTS: Mapping[Fault, Verdict] = {
    Fault.TIMEOUT: Verdict(
        N_("no complete line within the limit of your own time"),
        N_("compute less; if your CPU time is small, flush your output"),
    ),
    Fault.EXITED: Verdict(
        N_("your program ended, or closed its output, before answering"), N_("read the stderr of that match")
    ),
    Fault.OVERFLOW: Verdict(N_("a line of more than 4,096 bytes"), N_("end every line with a newline")),
    Fault.MALFORMED: Verdict(
        N_("a line that is not in the protocol"),
        N_("compare it with the game's protocol; the reason says what does not fit"),
    ),
    Fault.ILLEGAL: Verdict(
        N_("a well-formed line that the rules forbid"),
        N_("the reason names the rule; watch the match to see where your program lost track"),
    ),
    Fault.UNEXPECTED: Verdict(
        N_("output that nobody asked for"), N_("write one line for each prompt, and debug output to stderr")
    ),
    Fault.MEMORY: Verdict(N_("killed for using more than its memory"), N_("use less memory")),
}

OF_AGENTS: Mapping[Fault, Verdict] = {
    Fault.TIMEOUT: Verdict(N_("no answer within the time for a move"), N_("answer before the question's deadline")),
    Fault.EXITED: Verdict(
        N_("your agent resigned, or did not fetch its question in time"),
        N_("ask for questions until the match is over"),
    ),
}
"""What differs for agents, which answer over a network."""

COMPUTED = 0.5  # share of the limit; a bot that used more CPU time was thinking


def verdict(transcript: Transcript, seat: Seat, fault: Fault) -> Verdict:
    """Return what a seat's fault means and how to cure it."""
    return OF_AGENTS.get(fault, VERDICTS[fault]) if seat in untimed(transcript.about) else VERDICTS[fault]


def ending(transcript: Transcript, seat: Seat) -> str:
    """Return the outcome for a seat, in a few words."""
    if seat in transcript.result.faults and not transcript.result.rated:
        return _("nobody wins, because the others committed faults too")
    return place(transcript.result.ranks, seat)


def place(ranks: Sequence[int], seat: Seat) -> str:
    """Return a seat's place among the others, in a few words."""
    rank = ranks[seat]
    if ranks.count(rank) > 1:
        return _("a draw") if rank == 1 else _("place %(rank)s, shared", rank=rank)
    if rank == 1:
        return _("won")
    return _("lost") if len(ranks) == 2 else _("place %(rank)s of %(count)s", rank=rank, count=len(ranks))


def why(transcript: Transcript, seat: Seat) -> str | None:
    """Return the referee's own sentence on the seat's fault, without its full stop, or how the seat left."""
    if transcript.result.faults.get(seat) is Fault.EXITED and (left := departure(transcript.about, seat)):
        return DEPARTURES[left]
    event = next((e for e in transcript.events() if e.get("type") == "fault" and e.get("seat") == seat), {})
    return str(event["why"]) if event.get("why") else None


def slowest(transcript: Transcript, seat: Seat, count: int = 5) -> list[Prompt]:
    """Return a seat's slowest answers by the share of their limits that was own time."""
    prompts = [p for p in transcript.measured() if p.message.seat == seat]
    prompts.sort(key=used, reverse=True)
    return prompts[:count]


def used(prompt: Prompt) -> float:
    """Return the share of its limit that an answer used, by own time; more than 1 is too late."""
    return prompt.reply.own_ns / max(1, prompt.limit_ns)


def past_deadline(prompt: Prompt) -> bool:
    """Say whether an answer counted although the clock's deadline had passed, because the host had taken the excess."""
    return prompt.reply.line is not None and prompt.reply.elapsed_ns > prompt.limit_ns


def own_ms(transcript: Transcript, prompt: Prompt | None) -> float | None:
    """Return the own time of the answer at which a seat failed, 0 without any; None: it is an agent's, not measured."""
    if prompt is not None and prompt.message.seat in untimed(transcript.about):
        return None
    return prompt.reply.own_ns / NS_PER_MS if prompt else 0.0


def own_times(transcript: Transcript) -> Mapping[tuple[Seat, str], tuple[list[int], list[int]]]:
    """Return the own times of a match's replies and their limits, both in nanoseconds, by seat and command."""
    times: dict[tuple[Seat, str], tuple[list[int], list[int]]] = {}
    for _number, message, limit_ns, reply in transcript.measured():
        own_ns, limits_ns = times.setdefault((message.seat, message.command), ([], []))
        own_ns.append(reply.own_ns)
        limits_ns.append(limit_ns)
    return times


@dataclass(frozen=True, slots=True)
class Taken:
    """The time that the host took from bots: the total, how many replies, and how many counted past the deadline."""

    stolen_ns: int = 0
    replies: int = 0
    past_deadline: int = 0

    def __add__(self, other: "Taken") -> "Taken":
        past_deadline = self.past_deadline + other.past_deadline
        return Taken(self.stolen_ns + other.stolen_ns, self.replies + other.replies, past_deadline)

    @classmethod
    def of(cls, prompts: Iterable[Prompt]) -> "Taken":
        """Add up what the host took over all prompts."""
        affected = [prompt for prompt in prompts if prompt.reply.stolen_ns]
        return cls(sum(p.reply.stolen_ns for p in affected), len(affected), sum(map(past_deadline, affected)))

    @property
    def sentence(self) -> str:
        """A sentence for people, empty if nothing was taken."""
        if not self.replies:
            return ""
        of = counted(self.replies, "reply", "replies")
        facts = {"time": duration(self.stolen_ns), "replies": of, "count": self.past_deadline}
        return _("The host took %(time)s from %(replies)s; %(count)s counted past the deadline.", **facts)


def took(reply: Reply) -> str:
    """Return an answer's own time, and the time that the host took besides it."""
    taken = _(" (the host took %(time)s more)", time=duration(reply.stolen_ns)) if reply.stolen_ns else ""
    return f"{duration(reply.own_ns)}{taken}"


_TAKEN_BY = {
    "waited_ns": N_("it waited %(time)s for a processor"),
    "steal_ns": N_("the hypervisor took %(time)s"),
    "frozen_ns": N_("its container was stopped for %(time)s"),
    "referee_ns": N_("the referee waited %(time)s to write the prompt"),
    "unseen_ns": N_("the answer may have waited unread for %(time)s"),
}

_TIMES = {
    "wall_ns": N_("%(time)s passed"),
    "own_ns": N_("%(time)s of it your program's own"),
    "stolen_ns": N_("%(time)s taken from it by the host"),
    "cpu_ns": N_("%(time)s of CPU time used"),
}


def evidence_words(evidence: Mapping[str, object]) -> str:
    """Return the counters beside an answer, as `engine.own_time.Evidence.as_dict` or the ledger has them: how much of
    the time was the bot's own, and who took the rest.
    """
    known = {key: value for key, value in evidence.items() if type(value) is int}
    parts = [_("limit %(time)s", time=limit(known["limit_ns"]))] if "limit_ns" in known else []
    why = ", ".join(_(phrase, time=duration(known[key])) for key, phrase in _TAKEN_BY.items() if known.get(key))
    for key, phrase in _TIMES.items():
        if key in known:
            taken = f" ({why})" if key == "stolen_ns" and why and known[key] else ""
            parts.append(_(phrase, time=duration(known[key])) + taken)
    return ", ".join(parts)


def last_exchanges(transcript: Transcript, seat: Seat, count: int) -> list[int]:
    """Return the numbers of the last exchanges that a seat heard of, up to its last prompt, and of the one after it."""
    last = transcript.last_prompt(seat)
    heard = ([message.seat for message in exchange.messages] for exchange in transcript.exchanges)
    numbers = [number for number, seats in enumerate(heard) if seat in seats]
    if last is None:
        return numbers
    before = [number for number in numbers if number <= last.exchange][-count:]
    return before + [number for number in numbers if number > last.exchange][:1]


def hint(fault: Fault, prompt: Prompt, measured: bool = True) -> str | None:
    """Return a hint about the fault from the last prompt's own time and CPU time, if they were measured, or None."""
    reply = prompt.reply
    if fault is not Fault.TIMEOUT or not measured:
        return None
    if reply.cpu_ns is None:
        return _("no line within %(limit)s; its CPU time was not measured.", limit=limit(prompt.limit_ns))
    spent = _("%(cpu)s of CPU time within %(time)s", cpu=duration(reply.cpu_ns), time=duration(reply.own_ns))
    if reply.stolen_ns:
        spent += _(", not counting %(time)s that the host took", time=duration(reply.stolen_ns))
    if reply.cpu_ns >= COMPUTED * prompt.limit_ns:
        return _("%(spent)s: it was computing.", spent=spent)
    return _("%(spent)s: it was waiting for something, or had answered without a newline or a flush.", spent=spent)


_NOTE = re.compile(r"^# note(?: (\d{1,6}):)? +(\S.*)$", re.MULTILINE)
_LEFT_OUT = re.compile(r"^\[\.\.\. \d+ bytes left out \.\.\.\]$", re.MULTILINE)
"""The line that the sandbox writes in place of bytes it dropped (sandbox/local.py, sandbox/images/init.c)."""


@dataclass(frozen=True, slots=True)
class Note:
    """`scene`: the number of the scene that the answer led to; None if the note names no existing answer."""

    scene: int | None
    text: str


def notes(stderr: str, transcript: Transcript, scenes: Sequence[Scene], seat: Seat) -> list[Note]:
    """Return what a bot notes about its own moves, lines ``# note TEXT`` or ``# note N: TEXT``, in the order of its
    stderr. `scenes`: the transcript's scenes.

    Stderr is drained by the box beside the timed path and kept as one text, without times: nothing says after which
    answer a line was written, and reading it at each exchange would cost every bot time for the sake of some. So a
    note's number says which answer it is about: N is 1 for the first answer after READY. Notes without a number are
    matched by order, but only if there is exactly one for each answer and nothing of stderr was left out; otherwise
    they belong to no move.
    """
    numbered = [(int(number) if number else None, text.rstrip()) for number, text in _NOTE.findall(stderr)]
    shown = list(_scenes_of_answers(transcript, scenes, seat))
    if all(number is None for number, _ in numbered) and len(numbered) == len(shown) and not _LEFT_OUT.search(stderr):
        numbered = [(place, text) for place, (_, text) in enumerate(numbered, 1)]
    return [Note(shown[n - 1] if n and n <= len(shown) else None, text) for n, text in numbered]


def _scenes_of_answers(transcript: Transcript, scenes: Sequence[Scene], seat: Seat) -> Iterator[int]:
    """For each prompt of the seat after READY, yield the scene that contains its answer, or else the next scene."""
    scene = 0
    for number, exchange in enumerate(transcript.exchanges):
        if not any(m.seat == seat and m.limit_ns is not None and m.command != "READY" for m in exchange.messages):
            continue
        while scene < len(scenes) - 1 and scenes[scene].exchange <= number:
            scene += 1
        after = range(scene, len(scenes))
        same = (place for place in after if scenes[place].exchange == scenes[scene].exchange)
        yield next((place for place in same if any(a.seat == seat for a in scenes[place].answers)), scene)
