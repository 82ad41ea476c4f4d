"""The deadline transport: lines over pairs of descriptors, timed by the referee's monotonic clock.

Theory of operation
-------------------
*Stamps decide, not wake-ups.* A seat's clock starts just before its prompt's ``write`` (stamping afterwards would give
a bot that was woken on our CPU its first milliseconds for free) and ends at the stamp taken when its newline has been
read. A return of ``poll`` proves nothing.

*Own time is limited* (ruling C-03), as `engine.own_time` computes it, whatever the wall clock says. So a seat that is
silent at its deadline is *watched* until it answers, until its own time exceeds the limit by `SETTLE_NS`, or until the
machine has shown that it cannot judge ("watch-ended": no conclusion about any bot).

*Seats are asked one after the other* (ruling C-17). An opponent that spins while a bot thinks costs it its caches,
which no counter shows. So a seat's prompt is written when the seat before it is decided, and `InTurn` gives the
processor to it alone.

*No seat pays for our lateness.* We may be kept from running anywhere, even between waking up and reading the clock. The
kernel reports for how long (our run-queue delay), and the seat whose answer waited meanwhile gets that time back. Past
a deadline the benefit of the doubt reaches back to the last instant at which the seat was certainly silent: a time
noted *before* the call that then found nothing. We look halfway to a deadline, halfway through what is left, and so on,
so this is at most twice the time for which we were kept from running.

*What it used is read where it cannot run.* The kernel books a running thread's CPU time at its ticks, so a reading from
another processor may lack the last 4 ms, and a bot that then claims to have waited would have them for nothing. So if
time seems to have been taken, we read again on the bot's own processor, which our priority takes from it.

*No bot can hold us at another's cost.* Descriptors are non-blocking; lines and reads are bounded. Yet hundreds of
thousands of waiters on a bot's pipe are woken one by one inside our ``write``, and the pipe's lock is held while its
other end copies from absent memory. This time is the bot's own: its clock runs, only our wait for a CPU is deducted,
and stolen time counts from the end of such a write. Lines that need no answer are written before any clock runs. Silent
seats are checked with ``poll``, which does not need the lock. A read in which we slept is the bot's own time too. Who
holds us for seconds is killed (`sandbox.arena`).

*Early output* is checked for just before a prompt is written (ruling C-04); *end of file* ends the wait at once (C-05).
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from time import monotonic_ns, thread_time_ns

from deadheat.engine.chance import Chance
from deadheat.engine.core import MAX_LINE_BYTES, NS_PER_MS, NS_PER_S, Fault, Message, Reply, Seat, TransportError, made
from deadheat.engine.figures import seat_number
from deadheat.engine.own_time import MOST_AWAY_NS, NOISE_NS, WATCH_NS, Evidence
from deadheat.sandbox.attribution import Blame, between, while_silent
from deadheat.sandbox.box import Box, Channel
from deadheat.sandbox.cgroup import delay_between, own_times

READ_BYTES = 64 * 1024
MAX_UNSENT_BYTES = 256 * 1024
"""The most unsent bytes kept: a bot that leaves this much unread is past any deadline."""

LOOK_NS = NOISE_NS // 2
"""How long before a deadline a silent seat is checked for the last time, and how often afterwards. Output found at the
next check came less than NOISE_NS ago unless we were kept from running, so aiming at a deadline gains nothing."""

LOOKS_BACK = 400
"""A long watch is checked less often: each time after this share of the time past the deadline."""

WEIGH_NS = 5 * NS_PER_MS
"""How often the evidence against a silent watched seat is weighed; this takes a dozen reads."""

BEAT_NS = 5 * NS_PER_S
"""How often the heartbeat is called during an exchange, which may be long. It is well within every lease."""

MOST_VISITED = 4
"""The most processors of a box that are visited for a reading. One takes 30 microseconds; a box in a slot has one."""

NO_BEAT_NS = NS_PER_S
"""How long before a deadline there is no heartbeat, because output found after it gets the benefit of the doubt."""


class _Open:
    """An unanswered prompt. `wake_ns`: when to check it next, even if it is silent. `silent_ns`: the last instant at
    which it certainly had no answer. `earlier_ns`: the stolen time according to the counters when they were last read
    before that. `referee_ns`: how long we waited for a CPU while writing it.
    """

    referee_ns = late_ns = weigh_ns = beat_ns = earlier_ns = write_cpu_ns = 0

    def __init__(
        self, seat: Seat, text: str, channel: Channel, ear: select.poll, started_ns: int, limit_ns: int, write_ns: int
    ) -> None:
        self.seat = seat
        self.text = text
        self.channel = channel
        self.ear = ear
        self.started_ns = self.silent_ns = started_ns
        self.limit_ns = limit_ns
        self.write_ns = write_ns
        self.wake_ns = _next_look(started_ns, started_ns + limit_ns)

    @property
    def deadline_ns(self) -> int:
        return self.started_ns + self.limit_ns

    def evidence(self, at_ns: int, unseen_ns: int = 0) -> Evidence:
        """Return the evidence about the seat up to now, if its answer may have been waiting for `unseen_ns`."""
        after = self.channel.meter.counters(fresh=at_ns > self.deadline_ns)
        read_ns = monotonic_ns() - at_ns
        if read_ns > MOST_AWAY_NS:
            raise self.stood_still()
        return between(self.channel.meter.marked(), after, at_ns - self.started_ns)._replace(
            referee_ns=self.referee_ns,
            unseen_ns=unseen_ns,
            earlier_ns=self.earlier_ns if unseen_ns else 0,
            read_ns=read_ns,
            write_cpu_ns=self.write_cpu_ns,
        )

    def exact_evidence(self, at_ns: int, unseen_ns: int) -> Evidence:
        """Return the evidence about an answer. If time seems to be taken, the CPU time is read again where the bot
        cannot run; its waits are not, because it waits for us there.
        """
        evidence = self.evidence(at_ns, unseen_ns)
        if not evidence.stolen_ns:
            return evidence
        with _on(self.channel.meter.cpus):
            again = self.evidence(at_ns, unseen_ns)
        return evidence._replace(cpu_ns=again.cpu_ns, read_ns=again.read_ns)

    def stood_still(self) -> TransportError:
        seat = f"seat {seat_number(self.seat)}"
        return TransportError("referee-late", f"this host stood still while {seat} was asked", seat=self.seat)


class InTurn:
    """Turns on one processor: the seat that is asked takes precedence over all others."""

    def __init__(self, boxes: Sequence[Box], seed: bytes) -> None:
        """`boxes[seat]` are favoured now. `seed` must be secret until the match is over."""
        self._boxes = boxes
        self._chance = Chance(seed)
        self._all = frozenset(range(len(boxes)))
        self._favoured = self._all

    def order(self, seats: list[Seat]) -> Sequence[Seat]:
        """Return the seats in a new random order, because the second one sees how long the first one thought."""
        return [seats.pop(self._chance.below(left)) for left in range(len(seats), 0, -1)]

    def give(self, seat: Seat | None) -> None:
        """Favour this seat, which is about to be asked, alone, or all. It gains weight when others have lost theirs."""
        wanted = self._all if seat is None else frozenset((seat,))
        for other in self._favoured - wanted:
            self._boxes[other].favour(False)
        for other in wanted - self._favoured:
            self._boxes[other].favour(True)
        self._favoured = wanted


def by_seat(messages: Sequence[Message]) -> tuple[dict[Seat, str], dict[Seat, int]]:
    """Return what each seat is sent in one piece, and the limits of those that must answer."""
    texts: dict[Seat, str] = {}
    limits: dict[Seat, int] = {}
    for seat, line, limit_ns in messages:
        texts[seat] = f"{texts[seat]}{line}\n" if seat in texts else line + "\n"
        if limit_ns is not None:
            limits[seat] = limit_ns
    return texts, limits


class PipeTransport:
    """See `engine.core.Transport`; `channels[seat]` are that seat's descriptors."""

    def __init__(
        self,
        channels: Sequence[Channel],
        heartbeat: Callable[[], None] = lambda: None,
        turns: InTurn | None = None,
        watch_ns: int = WATCH_NS,
    ) -> None:
        """`heartbeat` is called before each exchange, and now and then during a long one, which an exception from it
        ends. Without `turns`, seats think as the game asks. Silent seats are watched for `watch_ns` past a deadline.
        """
        self._channels = channels
        self._ears = [_listening([channel.stdout_fd]) for channel in channels]
        self._heartbeat = heartbeat
        self._turns = turns
        self._watch_ns = watch_ns
        self._delay = b""

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        """Write all lines, and wait until every prompted seat is decided, each alone (ruling C-01).

        Raises:
            TransportError: "host-memory": this host ran out of memory; "host-unknown": nothing shows whether a bot that
                missed its deadline was kept from running; "watch-ended": it was, for too long to continue;
                "referee-late": this host stood still while a prompt was written, or before the counters were read.
        """
        self._heartbeat()
        texts, limits = by_seat(messages)
        if not limits and self._turns is not None:
            self._turns.give(None)
        for seat, text in texts.items():
            if seat not in limits:
                _put(self._channels[seat], text)
                _flush(self._channels[seat])
        order = self._turns.order([*limits]) if self._turns is not None and len(limits) > 1 else limits
        return {seat: self._ask(seat, texts[seat], limits[seat]) for seat in order}

    def _ask(self, seat: Seat, text: str, limit_ns: int) -> Reply:
        """Write a seat's lines, the last of which is its prompt, and wait for its reply."""
        channel, ear = self._channels[seat], self._ears[seat]
        if self._turns is not None:
            self._turns.give(seat)
        if channel.unread or ear.poll(0):  # the bot wrote or exited before it was asked
            ended = not channel.unread and _read(channel)
            if channel.unread:
                return Reply(None, 0, Fault.UNEXPECTED)
            if ended:
                return Reply(None, 0, _gone(channel, seat))
        _put(channel, text)
        self._delay = own_times()
        channel.meter.mark()
        started_ns = monotonic_ns()
        _flush(channel)
        write_ns = monotonic_ns() - started_ns
        prompt = _Open(seat, text, channel, ear, started_ns, limit_ns, write_ns)
        if write_ns > NOISE_NS:
            prompt.referee_ns = min(write_ns, self._waited_ns())
            if prompt.referee_ns > MOST_AWAY_NS:
                raise prompt.stood_still()
            before_ns = channel.meter.marked().cpu_ns
            channel.meter.mark()
            prompt.write_cpu_ns = (channel.meter.marked().cpu_ns or 0) - (before_ns or 0)
            prompt.silent_ns += write_ns
        while True:
            reply = self._look(prompt)
            if reply is not None:
                return reply
            if channel.unsent:
                _flush(channel)

    def _waited_ns(self) -> int:
        """Return how long this thread was ready but did not run since the last call."""
        before, self._delay = self._delay, own_times()
        return delay_between(before, self._delay)

    def _look(self, prompt: _Open) -> Reply | None:
        """Wait until there is output, room for unsent input, or time to check the seat. Return its reply, if any."""
        channel, woke_ns, delay_ns = prompt.channel, monotonic_ns(), 0
        was_away = woke_ns - prompt.silent_ns > NOISE_NS
        ready = at_once = was_away and bool(prompt.ear.poll(0))
        if not at_once:
            if was_away:
                prompt.silent_ns = woke_ns
            asleep_ns = woke_ns
            ready = channel.stdout_fd in _sleep(prompt, max(0, prompt.wake_ns - asleep_ns))
            woke_ns = monotonic_ns()
            delay_ns = self._waited_ns() if woke_ns - asleep_ns > NOISE_NS else 0
            if not ready and woke_ns < prompt.wake_ns:
                prompt.silent_ns = max(prompt.silent_ns, woke_ns - delay_ns)
                return None
        began_ns = monotonic_ns()
        if not ready and not prompt.ear.poll(0):  # a read would wait for the pipe's lock
            prompt.silent_ns = began_ns
            return self._silent(prompt, began_ns)
        ran_ns = thread_time_ns()
        ended = _read(channel)
        stamp_ns = monotonic_ns()
        paused_ns = stamp_ns - began_ns
        if paused_ns > NOISE_NS:  # we slept for the rest of it, which only a bot can bring about
            paused_ns = min(paused_ns, thread_time_ns() - ran_ns + self._waited_ns())
        end = channel.unread.find(b"\n")
        if end < 0 and not ended and len(channel.unread) <= MAX_LINE_BYTES:
            prompt.silent_ns = stamp_ns - paused_ns
            return self._silent(prompt, stamp_ns)
        wall_ns = stamp_ns - prompt.started_ns
        if wall_ns <= NOISE_NS and wall_ns <= prompt.limit_ns:  # too short to be late or stolen
            if 0 <= end <= MAX_LINE_BYTES:  # as usual
                late_ns = prompt.late_ns or prompt.write_ns
                return made(Reply, (_line(channel, end), wall_ns, None, channel.meter.spent_ns(), late_ns, 0, None))
            return self._decided(prompt, stamp_ns, None, ended, end)
        since_ns = prompt.silent_ns if at_once else woke_ns
        unseen_ns = delay_ns + began_ns - since_ns  # how long the output may have been there before it was read
        if stamp_ns > prompt.deadline_ns:
            unseen_ns = max(unseen_ns, began_ns - prompt.silent_ns + paused_ns)
        unseen_ns = min(unseen_ns, stamp_ns - prompt.silent_ns)
        evidence = prompt.exact_evidence(stamp_ns, unseen_ns if unseen_ns > NOISE_NS else 0)
        return self._decided(prompt, stamp_ns, evidence, ended, end)

    def _decided(self, prompt: _Open, stamp_ns: int, evidence: Evidence | None, ended: bool, end: int) -> Reply:
        """Decide on a line, or on the end of the output: time first (ruling C-02), then the content."""
        channel = prompt.channel
        if ended and (fault := _gone(channel, prompt.seat)) is Fault.MEMORY:  # the bot's fault, whatever the time
            return _reply(prompt, stamp_ns, evidence, fault=fault)
        if evidence is not None and evidence.wall_ns > prompt.limit_ns and evidence.own_ns > prompt.limit_ns:
            if evidence.frozen or evidence.signal == "none":
                raise self._unjudged(prompt, evidence, Blame.UNKNOWN)
            return _reply(prompt, stamp_ns, evidence, fault=Fault.TIMEOUT)
        if stamp_ns > prompt.deadline_ns + self._watch_ns and evidence is not None:
            raise self._unjudged(prompt, evidence, Blame.HOST)
        if channel.killed and evidence is not None and evidence.stolen_ns > evidence.wall_ns // 2:
            raise self._unjudged(prompt, evidence, Blame.HOST)
        if ended:
            return _reply(prompt, stamp_ns, evidence, fault=fault)
        if end < 0 or end > MAX_LINE_BYTES:
            return _reply(prompt, stamp_ns, evidence, fault=Fault.OVERFLOW)
        return _reply(prompt, stamp_ns, evidence, _line(channel, end))

    def _silent(self, prompt: _Open, stamp_ns: int) -> Reply | None:
        """Decide on a silent seat: keep watching past the deadline while its own time lasts."""
        past_ns = stamp_ns - prompt.deadline_ns
        if past_ns <= 0:
            prompt.wake_ns = _next_look(stamp_ns, prompt.deadline_ns)
            if stamp_ns - max(prompt.beat_ns, prompt.started_ns) >= BEAT_NS and past_ns < -NO_BEAT_NS:
                prompt.beat_ns = stamp_ns
                self._heartbeat()
            return None
        prompt.late_ns = prompt.late_ns or past_ns
        prompt.wake_ns = stamp_ns + max(LOOK_NS, min(WEIGH_NS, past_ns // LOOKS_BACK))
        if stamp_ns < prompt.weigh_ns:
            return None
        prompt.weigh_ns = stamp_ns + WEIGH_NS
        waiting_ns = prompt.channel.meter.waiting_ns()
        evidence = prompt.evidence(stamp_ns)
        blame = while_silent(evidence, prompt.limit_ns, self._watch_ns, waiting_ns)
        if blame is Blame.BOT:
            return _reply(prompt, stamp_ns, evidence, fault=Fault.TIMEOUT)
        if blame is not None:
            raise self._unjudged(prompt, evidence, blame, waiting_ns)
        now_ns = monotonic_ns()
        if not prompt.ear.poll(0):  # still no answer: later unseen time is added to the stolen time so far
            prompt.silent_ns, prompt.earlier_ns = now_ns, evidence.counted_ns
        if stamp_ns - max(prompt.beat_ns, prompt.deadline_ns) > BEAT_NS:
            prompt.beat_ns = stamp_ns
            self._heartbeat()
        return None

    def _unjudged(self, prompt: _Open, evidence: Evidence, blame: Blame, waiting_ns: int = 0) -> TransportError:
        seat = f"seat {seat_number(prompt.seat)}"
        command = prompt.text.rstrip("\n").rpartition("\n")[2].partition(" ")[0]
        facts = {"seat": prompt.seat, "command": command, "limit_ns": prompt.limit_ns, **evidence.as_dict()}
        if blame is Blame.HOST:
            taken_ms = min(evidence.stolen_ns + waiting_ns, evidence.wall_ns) / NS_PER_MS
            return TransportError("watch-ended", f"{seat} was kept from running for {taken_ms:.1f} ms", **facts)
        why = "its container was frozen" if evidence.frozen else "no counter tells whether it was kept from running"
        return TransportError("host-unknown", f"{seat} missed its deadline, and {why}", **facts)


def _next_look(now_ns: int, deadline_ns: int) -> int:
    """Return when to look at a silent seat: halfway to its deadline, in time for a heartbeat, then around it."""
    left_ns = deadline_ns - now_ns
    if left_ns > 2 * BEAT_NS:
        return now_ns + BEAT_NS
    return deadline_ns - max(LOOK_NS, left_ns // 2) if left_ns > LOOK_NS else deadline_ns


def _reply(
    prompt: _Open, stamp_ns: int, evidence: Evidence | None, line: str | None = None, fault: Fault | None = None
) -> Reply:
    """Return the record of an answer or of its absence, with evidence only if time was stolen or ran out."""
    stolen_ns, spent_ns = 0, None
    if evidence is not None:
        stolen_ns, spent_ns = evidence.stolen_ns, evidence.cpu_ns
        if not stolen_ns and fault is not Fault.TIMEOUT:
            evidence = None
    late_ns = prompt.late_ns or prompt.write_ns
    if spent_ns is None:  # nothing was read yet
        spent_ns = prompt.channel.meter.spent_ns()
    if spent_ns is not None:
        spent_ns += prompt.write_cpu_ns
    return made(Reply, (line, stamp_ns - prompt.started_ns, fault, spent_ns, late_ns, stolen_ns, evidence))


def _read(channel: Channel) -> bool:
    """Read at most READ_BYTES of the bot's output. Return whether it has ended with no complete line left."""
    channel.calls += 1
    channel.inside = True
    try:
        data = os.read(channel.stdout_fd, READ_BYTES)
    except BlockingIOError:
        return False
    finally:
        channel.inside = False
    channel.unread += data
    return not data and b"\n" not in channel.unread


def _line(channel: Channel, end: int) -> str:
    """Take the line that ends there from the input read so far."""
    unread = channel.unread
    channel.unread = unread[end + 1 :]
    return unread[:end].decode(errors="surrogateescape")


def _gone(channel: Channel, seat: Seat) -> Fault:
    blame = channel.out_of_memory()
    if blame is Blame.HOST:
        raise TransportError("host-memory", "this host ran out of memory and killed a bot", seat=seat)
    return Fault.MEMORY if blame is Blame.BOT else Fault.EXITED


def _put(channel: Channel, text: str) -> None:
    if len(channel.unsent) < MAX_UNSENT_BYTES:
        channel.unsent += text.encode("ascii")


def _flush(channel: Channel) -> None:
    """Write what the pipe accepts. If the reader is gone, end of file on its output will show it, not an error here."""
    channel.calls += 1
    channel.inside = True
    try:
        while channel.unsent:
            channel.unsent = channel.unsent[os.write(channel.stdin_fd, channel.unsent) :]
    except BlockingIOError:
        pass
    except BrokenPipeError:
        channel.unsent = b""
    finally:
        channel.inside = False


def _listening(reads: Sequence[int], writes: Sequence[int] = ()) -> select.poll:
    poller = select.poll()
    for fd in reads:
        poller.register(fd, select.POLLIN)
    for fd in writes:
        poller.register(fd, select.POLLOUT)
    return poller


def readable(fd: int, seconds: float) -> bool:
    """Wait at most that long, and say whether there is something to read, or the end; a pidfd has only the end."""
    return bool(_listening([fd]).poll(max(0.0, seconds) * 1000))


def _sleep(prompt: _Open, left_ns: int) -> Container[int]:
    """Wait at most `left_ns` for output, or for room for unsent input. Return the ready descriptors.

    poll counts in milliseconds and Python rounds up, so it waits the whole ones only, and select waits the rest.
    """
    ear, channel = prompt.ear, prompt.channel
    if channel.unsent or left_ns < NS_PER_MS:  # rarely; otherwise no lists are needed
        reads, writes = [channel.stdout_fd], [channel.stdin_fd] if channel.unsent else []
        if 0 < left_ns < NS_PER_MS and max(reads + writes) < 1024:
            readable, writable, _ = select.select(reads, writes, [], left_ns / NS_PER_S)
            return readable + writable
        ear = _listening(reads, writes)
    return dict(ear.poll(left_ns // NS_PER_MS))


@contextlib.contextmanager
def _on(cpus: Collection[int]) -> Iterator[None]:
    """Visit a bot's processors, and stay on the last, while our priority keeps the bot from running there."""
    before = os.sched_getaffinity(0)
    ahead = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    if before == set(cpus) or len(cpus) > MOST_VISITED or not ahead:
        yield
        return
    with contextlib.suppress(OSError):  # it is not ours to use
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
