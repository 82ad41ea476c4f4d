"""The deadline transport: lines over pairs of descriptors, judged by the referee's monotonic clock.

Theory of operation
-------------------
*Stamps decide, not wake-ups.* A seat's clock starts just before its prompt's ``write`` (stamping afterwards would
give a bot that was woken on our CPU its first milliseconds for free) and ends at the stamp taken when its newline
has been read. In time means stamp <= deadline; that ``poll`` returned something proves nothing.

*Our own lateness is never the bot's.* We may be kept from running anywhere, also between being woken and looking at
the clock. So we look a moment before each deadline and at it, and keep in mind up to when a seat was certainly silent:
a time noted *before* the call that then found nothing. Three cases past a deadline:

* an answer is there, and may have been for more than NOISE_NS: nobody knows whether it came in time -> void.
* nothing is there, but we looked more than `late_bound_ns` past the deadline, or our write alone took that long: this
  host was not fit to judge at that moment -> void.
* else the bot is late, and `sandbox.attribution` is to say by whose doing. The seat is *watched* past its deadline;
  what it still says is never counted; the watch ends, mostly within 10 ms, in `Fault.TIMEOUT` or, where the host kept
  the bot from running, in a void.

*No bot can hold us.* Descriptors are non-blocking, writes share the reply's deadline (a bot that does not read
times out), a line is at most MAX_LINE_BYTES, one read takes at most READ_BYTES.

*Early output* is looked for just before a prompt is written (ruling C-04); *end of file* ends the wait at once
(C-05). A reply is decided alone; `exchange` returns when every prompted seat is decided (C-01).
"""

from __future__ import annotations

import os
import select
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from time import monotonic_ns

from engine.core import MAX_LINE_BYTES, NS_PER_MS, NS_PER_S, Fault, Message, Reply, Seat, TransportError
from engine.figures import seat_number
from sandbox.attribution import NOISE_NS, WATCH_FACTOR, Blame, Evidence, between, while_watching
from sandbox.box import Channel

READ_BYTES = 64 * 1024
MAX_UNSENT_BYTES = 256 * 1024
"""A bot that reads nothing for this long is past any deadline; what would come after it is not kept."""

LATE_BOUND_NS = 5 * NS_PER_MS
"""Default bound on the referee's own lateness. Normal scheduling stays within 2 ms at the 99th percentile under
full load and real-time scheduling within 0.2 ms, so a later wake-up says that this host is in trouble."""

LOOK_NS = NOISE_NS // 2
"""How long before a deadline a silent seat is looked at, and how often afterwards. What is there at the next look then
came less than NOISE_NS ago unless we were kept from running, so no bot gets a match voided by aiming there."""

WEIGH_NS = 5 * NS_PER_MS
"""How often the evidence against a watched seat that stays silent is weighed; it takes a dozen reads."""


@dataclass(slots=True)
class _Open:
    """A prompt that is not answered yet. `wake_ns`: when to look at it next even if it is silent; `silent_ns`: up to
    when it certainly had no answer.
    """

    seat: Seat
    channel: Channel
    ear: select.poll
    started_ns: int
    deadline_ns: int
    wake_ns: int
    write_ns: int
    silent_ns: int
    watched: bool = False
    weigh_ns: int = 0
    late_ns: int = 0

    @property
    def limit_ns(self) -> int:
        return self.deadline_ns - self.started_ns

    def failed(self, fault: Fault, stamp_ns: int, late_ns: int) -> Reply:
        """The reply of a bot that gave none."""
        return Reply(None, stamp_ns - self.started_ns, fault, self.channel.meter.spent_ns(), late_ns)

    def evidence(self, at_ns: int) -> Evidence:
        """What happened to the seat until now."""
        meter = self.channel.meter
        return between(meter.marked(), meter.counters(), self.limit_ns, at_ns - self.started_ns, self.write_ns)


class PipeTransport:
    """See `engine.core.Transport`; `channels[seat]` are that seat's descriptors."""

    def __init__(
        self,
        channels: Sequence[Channel],
        late_bound_ns: int = LATE_BOUND_NS,
        watch_factor: int = WATCH_FACTOR,
    ) -> None:
        self._channels = channels
        self._ears = [_listening([channel.stdout_fd]) for channel in channels]
        self._late_bound_ns = late_bound_ns
        self._watch_factor = watch_factor
        self.convictions: list[dict[str, object]] = []
        """The evidence of every time-out, for the ledger."""

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        """Write all lines, wait for all replies.

        Raises:
            TransportError: "referee-late": we noticed too late to judge fairly; "host-starved": the bot was kept from
                running; "host-unknown": it may have been.
        """
        replies: dict[Seat, Reply] = {}
        waiting: list[_Open] = []
        for seat, batch in _by_seat(messages):
            self._send(seat, batch, replies, waiting)
        while waiting:
            ready, silent_ns = _sleep(waiting)
            woke_ns = monotonic_ns()
            undecided: list[_Open] = []
            for prompt in waiting:
                readable = prompt.channel.stdout_fd in ready
                if not readable:
                    prompt.silent_ns = silent_ns
                reply = self._decide(prompt, woke_ns, readable)
                if reply is not None:
                    replies[prompt.seat] = reply
                    continue
                undecided.append(prompt)
                if prompt.channel.unsent:
                    _flush(prompt.channel)
            waiting = undecided
        return replies

    def _send(self, seat: Seat, batch: Sequence[Message], replies: dict[Seat, Reply], waiting: list[_Open]) -> None:
        channel, ear = self._channels[seat], self._ears[seat]
        text, limit_ns = "", None
        for message in batch:
            text += message.line + "\n"
            if message.limit_ns is not None:
                limit_ns = message.limit_ns
        if limit_ns is not None and (channel.unread or ear.poll(0)) and (fault := _early(channel)) is not None:
            replies[seat] = Reply(None, 0, fault)
            return
        if len(channel.unsent) < MAX_UNSENT_BYTES:
            channel.unsent += text.encode("ascii")
        if limit_ns is None:
            _flush(channel)
            return
        channel.meter.mark()
        started_ns = monotonic_ns()
        _flush(channel)
        write_ns = monotonic_ns() - started_ns
        deadline_ns = started_ns + limit_ns
        wake_ns = deadline_ns - LOOK_NS
        waiting.append(_Open(seat, channel, ear, started_ns, deadline_ns, wake_ns, write_ns, started_ns))

    def _decide(self, prompt: _Open, woke_ns: int, readable: bool) -> Reply | None:
        """The reply of one seat, as soon as there is one."""
        if prompt.watched:
            return self._watch(prompt, woke_ns) if readable or woke_ns >= prompt.wake_ns else None
        past = woke_ns > prompt.deadline_ns
        reply = self._look(prompt, woke_ns) if readable or past else None
        if reply is None and past:
            return self._missed(prompt, woke_ns)
        if woke_ns >= prompt.wake_ns:
            prompt.wake_ns = prompt.deadline_ns
        return reply

    def _look(self, prompt: _Open, woke_ns: int) -> Reply | None:
        """Read what is there; the reply if that decides it."""
        channel = prompt.channel
        ended = _read(channel)
        stamp_ns = monotonic_ns()
        late = stamp_ns > prompt.deadline_ns
        if ended and not late:
            return prompt.failed(_gone(channel), stamp_ns, prompt.write_ns)
        end = channel.unread.find(b"\n")
        if not ended and end < 0 and len(channel.unread) <= MAX_LINE_BYTES:
            prompt.silent_ns = woke_ns
            return None
        if late:  # time first (ruling C-02)
            if stamp_ns - prompt.silent_ns > NOISE_NS:
                raise self._late(prompt, stamp_ns, "an answer was there when the referee looked after the deadline")
            return None
        if end < 0 or end > MAX_LINE_BYTES:
            return prompt.failed(Fault.OVERFLOW, stamp_ns, prompt.write_ns)
        line = channel.unread[:end].decode("utf-8", "surrogateescape")
        del channel.unread[: end + 1]
        return Reply(line, stamp_ns - prompt.started_ns, None, channel.meter.spent_ns(), prompt.write_ns)

    def _missed(self, prompt: _Open, woke_ns: int) -> Reply | None:
        """Nothing came in time: watch on, unless we are in no position to tell."""
        prompt.late_ns = woke_ns - prompt.deadline_ns
        if max(prompt.late_ns, prompt.write_ns) > self._late_bound_ns:
            raise self._late(prompt, woke_ns, "the referee itself was late")
        prompt.watched = True
        return self._watch(prompt, woke_ns)

    def _watch(self, prompt: _Open, woke_ns: int) -> Reply | None:
        """Look at a watched seat again. What it says is not counted, only when it says it."""
        ended = _read(prompt.channel)
        stamp_ns = monotonic_ns()
        if ended and _gone(prompt.channel) is Fault.MEMORY:  # its own doing, whatever the time
            return prompt.failed(Fault.MEMORY, stamp_ns, prompt.late_ns)
        # Whoever leaves after the deadline is judged as if it had answered then: it may have been kept from running.
        answered = ended or b"\n" in prompt.channel.unread or len(prompt.channel.unread) > MAX_LINE_BYTES
        unseen_ns = stamp_ns - prompt.silent_ns
        if not answered:
            prompt.silent_ns = woke_ns
            prompt.wake_ns = stamp_ns + LOOK_NS
            if stamp_ns < prompt.weigh_ns:
                return None
            prompt.weigh_ns = stamp_ns + WEIGH_NS
        evidence = prompt.evidence(stamp_ns)
        blame = while_watching(evidence, answered, self._watch_factor)
        told: dict[str, object] = {"seat": prompt.seat, **evidence.as_dict()}
        if blame is None:
            return None
        if blame is Blame.BOT:
            if answered and unseen_ns > NOISE_NS and evidence.own_ns - unseen_ns <= evidence.limit_ns:
                raise self._late(prompt, stamp_ns, "an answer was there, and may have been within the bot's own time")
            self.convictions.append(told)
            return prompt.failed(Fault.TIMEOUT, stamp_ns, max(prompt.late_ns, prompt.write_ns))
        detail = f"seat {seat_number(prompt.seat)} was kept from running for {evidence.stolen_ns / NS_PER_MS:.1f} ms"
        raise TransportError(f"host-{'starved' if blame is Blame.HOST else 'unknown'}", detail, **told)

    def _late(self, prompt: _Open, stamp_ns: int, detail: str) -> TransportError:
        return TransportError(
            "referee-late",
            detail,
            seat=prompt.seat,
            limit_ns=prompt.limit_ns,
            late_ns=stamp_ns - prompt.deadline_ns,
            unseen_ns=stamp_ns - prompt.silent_ns,
            write_ns=prompt.write_ns,
            bound_ns=self._late_bound_ns,
        )


def _by_seat(messages: Sequence[Message]) -> Iterable[tuple[Seat, Sequence[Message]]]:
    """The lines of each seat together, in their order."""
    if len(messages) == 1:
        return ((messages[0].seat, messages),)
    batches: dict[Seat, list[Message]] = {}
    for message in messages:
        batches.setdefault(message.seat, []).append(message)
    return batches.items()


def _early(channel: Channel) -> Fault | None:
    """What the bot did before it was asked: nothing, spoke, or went away."""
    ended = not channel.unread and _read(channel)
    if channel.unread:
        return Fault.UNEXPECTED
    return _gone(channel) if ended else None


def _read(channel: Channel) -> bool:
    """Take what the bot has written, at most READ_BYTES; whether that was the end of it, with no whole line left."""
    try:
        data = os.read(channel.stdout_fd, READ_BYTES)
    except BlockingIOError:
        return False
    channel.unread += data
    return not data and b"\n" not in channel.unread


def _gone(channel: Channel) -> Fault:
    blame = channel.out_of_memory()
    if blame is Blame.HOST:
        raise TransportError("host-memory", "this host ran out of memory and killed a bot")
    return Fault.MEMORY if blame is Blame.BOT else Fault.EXITED


def _flush(channel: Channel) -> None:
    """Write what the pipe takes. A reader that is gone shows as end of file on its output, not here."""
    try:
        while channel.unsent:
            channel.unsent = channel.unsent[os.write(channel.stdin_fd, channel.unsent) :]
    except BlockingIOError:
        pass
    except BrokenPipeError:
        channel.unsent = b""


def _listening(reads: Iterable[int], writes: Iterable[int] = ()) -> select.poll:
    poller = select.poll()
    for fd in reads:
        poller.register(fd, select.POLLIN)
    for fd in writes:
        poller.register(fd, select.POLLOUT)
    return poller


_wake_ns = attrgetter("wake_ns")


def _sleep(prompts: Sequence[_Open]) -> tuple[Container[int], int]:
    """Wait for output (or room for unsent input) until one is to be looked at. Returns the readable descriptors and a
    time up to which all others certainly were not.

    poll counts in whole milliseconds and Python rounds up: that would be up to 1 ms of lateness of our own making,
    so poll gets the whole milliseconds only and select, which counts in microseconds, the rest.
    """
    first = prompts[0] if len(prompts) == 1 else min(prompts, key=_wake_ns)
    now_ns = monotonic_ns()
    left_ns = max(0, first.wake_ns - now_ns)
    if left_ns >= NS_PER_MS and len(prompts) == 1 and not first.channel.unsent:
        poller = first.ear  # nearly always: spare the lists, and a poller of its own
    else:
        reads = [p.channel.stdout_fd for p in prompts]
        writes = [p.channel.stdin_fd for p in prompts if p.channel.unsent]
        if 0 < left_ns < NS_PER_MS and max(reads + writes) < 1024:
            readable, writable, _ = select.select(reads, writes, [], left_ns / NS_PER_S)
            return readable, now_ns if readable or writable else now_ns + left_ns
        poller = _listening(reads, writes)
    left_ms = left_ns // NS_PER_MS
    ready = dict(poller.poll(left_ms))
    return ready, now_ns if ready else now_ns + left_ms * NS_PER_MS
