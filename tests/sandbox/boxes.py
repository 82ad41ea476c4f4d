"""Boxes for the tests of the sandbox, and a bot that evaluates what it is asked."""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Message, Reply
from deadheat.sandbox.box import Box, Channel, Exit, Limits, Meter, Program
from deadheat.sandbox.containers import LABEL
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.sandbox.rooms import Room

CONFLICT = 409

INSIDER = """
import ctypes, errno, mmap, os, pathlib, resource, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
kept = []
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def text(path): return pathlib.Path(path).read_text()
def tries(call):
    try: return repr(call())
    except BaseException as error: return f"{type(error).__name__}: {error}"
def capabilities():
    header, data = struct.pack("Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    call(125, header, data)
    return list(struct.unpack("6I", data.raw))
def child():
    pid = os.fork()
    if pid == 0: time.sleep(99)
    return pid
for line in sys.stdin:
    if line.strip() == "FINISH": break
    print(tries(lambda: eval(line)), flush=True)
"""
"""Evaluates the Python expression in each prompt, so a test reads like a conversation with somebody inside."""

Insider = Callable[[str], str]

SMALL = Limits(memory_bytes=128 * 2**20, processes=16, tmp_bytes=2**20, tmp_inodes=50)


def python(folder: Path, code: str) -> Program:
    program = folder / f"program-{abs(hash(code))}"
    program.mkdir(exist_ok=True)
    (program / "main.py").write_text(code)
    return Program(program, ("/usr/bin/python3", "main.py"), "test")


def stops_unless_asked(box: Box, cpu_ns: Callable[[], int]) -> None:
    """Check that a program that would use all the time, `cpu_ns` so far, runs only while its box is favoured."""

    def runs(seconds: float) -> bool:
        before_ns = cpu_ns()
        return until(lambda: cpu_ns() > before_ns + NS_PER_MS, seconds)

    assert runs(60)
    box.favour(False)
    box.rest(True)
    box.rest(False)  # it may run again, but is not asked
    assert until(lambda: not runs(0.2), 60)
    box.favour(True)
    assert runs(60)


def asker(box: Box, limit_ns: int = 20 * NS_PER_S) -> Callable[[str], Reply]:
    transport = PipeTransport([box.start()])
    return lambda line: transport.exchange([Message(0, line, limit_ns)])[0]


def inside(box: Box) -> Insider:
    """Start a box; return what sends it a prompt that it must answer."""
    ask = asker(box)

    def answer(expression: str) -> str:
        reply = ask(expression)
        assert reply.line is not None, reply.fault
        return reply.line

    return answer


def stop(box: Box, grace_ns: int = NS_PER_S) -> Exit:
    box.ask_stop(grace_ns)
    return box.stopped()


def leader_of(room: Room) -> int:
    assert room._meter is not None
    return int(Path(f"/proc/self/fd/{room._meter._leader}").readlink().parts[2])


def own_containers(run_dir: Path, owner: int = 0) -> list[str]:
    """Return the containers in that folder of this process's sandboxes, or of another owner's. Others in this process
    may have walls of their own.
    """
    client = docker.APIClient(version="auto")
    try:
        mine = {"label": [LABEL, f"deadheat.owner={owner or os.getpid()}"]}
        found = client.containers(all=True, filters=mine)
        return [container["Id"] for container in found if Path(container["Labels"][LABEL]).parent == run_dir.resolve()]
    finally:
        client.close()


class Stub:
    """A box that does nothing; a test overrides what it needs."""

    def start(self) -> Channel:
        raise NotImplementedError

    def favour(self, yes: bool) -> None:
        raise NotImplementedError

    def rest(self, yes: bool) -> None:
        raise NotImplementedError

    def stderr_so_far(self) -> bytes:
        return b""

    def ask_stop(self, grace_ns: int) -> None: ...

    def stopped(self) -> Exit:
        raise NotImplementedError

    def close(self) -> None: ...


@dataclass
class Metered:
    """A sandbox of plain programs whose counters say what `meter` says."""

    meter: Meter

    def open(self, program: Program, limits: Limits) -> Box:
        box = LocalSandbox().open(program, limits)
        start = box.start

        def metered() -> Channel:
            channel = start()
            channel.meter = self.meter
            return channel

        setattr(box, "start", metered)  # noqa: B010  a method, which mypy guards
        return box


def until(condition: Callable[[], object], seconds: float = 10) -> bool:
    """Wait for the condition, this long at most. Return whether it was true when it was last asked."""
    give_up_at = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < give_up_at:
        time.sleep(0.005)
    return bool(found)


def alive(word: str) -> dict[int, str]:
    """Return the programs of processes with this word in their command."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            words = path.read_text().split("\0")
            if word in words:
                found[int(path.parent.name)] = words[0]
    return found


def alive_after_a_while(word: str, expected: int = 0) -> dict[int, str]:
    """Wait at most five seconds until as many as expected are alive, and return them.

    A second look could miss one of them: a process that is just starting a program has no command.
    """
    found = alive(word)
    for _ in range(500):
        if len(found) == expected:
            break
        time.sleep(0.01)
        found = alive(word)
    return found


def insist(call: Callable[[], object]) -> None:
    """Let the engine do what it may fail to do by itself while it is busy."""

    def done() -> bool:
        try:
            call()
        except docker.errors.APIError as error:
            return error.status_code == CONFLICT  # it is done already
        return True

    assert until(done, 60)
