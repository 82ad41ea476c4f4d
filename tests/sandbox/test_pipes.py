"""The deadline transport over real pipes. Bots are one-line programs in plain subprocesses.

These tests run on shared, noisy machines. A verdict that the transport itself declares void says nothing about the code
under test, so such an exchange is tried again with a fresh bot; ten voids in a row fail.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from engine.core import NS_PER_MS, Fault, Message, Reply, TransportError
from sandbox.attribution import Counters
from sandbox.box import Channel, Limits, NoMeter, Program
from sandbox.local import LocalSandbox
from sandbox.pipes import LOOK_NS, PipeTransport

T = TypeVar("T")

LIMIT_NS = 300 * NS_PER_MS


def unless_void(attempt: Callable[[], T]) -> T:
    for _ in range(10):
        try:
            return attempt()
        except TransportError as error:
            if error.cause not in ("referee-late", "host-starved", "host-unknown"):
                raise
    raise AssertionError("this host was too late to judge ten times in a row")


def ask(code: str, lines: Sequence[str] = ("ROLL",), limit_ns: int = LIMIT_NS, patience_s: float = 0.0) -> list[Reply]:
    """Start `code` as a bot and send the lines, each as a prompt, waiting `patience_s` before each."""

    def attempt() -> list[Reply]:
        box = LocalSandbox().open(Program(Path("/"), (sys.executable, "-Sc", code), "test"), Limits())
        try:
            transport = PipeTransport([box.start()])
            replies = [transport.exchange([Message(0, "WARM", 10_000 * NS_PER_MS)])[0]]
            for line in lines:
                time.sleep(patience_s)
                replies.append(transport.exchange([Message(0, line, limit_ns)])[0])
            return replies[1:]
        finally:
            box.close()

    return unless_void(attempt)


HELLO = "import sys,time,os\nsys.stdin.readline()\nprint('OK',flush=True)\n"


def test_a_prompt_answer_is_taken_with_its_time() -> None:
    (reply,) = ask(HELLO + "line=sys.stdin.readline()\nprint('got',line.strip(),flush=True)\ninput()")
    assert reply.line == "got ROLL"
    assert reply.fault is None
    assert 0 < reply.elapsed_ns <= LIMIT_NS
    assert reply.cpu_ns is not None and reply.cpu_ns > 0


def test_silence_is_a_timeout_with_its_real_time() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\ntime.sleep(9)")
    assert (reply.line, reply.fault) == (None, Fault.TIMEOUT)
    assert reply.elapsed_ns >= LIMIT_NS


def test_half_a_line_at_the_deadline_is_a_timeout() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\nprint('BID A',end='',flush=True)\ntime.sleep(9)")
    assert reply.fault is Fault.TIMEOUT


def test_a_slow_drip_of_bytes_does_not_extend_the_deadline() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\nwhile 1:\n print('x',end='',flush=True)\n time.sleep(.01)")
    assert reply.fault is Fault.TIMEOUT


def test_exit_is_known_at_once_and_bytes_without_newline_are_no_reply() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\nprint('BID A 1',end='',flush=True)", limit_ns=60_000 * NS_PER_MS)
    assert reply.fault is Fault.EXITED
    assert reply.elapsed_ns < 30_000 * NS_PER_MS


def test_an_answer_before_exit_counts() -> None:
    replies = ask(HELLO + "sys.stdin.readline()\nprint('last words',flush=True)", ["A", "B"], patience_s=0.5)
    assert replies[0].line == "last words"
    assert replies[1].fault is Fault.EXITED


def test_closing_stdout_is_an_exit() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\nos.close(1)\ntime.sleep(9)", limit_ns=60_000 * NS_PER_MS)
    assert reply.fault is Fault.EXITED


@pytest.mark.parametrize("output", ["'a\\nb'", "'a\\n'+'b'*3"])
def test_a_second_line_is_unexpected_at_the_next_prompt(output: str) -> None:
    replies = ask(
        HELLO + f"sys.stdin.readline()\nprint({output},flush=True)\ntime.sleep(9)", ["A", "B"], patience_s=0.3
    )
    assert replies[0].line == "a"
    assert replies[1].fault is Fault.UNEXPECTED


def test_output_before_it_was_asked_for_is_unexpected() -> None:
    (reply,) = ask(HELLO + "print('early',flush=True)\ntime.sleep(9)", patience_s=0.5)
    assert (reply.fault, reply.elapsed_ns) == (Fault.UNEXPECTED, 0)


def test_a_line_of_4096_bytes_is_fine_and_one_more_is_overflow() -> None:
    program = HELLO + "n=int(sys.stdin.readline())\nprint('x'*n,flush=True)\ntime.sleep(9)"
    assert ask(program, ["4096"])[0].line == "x" * 4096
    assert ask(program, ["4097"])[0].fault is Fault.OVERFLOW


def test_an_endless_line_is_overflow_without_waiting() -> None:
    program = HELLO + "sys.stdin.readline()\nwhile 1: os.write(1,b'x'*9999)"
    (reply,) = ask(program, limit_ns=60_000 * NS_PER_MS)
    assert reply.fault is Fault.OVERFLOW
    assert reply.elapsed_ns < 30_000 * NS_PER_MS


def test_bytes_that_are_no_text_arrive_as_surrogates() -> None:
    (reply,) = ask(HELLO + "sys.stdin.readline()\nos.write(1,b'\\xff\\x00\\xc3\\xa9\\n')\ntime.sleep(9)")
    assert reply.line == "\udcff\x00é"


def test_a_bot_that_never_reads_times_out_and_blocks_nobody() -> None:
    """64 KiB fill a pipe: afterwards the write would block (ruling C-12)."""
    (reply,) = ask(HELLO + "time.sleep(9)", ["x" * 100_000])
    assert reply.fault is Fault.TIMEOUT


def test_a_long_line_reaches_a_bot_that_reads_slowly() -> None:
    program = HELLO + "time.sleep(.3)\nprint(len(sys.stdin.readline()),flush=True)\ntime.sleep(9)"
    assert ask(program, ["x" * 100_000], limit_ns=60_000 * NS_PER_MS)[0].line == "100001"


def test_closing_stdin_alone_is_no_fault_until_the_deadline() -> None:
    (reply,) = ask(HELLO + "os.close(0)\ntime.sleep(9)", patience_s=0.3)
    assert reply.fault is Fault.TIMEOUT


def pair() -> tuple[Channel, int, int]:
    """A channel and the bot's two ends of it."""
    to_bot, from_bot = os.pipe(), os.pipe()
    for fd in (to_bot[1], from_bot[0]):
        os.set_blocking(fd, False)
    return Channel(to_bot[1], from_bot[0]), to_bot[0], from_bot[1]


def test_both_seats_are_looked_at_even_if_the_first_fails_at_once() -> None:
    def attempt() -> dict[int, Reply]:
        (one, _, out), (two, _, other) = pair(), pair()
        os.close(out)
        threading.Timer(0.1, os.write, (other, b"late but fine\n")).start()
        return dict(PipeTransport([one, two]).exchange([Message(0, "A", LIMIT_NS), Message(1, "A", LIMIT_NS)]))

    replies = unless_void(attempt)
    assert replies[0].fault is Fault.EXITED
    assert replies[1].line == "late but fine"


def test_notices_and_the_prompt_arrive_in_order() -> None:
    channel, stdin, stdout = pair()
    os.set_blocking(stdin, True)
    threading.Thread(target=lambda: os.write(stdout, os.read(stdin, 99).replace(b"\n", b"|") + b"\n")).start()
    messages = [Message(0, "GET A B 1"), Message(0, "SCORE", 10_000 * NS_PER_MS)]
    assert PipeTransport([channel]).exchange(messages)[0].line == "GET A B 1|SCORE|"


class StalledClock:
    """A clock that jumps: the referee was not running for `jump_ns` when it next looks after `calls` readings."""

    def __init__(self, calls: int, jump_ns: int) -> None:
        self.calls, self.jump_ns, self.offset_ns = calls, jump_ns, 0

    def __call__(self) -> int:
        self.calls -= 1
        if self.calls == 0:
            self.offset_ns = self.jump_ns
        return time.monotonic_ns() + self.offset_ns


def stall(monkeypatch: pytest.MonkeyPatch, calls: int, jump_ns: int) -> None:
    monkeypatch.setattr("sandbox.pipes.monotonic_ns", StalledClock(calls, jump_ns))


def test_a_referee_that_wakes_late_convicts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, _, _ = pair()
    stall(monkeypatch, 4, 50 * NS_PER_MS + LIMIT_NS)
    with pytest.raises(TransportError) as caught:
        PipeTransport([channel]).exchange([Message(0, "A", LIMIT_NS)])
    assert caught.value.cause == "referee-late"
    assert isinstance(caught.value.evidence["late_ns"], int) and caught.value.evidence["late_ns"] > 0


def test_an_answer_found_after_the_deadline_convicts_nobody_and_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, _, stdout = pair()
    threading.Timer(0.05, os.write, (stdout, b"in time?\n")).start()
    stall(monkeypatch, 4, LIMIT_NS)  # the answer arrives, and our next look at the clock is past the deadline
    with pytest.raises(TransportError) as caught:
        PipeTransport([channel]).exchange([Message(0, "A", LIMIT_NS)])
    assert caught.value.cause == "referee-late"


def test_time_inside_our_own_write_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, _, _ = pair()
    stall(monkeypatch, 2, 100 * NS_PER_MS)  # between the stamp before the write and the one after it
    with pytest.raises(TransportError) as caught:
        PipeTransport([channel]).exchange([Message(0, "A", LIMIT_NS)])
    assert caught.value.evidence["write_ns"] >= 100 * NS_PER_MS  # type: ignore[operator]


class ScriptedClock:
    """Says these readings one after the other, then the last of them for ever; may do something first."""

    def __init__(self, *readings: int | tuple[Callable[[], object], int]) -> None:
        self.readings = list(readings)

    def __call__(self) -> int:
        reading = self.readings[0] if len(self.readings) == 1 else self.readings.pop(0)
        if isinstance(reading, int):
            return reading
        do, now_ns = reading
        do()
        return now_ns


class Stole(NoMeter):
    """So much was stolen just after the prompt, and nothing since."""

    def __init__(self, stolen_ns: int) -> None:
        self.stolen_ns = stolen_ns

    def marked(self) -> Counters:
        return Counters(cpu_ns=0, full_ns=0)

    def counters(self) -> Counters:
        return Counters(cpu_ns=0, full_ns=self.stolen_ns)


def scripted(
    monkeypatch: pytest.MonkeyPatch, *readings: int | tuple[str, int], limit_ns: int = LIMIT_NS, stolen_ns: int = 0
) -> str:
    """How an exchange ends while the referee's clock says this; with a text, that is what the bot writes just then."""
    channel, _, stdout = pair()
    channel.meter = Stole(stolen_ns)
    script = [r if isinstance(r, int) else (partial(os.write, stdout, r[0].encode()), r[1]) for r in readings]
    monkeypatch.setattr("sandbox.pipes.monotonic_ns", ScriptedClock(*script))
    try:
        reply = PipeTransport([channel]).exchange([Message(0, "A", limit_ns)])[0]
    except TransportError as error:
        return error.cause
    return str(reply.fault) if reply.fault else "in time"


ANSWERED = ("OK\n", 0)
"""The third reading of a clock is the one before the referee sleeps; what is written there wakes it at once."""


def test_an_answer_is_not_late_because_the_referee_slept_into_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """It came in time; the referee was kept from running until a moment after the deadline."""
    assert scripted(monkeypatch, 0, 0, ANSWERED, LIMIT_NS + NS_PER_MS // 5) == "referee-late"


def test_an_answer_is_not_late_because_the_referee_stood_still_between_waking_and_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woke_ns = LIMIT_NS - NS_PER_MS
    assert scripted(monkeypatch, 0, 0, ANSWERED, woke_ns, LIMIT_NS + NS_PER_MS // 5) == "referee-late"


def test_an_answer_that_was_read_by_the_deadline_is_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scripted(monkeypatch, 0, 0, ANSWERED, LIMIT_NS, LIMIT_NS) == "in time"


def test_an_answer_just_after_the_deadline_is_late_and_voids_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a bot could have its matches voided at will: the referee looks a moment before each deadline."""
    limit_ns, before_ns, after_ns = 2 * NS_PER_MS, 2 * NS_PER_MS - LOOK_NS, 2 * NS_PER_MS + NS_PER_MS // 20
    readings = (0, 0, 0, NS_PER_MS, NS_PER_MS, before_ns, ("OK\n", before_ns), after_ns)
    assert scripted(monkeypatch, *readings, limit_ns=limit_ns) == Fault.TIMEOUT


def test_a_drip_does_not_void_a_match_either(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_ns, after_ns = 2 * NS_PER_MS, 2 * NS_PER_MS + NS_PER_MS // 20
    drip = [reading for now_ns in range(0, limit_ns, limit_ns // 10) for reading in (("x", now_ns), now_ns, now_ns)]
    assert scripted(monkeypatch, 0, 0, *drip, ("\n", limit_ns), after_ns, limit_ns=limit_ns) == Fault.TIMEOUT


@pytest.mark.parametrize(("found_ms", "how"), [(10.3, "host-starved"), (19, "referee-late"), (27, "timeout")])
def test_an_answer_in_the_watch_is_convicted_only_if_its_own_time_was_over_whenever_it_came(
    monkeypatch: pytest.MonkeyPatch, found_ms: float, how: str
) -> None:
    """5 of its 10 ms were stolen, so it had until 15. It was silent at 10.05, in the last case at 15.5 too."""
    before, after, found = (int(ms * NS_PER_MS) for ms in (9.75, 10.05, found_ms))
    silent = (after, int(15.5 * NS_PER_MS), int(15.5 * NS_PER_MS), int(15.5 * NS_PER_MS)) if found_ms > 20 else ()
    readings = (0, 0, 0, before, before, after, after, after, after, *silent, ("OK\n", after), found)
    assert scripted(monkeypatch, *readings, limit_ns=10 * NS_PER_MS, stolen_ns=5 * NS_PER_MS) == how


def test_a_bot_that_leaves_with_a_late_answer_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host made it late; that it has gone when the referee looks again is not why."""
    channel, _, out = pair()
    channel.meter = Stole(NS_PER_MS)
    answers, leaves = partial(os.write, out, b"OK\n"), partial(os.close, out)
    clock = ScriptedClock(0, 0, (answers, 0), 300_000, 410_000, (leaves, 410_000), 420_000)
    monkeypatch.setattr("sandbox.pipes.monotonic_ns", clock)
    with pytest.raises(TransportError) as caught:
        PipeTransport([channel]).exchange([Message(0, "A", 400_000)])
    assert caught.value.cause == "host-starved"


@pytest.mark.parametrize(("stolen_ns", "verdict"), [(NS_PER_MS, "host-starved"), (0, Fault.TIMEOUT)])
def test_a_bot_that_leaves_after_the_deadline_is_judged_as_if_it_had_answered_then(
    monkeypatch: pytest.MonkeyPatch, stolen_ns: int, verdict: object
) -> None:
    """It may have a clock of its own and have given up because the host kept it from running."""
    channel, _, out = pair()
    channel.meter = Stole(stolen_ns)
    leaves = partial(os.close, out)
    clock = ScriptedClock(0, 0, (leaves, 0), 300_000, 410_000, 410_000, 420_000)
    monkeypatch.setattr("sandbox.pipes.monotonic_ns", clock)
    found: object
    try:
        found = PipeTransport([channel]).exchange([Message(0, "A", 400_000)])[0].fault
    except TransportError as error:
        found = error.cause
    assert found == verdict


def test_a_seats_answer_is_not_late_because_the_referee_was_woken_for_another_and_stood_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (one, _, out), (two, _, other) = pair(), pair()
    two.meter = Stole(0)
    in_time = partial(os.write, other, b"OK\n")  # after the referee was woken for seat 0, before it looks at the clock
    clock = ScriptedClock(0, 0, 0, 0, (partial(os.write, out, b"OK\n"), 0), (in_time, LIMIT_NS + 2 * NS_PER_MS))
    monkeypatch.setattr("sandbox.pipes.monotonic_ns", clock)
    with pytest.raises(TransportError) as caught:
        PipeTransport([one, two]).exchange([Message(0, "A", 10 * LIMIT_NS), Message(1, "A", LIMIT_NS)])
    assert (caught.value.cause, caught.value.evidence["seat"]) == ("referee-late", 1)


class ScriptedMeter(NoMeter):
    """Says that this share of the time since its first reading was stolen, and all of it after `own_ms` of its own."""

    def __init__(self, stolen_share: float, own_ms: float) -> None:
        self.stolen_share, self.own_ns = stolen_share, own_ms * NS_PER_MS
        self.origin_ns: int | None = None

    def counters(self, fresh: bool = True) -> Counters:
        now_ns = time.monotonic_ns()
        self.origin_ns = self.origin_ns or now_ns
        past_ns = now_ns - self.origin_ns
        return Counters(cpu_ns=0, full_ns=int(max(past_ns * self.stolen_share, past_ns - self.own_ns)))


def watched(
    stolen_share: float, answer_s: float | None, limit_ms: int = 100, own_ms: float = math.inf
) -> tuple[str, PipeTransport]:
    """How a missed deadline ends when so much is stolen and the answer comes so late."""

    def attempt() -> tuple[str, PipeTransport]:
        channel, _, stdout = pair()
        channel.meter = ScriptedMeter(stolen_share, own_ms)
        if answer_s is not None:
            threading.Timer(answer_s, os.write, (stdout, b"too late\n")).start()
        transport = PipeTransport([channel])
        try:
            reply = transport.exchange([Message(0, "A", limit_ms * NS_PER_MS)])[0]
        except TransportError as error:
            if error.cause == "referee-late" or (answer_s is not None and error.cause == "host-unknown"):
                raise  # this host was late, with the answer in the last case
            return error.cause, transport
        assert reply.line is None
        return str(reply.fault), transport

    return unless_void(attempt)


def test_an_answer_that_the_host_delayed_voids_the_attempt_and_is_not_counted() -> None:
    assert watched(0.6, answer_s=0.2, own_ms=80)[0] == "host-starved"  # 80 of 200 ms were its own, or of more


def test_an_answer_that_was_late_in_spite_of_what_the_host_took_is_a_timeout_with_its_evidence() -> None:
    how, transport = watched(0.2, answer_s=0.2)  # 160 of 200 ms were its own, or more
    assert how == Fault.TIMEOUT
    (evidence,) = transport.convictions
    assert evidence["seat"] == 0
    assert evidence["own_ns"] > 100 * NS_PER_MS  # type: ignore[operator]


def test_silence_is_convicted_as_soon_as_its_own_time_is_over() -> None:
    began = time.monotonic()
    assert watched(0.0, answer_s=None)[0] == Fault.TIMEOUT
    assert time.monotonic() - began < 10  # and not at the end of the watch, let alone never


def test_silence_of_which_all_was_stolen_ends_unknown() -> None:
    assert watched(1.0, answer_s=None, limit_ms=10)[0] == "host-unknown"
