"""The deadline transport over real pipes, with one-line programs in plain subprocesses as bots.

These tests run on shared, noisy machines, where own time gives the same verdicts as on a quiet one.
"""

import os
import select
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Message, Reply, TransportError
from deadheat.sandbox import pipes
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import Channel, Limits, Meter, Program
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import LOOK_NS, InTurn, PipeTransport

LIMIT_NS = 300 * NS_PER_MS
SETTLES_SECONDS = 60


def ask(code: str, lines: Sequence[str] = ("ROLL",), limit_ns: int = LIMIT_NS, *, settled: bool = False) -> list[Reply]:
    """Start `code` as a bot and send it the lines as prompts. If `settled`, the last one is sent only when the bot has
    written something or has ended.
    """
    box = LocalSandbox().open(Program(Path("/"), (sys.executable, "-Sc", code), "test"), Limits())
    try:
        channel = box.start()
        transport = PipeTransport([channel])
        transport.exchange([Message(0, "WARM", 10_000 * NS_PER_MS)])
        *first, last = lines
        replies = [transport.exchange([Message(0, line, limit_ns)])[0] for line in first]
        if settled and not channel.unread:
            assert select.select([channel.stdout_fd], [], [], SETTLES_SECONDS)[0]
        return [*replies, transport.exchange([Message(0, last, limit_ns)])[0]]
    finally:
        box.close()


HELLO = "import sys,time,os\nsys.stdin.readline()\nprint('OK',flush=True)\n"


def test_a_prompt_answer_is_taken_with_its_time() -> None:
    thinks = "line=sys.stdin.readline()\ntime.sleep(0.02)\nsum(range(10**5))\n"  # the referee has looked by then
    limit_ns = 60_000 * NS_PER_MS
    (reply,) = ask(HELLO + thinks + "print('got',line.strip(),flush=True)\ninput()", limit_ns=limit_ns)
    assert reply.line == "got ROLL" and reply.fault is None
    assert 20 * NS_PER_MS <= reply.elapsed_ns < limit_ns
    assert reply.cpu_ns is not None and reply.cpu_ns > 0


def test_silence_is_a_timeout_with_its_real_time() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\ntime.sleep(9)")
    assert (reply.line, reply.fault) == (None, Fault.TIMEOUT)
    assert reply.elapsed_ns >= LIMIT_NS


@pytest.mark.parametrize(
    ("code", "line"),
    [
        pytest.param("sys.stdin.readline()\nprint('BID A',end='',flush=True)\ntime.sleep(9)", "ROLL", id="half a line"),
        pytest.param(
            "sys.stdin.readline()\nwhile 1:\n print('x',end='',flush=True)\n time.sleep(.01)", "ROLL", id="drip"
        ),
        pytest.param("os.close(0)\ntime.sleep(9)", "ROLL", id="closed stdin"),
        pytest.param("time.sleep(9)", "x" * 100_000, id="C-12 more than a pipe holds, and it never reads"),
    ],
)
def test_whatever_is_no_answer_at_the_deadline_is_a_timeout(code: str, line: str) -> None:
    assert ask(HELLO + code, [line])[0].fault is Fault.TIMEOUT


@pytest.mark.parametrize("code", ["print('BID A 1',end='',flush=True)", "os.close(1)\ntime.sleep(9)"])
def test_the_end_of_the_output_is_an_exit_that_is_known_at_once(code: str) -> None:
    (reply,) = ask(f"{HELLO}sys.stdin.readline()\n{code}", limit_ns=60_000 * NS_PER_MS)
    assert reply.fault is Fault.EXITED and reply.elapsed_ns < 30_000 * NS_PER_MS


def test_an_answer_before_exit_counts() -> None:
    replies = ask(HELLO + "sys.stdin.readline()\nprint('last words',flush=True)", ["A", "B"], settled=True)
    assert replies[0].line == "last words" and replies[1].fault is Fault.EXITED


@pytest.mark.parametrize("output", ["'a\\nb'", "'a\\n'+'b'*3"])
def test_a_second_line_is_unexpected_at_the_next_prompt(output: str) -> None:
    replies = ask(HELLO + f"sys.stdin.readline()\nprint({output},flush=True)\ntime.sleep(9)", ["A", "B"], settled=True)
    assert replies[0].line == "a" and replies[1].fault is Fault.UNEXPECTED


def test_output_before_it_was_asked_for_is_unexpected() -> None:
    (reply,) = ask(HELLO + "print('early',flush=True)\ntime.sleep(9)", settled=True)
    assert (reply.fault, reply.elapsed_ns) == (Fault.UNEXPECTED, 0)


def test_a_line_of_4096_bytes_is_fine_and_one_more_is_overflow() -> None:
    program = HELLO + "n=int(sys.stdin.readline())\nprint('x'*n,flush=True)\ntime.sleep(9)"
    assert ask(program, ["4096"])[0].line == "x" * 4096 and ask(program, ["4097"])[0].fault is Fault.OVERFLOW


def test_an_endless_line_is_overflow_without_waiting() -> None:
    program = HELLO + "sys.stdin.readline()\nwhile 1: os.write(1,b'x'*9999)"
    (reply,) = ask(program, limit_ns=60_000 * NS_PER_MS)
    assert reply.fault is Fault.OVERFLOW and reply.elapsed_ns < 30_000 * NS_PER_MS


def test_bytes_that_are_no_text_arrive_as_surrogates() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\nos.write(1,b'\\xff\\x00\\xc3\\xa9\\n')\ntime.sleep(9)")
    assert reply.line == "\udcff\x00é"


def test_a_long_line_reaches_a_bot_that_reads_slowly() -> None:
    program = HELLO + "time.sleep(.3)\nprint(len(sys.stdin.readline()),flush=True)\ntime.sleep(9)"
    assert ask(program, ["x" * 100_000], limit_ns=60_000 * NS_PER_MS)[0].line == "100001"


def pair() -> tuple[Channel, int, int]:
    """Return a channel and the bot's two ends of it."""
    to_bot, from_bot = os.pipe(), os.pipe()
    for fd in (to_bot[1], from_bot[0]):
        os.set_blocking(fd, False)
    return Channel(to_bot[1], from_bot[0]), to_bot[0], from_bot[1]


def answer_after(delay_s: float, stdin: int, stdout: int, *, line: bytes = b"OK\n") -> None:
    """Let the bot with these two ends answer its next prompt after this delay."""

    def bot() -> None:
        os.read(stdin, 99)
        time.sleep(delay_s)
        os.write(stdout, line)

    threading.Thread(target=bot, daemon=True).start()


def test_both_seats_are_looked_at_even_if_the_first_fails_at_once() -> None:
    (one, _, out), (two, *other) = pair(), pair()
    os.close(out)
    answer_after(0.1, *other, line=b"late but fine\n")
    replies = PipeTransport([one, two]).exchange([Message(0, "A", LIMIT_NS), Message(1, "A", 100 * LIMIT_NS)])
    assert replies[0].fault is Fault.EXITED and replies[1].line == "late but fine"


class Noted(InTurn):
    """Turns in a given order, which note who was given the processor, and what the others had been sent by then."""

    def __init__(self, order: Sequence[int], inputs: Sequence[int]) -> None:
        self.wanted, self.inputs = order, inputs
        self.seen: list[tuple[int | None, list[int]]] = []

    def order(self, asked: list[int]) -> Sequence[int]:
        assert sorted(asked) == sorted(self.wanted)
        return self.wanted

    def give(self, seat: int | None) -> None:
        self.seen.append((seat, [n for n, fd in enumerate(self.inputs) if select.select([fd], [], [], 0)[0]]))


def test_c17_seats_that_are_asked_together_think_one_after_the_other() -> None:
    channels = [pair() for _ in range(3)]
    for _, stdin, stdout in channels:
        answer_after(0.05, stdin, stdout)
    turns = Noted([2, 0, 1], [stdin for _, stdin, _ in channels])
    transport = PipeTransport([channel for channel, _, _ in channels], turns=turns)
    replies = transport.exchange([Message(seat, "A", 100 * LIMIT_NS) for seat in range(3)])
    assert [replies[seat].line for seat in range(3)] == ["OK"] * 3
    assert turns.seen == [(2, []), (0, []), (1, [])], "nobody was asked before the one before had answered"
    transport.exchange([Message(1, "FINISH")])
    assert turns.seen[-1] == (None, [])


def test_time_that_seems_taken_while_the_bot_ran_was_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It made its first thread wait behind another of its own. CPU time is read again where the bot cannot run."""

    class Spun(Meter):
        """A meter whose second reading after the answer shows more CPU time than the first."""

        readings = 0

        def marked(self) -> Counters:
            return Counters(cpu_ns=0, full_ns=0, processors=1)

        def counters(self, fresh: bool = True) -> Counters:
            self.readings += 1
            return Counters(cpu_ns=(0, 0, 8, 9)[self.readings] * NS_PER_MS, full_ns=10 * NS_PER_MS, processors=1)

    channel, _, stdout = pair()
    channel.meter = Spun()
    clock = ScriptedClock(0, 0, (partial(os.write, stdout, b"OK\n"), 0), 10 * NS_PER_MS)
    monkeypatch.setattr("deadheat.sandbox.pipes.monotonic_ns", clock)
    monkeypatch.setattr("deadheat.sandbox.pipes.own_times", lambda: b"1 0 1")
    reply = PipeTransport([channel]).exchange([Message(0, "A", 100 * NS_PER_MS)])[0]
    assert (reply.line, reply.own_ns) == ("OK", 9 * NS_PER_MS)
    assert reply.evidence is not None and reply.evidence.cpu_ns == 9 * NS_PER_MS


def test_an_answer_after_the_end_of_the_watch_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, stdin, stdout = pair()
    channel.meter = ScriptedMeter(1.0)
    transport = PipeTransport([channel], watch_ns=0)
    monkeypatch.setattr(transport, "_silent", lambda *_: None)
    answer_after(0.1, stdin, stdout)
    with pytest.raises(TransportError) as caught:
        transport.exchange([Message(0, "A", NS_PER_MS)])
    assert caught.value.cause == "watch-ended"


def test_a_host_that_stood_still_while_it_wrote_is_no_referee(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.sandbox.pipes.MOST_AWAY_NS", NS_PER_MS)
    with pytest.raises(TransportError) as caught:
        scripted(monkeypatch, 0, 100 * NS_PER_MS, ("OK\n", 100 * NS_PER_MS), delay_ns=20 * NS_PER_MS)
    assert caught.value.cause == "referee-late"


def test_counters_that_are_read_long_after_an_answer_say_nothing_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stamp_ns = LIMIT_NS // 2
    with pytest.raises(TransportError) as caught:
        scripted(monkeypatch, 0, 0, ANSWERED, stamp_ns, stamp_ns, stamp_ns, stamp_ns + 2_001 * NS_PER_MS)
    assert caught.value.cause == "referee-late"


def test_notices_and_the_prompt_arrive_in_order() -> None:
    channel, stdin, stdout = pair()
    os.set_blocking(stdin, True)
    threading.Thread(target=lambda: os.write(stdout, os.read(stdin, 99).replace(b"\n", b"|") + b"\n")).start()
    messages = [Message(0, "GET A B 1"), Message(0, "SCORE", 10_000 * NS_PER_MS)]
    assert PipeTransport([channel]).exchange(messages)[0].line == "GET A B 1|SCORE|"


class ScriptedClock:
    """Returns these readings in turn, then the last one for ever. A reading may begin with an action."""

    def __init__(self, *readings: int | tuple[Callable[[], object], int]) -> None:
        self.readings = list(readings)

    def __call__(self) -> int:
        reading = self.readings[0] if len(self.readings) == 1 else self.readings.pop(0)
        if isinstance(reading, int):
            return reading
        do, now_ns = reading
        do()
        return now_ns


class Stole(Meter):
    """A meter that reports this much stolen just after the prompt, and nothing since."""

    def __init__(self, stolen_ns: int) -> None:
        self.stolen_ns = stolen_ns

    def marked(self) -> Counters:
        return Counters(cpu_ns=0, full_ns=0)

    def counters(self, fresh: bool = True) -> Counters:
        return Counters(cpu_ns=0, full_ns=self.stolen_ns)


def scripted(
    monkeypatch: pytest.MonkeyPatch,
    *readings: int | tuple[str, int],
    limit_ns: int = LIMIT_NS,
    stolen_ns: int = 0,
    delay_ns: int = 0,
) -> Reply:
    """Return the reply if the referee's clock shows these readings; the bot writes a reading's text just before it.

    `delay_ns` is how long the referee waited for a CPU before it woke.
    """
    channel, _, stdout = pair()
    channel.meter = Stole(stolen_ns)
    script = [r if isinstance(r, int) else (partial(os.write, stdout, r[0].encode()), r[1]) for r in readings]
    monkeypatch.setattr("deadheat.sandbox.pipes.monotonic_ns", ScriptedClock(*script))
    delays = ScriptedClock(0, delay_ns)
    monkeypatch.setattr("deadheat.sandbox.pipes.own_times", lambda: b"1 %d 1" % delays())
    return PipeTransport([channel]).exchange([Message(0, "A", limit_ns)])[0]


ANSWERED = ("OK\n", 0)
"""The third reading of the clock is just before the referee sleeps, so what is written there wakes it at once."""


def test_an_answer_is_not_late_because_the_referee_slept_into_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer came in time, but the referee could not run until a moment after the deadline."""
    reply = scripted(monkeypatch, 0, 0, ANSWERED, LIMIT_NS + NS_PER_MS)
    assert (reply.line, reply.elapsed_ns) == ("OK", LIMIT_NS + NS_PER_MS)
    assert reply.stolen_ns == LIMIT_NS + NS_PER_MS  # the answer may have come immediately
    assert reply.evidence is not None and reply.evidence.unseen_ns == reply.stolen_ns


def test_the_benefit_of_the_doubt_reaches_back_to_the_last_look_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bot was silent when three quarters of its time were over, so a later answer took at least that long."""
    limit_ns, found_ns = 20 * NS_PER_MS, 21 * NS_PER_MS
    channel, _, stdout = pair()
    channel.meter = Stole(0)
    now_ns = 0

    def sleep(prompt: Any, _left_ns: int) -> list[int]:
        nonlocal now_ns
        if prompt.wake_ns <= limit_ns * 3 // 4:
            now_ns = prompt.wake_ns
            return []
        os.write(stdout, b"OK\n")
        now_ns = found_ns
        return [channel.stdout_fd]

    monkeypatch.setattr("deadheat.sandbox.pipes.monotonic_ns", lambda: now_ns)
    monkeypatch.setattr("deadheat.sandbox.pipes._sleep", sleep)
    reply = PipeTransport([channel]).exchange([Message(0, "A", limit_ns)])[0]
    assert (reply.line, reply.elapsed_ns, reply.own_ns) == ("OK", found_ns, limit_ns * 3 // 4)


def test_an_answer_is_not_late_because_the_referee_stood_still_between_waking_and_reading(monkeypatch) -> None:
    woke_ns = LIMIT_NS - NS_PER_MS
    assert scripted(monkeypatch, 0, 0, ANSWERED, woke_ns, woke_ns, LIMIT_NS + NS_PER_MS).line == "OK"


def test_an_answer_that_was_read_by_the_deadline_is_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = scripted(monkeypatch, 0, 0, ANSWERED, LIMIT_NS, LIMIT_NS)
    assert (reply.line, reply.stolen_ns, reply.evidence) == ("OK", 0, None)


@pytest.mark.parametrize("limit_ns", [0, 1_000, NS_PER_MS // 10])
def test_what_is_left_of_a_bank_is_a_limit_however_little_it_is(monkeypatch: pytest.MonkeyPatch, limit_ns: int) -> None:
    """An answer after the limit is late however quick it was (B-11)."""
    reply = scripted(monkeypatch, 0, 0, ANSWERED, limit_ns + 50_000, limit_ns=limit_ns)
    assert (reply.fault, reply.elapsed_ns) == (Fault.TIMEOUT, limit_ns + 50_000)


def test_a_bank_is_not_charged_what_the_referee_waited_for_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = scripted(monkeypatch, 0, 0, ANSWERED, 80 * NS_PER_MS, delay_ns=30 * NS_PER_MS)
    assert (reply.elapsed_ns, reply.own_ns) == (80 * NS_PER_MS, 50 * NS_PER_MS)


def test_an_answer_just_after_the_deadline_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The referee looks a moment before each deadline, so it is certain when the answer came."""
    limit_ns, before_ns, after_ns = 2 * NS_PER_MS, 2 * NS_PER_MS - LOOK_NS, 2 * NS_PER_MS + NS_PER_MS // 20
    readings = (0, 0, 0, before_ns, before_ns, before_ns, ("OK\n", before_ns), after_ns)
    assert scripted(monkeypatch, *readings, limit_ns=limit_ns).fault is Fault.TIMEOUT


def test_a_drip_is_no_reason_to_doubt_either(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_ns, after_ns = 2 * NS_PER_MS, 2 * NS_PER_MS + NS_PER_MS // 20
    drip = [reading for now_ns in range(0, limit_ns, limit_ns // 10) for reading in (("x", now_ns), *(now_ns,) * 3)]
    assert scripted(monkeypatch, 0, 0, *drip, ("\n", limit_ns), after_ns, limit_ns=limit_ns).fault is Fault.TIMEOUT


@pytest.mark.parametrize(("found_ms", "fault"), [(10.3, None), (15, None), (15.2, Fault.TIMEOUT), (24, Fault.TIMEOUT)])
def test_past_the_deadline_own_time_decides(monkeypatch, found_ms: float, fault: Fault | None) -> None:
    """The host stole 5 of the bot's 10 ms, so it had until 15. It was silent until a moment before it answered."""
    limit_ns, found_ns = 10 * NS_PER_MS, int(found_ms * NS_PER_MS)
    silent_ns = found_ns - NS_PER_MS // 10
    readings = (0, 0, 0, *(silent_ns,) * 4, ("OK\n", silent_ns), found_ns)
    reply = scripted(monkeypatch, *readings, limit_ns=limit_ns, stolen_ns=5 * NS_PER_MS)
    assert reply.fault is fault
    assert (reply.elapsed_ns, reply.stolen_ns) == (found_ns, 5 * NS_PER_MS)


def test_what_was_taken_before_the_referee_was_kept_from_looking_counts_too(monkeypatch) -> None:
    """The bot was silent at 12 ms, 7 of them its own. Its answer may have been there ever since."""
    limit_ns, silent_ns, found_ns = 10 * NS_PER_MS, 12 * NS_PER_MS, 30 * NS_PER_MS
    readings = (0, 0, 0, *(silent_ns,) * 4, ("OK\n", silent_ns), found_ns)
    reply = scripted(monkeypatch, *readings, limit_ns=limit_ns, stolen_ns=5 * NS_PER_MS)
    assert (reply.line, reply.own_ns) == ("OK", 7 * NS_PER_MS)


@pytest.mark.parametrize(("stolen_ns", "fault"), [(NS_PER_MS, Fault.EXITED), (0, Fault.TIMEOUT)])
def test_own_time_decides_about_a_bot_that_leaves_late(monkeypatch, stolen_ns: int, fault: Fault) -> None:
    channel, _, out = pair()
    channel.meter = Stole(stolen_ns)
    clock = ScriptedClock(0, 0, 0, *(600_000,) * 4, (partial(os.close, out), 600_000), 700_000)
    monkeypatch.setattr("deadheat.sandbox.pipes.monotonic_ns", clock)
    assert PipeTransport([channel]).exchange([Message(0, "A", 590_000)])[0].fault is fault


def test_what_is_only_told_is_written_before_any_clock_runs() -> None:
    (asked, _, answer), (told, heard, _) = pair(), pair()
    os.set_blocking(heard, False)
    before: list[bytes] = []

    class Noting(Meter):
        def mark(self) -> None:
            if not before:  # after a slow write, it is called once more
                before.append(os.read(heard, 99))
                os.write(answer, b"OK\n")

    asked.meter = Noting()
    PipeTransport([asked, told]).exchange([Message(0, "A", LIMIT_NS), Message(1, "B")])
    assert before == [b"B\n"]


def test_an_answer_during_the_slow_write_of_its_own_prompt_has_used_that_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that makes our writes slow must not compute meanwhile for nothing."""
    (slow, _, answer), (other, _, others) = pair(), pair()

    def flush(channel: Channel) -> None:
        if channel is slow:
            os.write(answer, b"OK\n")
            time.sleep(0.2)
        else:
            threading.Timer(0.2, os.write, (others, b"OK\n")).start()

    monkeypatch.setattr("deadheat.sandbox.pipes._flush", flush)
    monkeypatch.setattr("deadheat.sandbox.pipes.delay_between", lambda *_: 0)  # as if we never waited for a CPU
    replies = PipeTransport([slow, other]).exchange([Message(seat, "A", 100 * LIMIT_NS) for seat in (0, 1)])
    assert replies[0].own_ns >= 199 * NS_PER_MS


def test_what_was_stolen_counts_from_the_end_of_a_slow_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the bot's own processor the write keeps it from running, which is its own doing too."""
    channel, _, answer = pair()
    wrote = threading.Event()

    class Waits(Meter):
        """Its bot waits while the write lasts."""

        at_ns = 0

        def mark(self) -> None:
            self.at_ns = 200 * NS_PER_MS if wrote.is_set() else 0

        def marked(self) -> Counters:
            return Counters(cpu_ns=0, full_ns=self.at_ns)

        def counters(self, fresh: bool = True) -> Counters:
            return Counters(cpu_ns=0, full_ns=200 * NS_PER_MS)

    def flush(_: Channel) -> None:
        time.sleep(0.2)
        wrote.set()
        os.write(answer, b"OK\n")

    channel.meter = Waits()
    monkeypatch.setattr("deadheat.sandbox.pipes._flush", flush)
    reply = PipeTransport([channel]).exchange([Message(0, "A", 100 * LIMIT_NS)])[0]
    host_ns = reply.evidence.referee_ns + reply.evidence.unseen_ns if reply.evidence else 0  # the host's part
    assert reply.own_ns + host_ns >= 199 * NS_PER_MS


def test_what_a_bot_computes_during_a_slow_write_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """We waited for a CPU for 90 of the 100 ms, and it used another for 95."""

    class Busy(Stole):
        marks = 0

        def mark(self) -> None:
            self.marks += 1

        def marked(self) -> Counters:
            return Counters(cpu_ns=95 * NS_PER_MS * (self.marks - 1), full_ns=0, processors=1)

        def counters(self, fresh: bool = True) -> Counters:
            return Counters(cpu_ns=95 * NS_PER_MS, full_ns=0, processors=1)

    monkeypatch.setitem(globals(), "Stole", Busy)
    reply = scripted(monkeypatch, 0, 100 * NS_PER_MS, ("OK\n", 100 * NS_PER_MS), delay_ns=90 * NS_PER_MS)
    assert (reply.elapsed_ns, reply.own_ns) == (100 * NS_PER_MS, 95 * NS_PER_MS)


def spin(seconds: float) -> None:
    """Be as a thread that is kept from running: let time pass without sleeping."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        pass


@pytest.mark.parametrize(("pause", "fault"), [(spin, None), (time.sleep, Fault.TIMEOUT)])
def test_a_read_past_the_deadline_is_this_hosts_doing_unless_the_bot_holds_the_pipe(monkeypatch, pause, fault) -> None:
    """A bot holds its pipe's lock across the deadline by writing from memory that is not there, and we sleep."""
    channel, _, answer = pair()
    channel.meter = Stole(0)
    transport = PipeTransport([channel])

    def read(channel: Channel) -> bool:
        pause(0.2)
        return ours(channel)

    ours = pipes._read
    monkeypatch.setattr("deadheat.sandbox.pipes._read", read)
    monkeypatch.setattr("deadheat.sandbox.pipes._flush", lambda _: os.write(answer, b"OK\n"))
    for _ in range(1 if fault else 2):
        assert transport.exchange([Message(0, "A", 150 * NS_PER_MS)])[0].fault is fault


def test_time_inside_our_own_write_is_the_readers_unless_we_waited_for_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many waiters, or a hold on the pipe, made the call last 100 ms. The referee did not run for 20 of them, and the
    other 80 are the reader's.
    """
    readings = (0, 100 * NS_PER_MS, ("OK\n", 100 * NS_PER_MS), 110 * NS_PER_MS)
    reply = scripted(monkeypatch, *readings, delay_ns=20 * NS_PER_MS)
    assert (reply.elapsed_ns, reply.own_ns) == (110 * NS_PER_MS, 90 * NS_PER_MS)


class ScriptedMeter(Meter):
    """A meter that reports this share of the time since its first reading stolen."""

    def __init__(self, stolen_share: float) -> None:
        self.stolen_share = stolen_share
        self.origin_ns: int | None = None

    def counters(self, fresh: bool = True) -> Counters:
        now_ns = time.monotonic_ns()
        self.origin_ns = self.origin_ns or now_ns
        return Counters(cpu_ns=0, full_ns=int((now_ns - self.origin_ns) * self.stolen_share))


def watched(stolen_share: float, answer_s: float | None, limit_ms: int = 100, watch_ms: int = 60_000) -> Reply:
    """Miss a deadline while this share of the time is stolen, and answer after `answer_s` or never."""
    channel, stdin, stdout = pair()
    channel.meter = ScriptedMeter(stolen_share)
    if answer_s is not None:
        answer_after(answer_s, stdin, stdout)
    transport = PipeTransport([channel], watch_ns=watch_ms * NS_PER_MS)
    return transport.exchange([Message(0, "A", limit_ms * NS_PER_MS)])[0]


def test_an_answer_that_the_host_delayed_counts() -> None:
    reply = watched(0.9, answer_s=1.1, limit_ms=1000)
    assert reply.line == "OK" and reply.elapsed_ns > 1000 * NS_PER_MS and reply.own_ns <= 1000 * NS_PER_MS
    assert reply.evidence is not None and reply.evidence.stolen_ns == reply.stolen_ns


def test_silence_that_was_too_long_in_spite_of_what_the_host_took_is_a_timeout_with_its_evidence() -> None:
    reply = watched(0.2, answer_s=None)
    assert reply.fault is Fault.TIMEOUT and reply.evidence is not None
    assert reply.evidence.own_ns == reply.own_ns
    assert reply.own_ns > 100 * NS_PER_MS


def test_silence_is_convicted_as_soon_as_its_own_time_is_over() -> None:
    began = time.monotonic()
    assert watched(0.0, answer_s=None).fault is Fault.TIMEOUT
    assert time.monotonic() - began < 30  # not at the end of the watch, which lasts a minute


def test_a_wait_that_lasts_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    until_ns = time.monotonic_ns() + 400 * NS_PER_MS
    monkeypatch.setattr(ScriptedMeter, "waiting_ns", lambda _: 400 * NS_PER_MS if time.monotonic_ns() < until_ns else 0)
    reply = watched(0.0, answer_s=None)
    assert reply.fault is Fault.TIMEOUT
    assert time.monotonic_ns() >= until_ns


def test_silence_of_which_all_was_stolen_is_the_machines_failure() -> None:
    with pytest.raises(TransportError) as caught:
        watched(1.0, answer_s=None, limit_ms=10, watch_ms=100)
    assert (caught.value.cause, caught.value.evidence["seat"]) == ("watch-ended", 0)


def test_the_heartbeat_goes_on_in_a_long_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.sandbox.pipes.BEAT_NS", 20 * NS_PER_MS)
    channel, _, _ = pair()
    channel.meter = meter = ScriptedMeter(1.0)
    beats = 0

    def beat() -> None:
        nonlocal beats
        beats += 1
        if beats == 4:
            meter.stolen_share = 0.2  # from now on, its own time may end the watch

    transport = PipeTransport([channel], beat)
    assert transport.exchange([Message(0, "A", 200 * NS_PER_MS)])[0].fault is Fault.TIMEOUT
    assert beats >= 4, "before the exchange, and during the watch"


@pytest.mark.parametrize(
    ("limit_ms", "beats"),
    [
        pytest.param(60_000, [0, *range(5, 60, 5)], id="a lease would expire meanwhile"),
        pytest.param(5_500, [0], id="none in the last second"),
    ],
)
def test_the_heartbeat_goes_on_during_a_long_limit(monkeypatch, limit_ms: int, beats: list[int]) -> None:
    """Otherwise a bot could let the lease of its series expire, and with it the results so far."""
    channel, _, stdout = pair()
    now_ns, answers_ns, seen_s = 0, (limit_ms - 1) * NS_PER_MS, list[int]()

    def sleep(prompt: Any, _left_ns: int) -> list[int]:
        nonlocal now_ns
        now_ns = min(prompt.wake_ns, answers_ns)
        if now_ns < answers_ns:
            return []
        os.write(stdout, b"OK\n")
        return [channel.stdout_fd]

    monkeypatch.setattr("deadheat.sandbox.pipes.monotonic_ns", lambda: now_ns)
    monkeypatch.setattr("deadheat.sandbox.pipes._sleep", sleep)
    transport = PipeTransport([channel], lambda: seen_s.append(now_ns // NS_PER_S))
    reply = transport.exchange([Message(0, "A", limit_ms * NS_PER_MS)])[0]
    assert (reply.line, reply.elapsed_ns, seen_s) == ("OK", answers_ns, beats)


def test_where_no_counter_tells_anything_nobody_is_convicted() -> None:
    channel, _, _ = pair()
    with pytest.raises(TransportError) as caught:
        PipeTransport([channel]).exchange([Message(0, "A", 10 * NS_PER_MS)])
    assert caught.value.cause == "host-unknown"
