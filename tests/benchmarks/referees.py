"""What a request costs the referee, compared with the referee that everybody writes first: asyncio, subprocesses,
streams.

Both ask bots that answer at once, in the two ways in which games ask: both seats of a match in one exchange (Yacht
Auction and Betris always), or one seat after the other (Liar's Dice). asyncio's referee asks both seats with `gather`,
each under its own `wait_for`; it keeps no stamps, counters or transcript. Ours is measured bare (lines, stamps,
deadlines) and complete, which is what a worker pays: bots in containers, counters at every prompt and reply, the loop
of the match, and its transcript, encoded and chained.

All of it happens on one CPU, at the referee's own priority and without garbage collection, theirs too. A wake-up across
CPUs is an interrupt, in a virtual machine an exit to the hypervisor: it costs both referees the same, more than all the
rest together, and varies with every neighbour.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Generator, Iterator, Mapping

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_S, Message, Reply, Result, Seat, Step
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import encode
from deadheat.sandbox.arena import quiet
from deadheat.sandbox.box import Channel, Limits, Meter, Program, Sandbox
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport

LIMIT_NS = 10 * NS_PER_S
"""So long that no bot is late when another process has the CPU: every exchange must count."""

ASYNCIO, BARE, EVERYTHING = "asyncio", "bare", "everything"


class Ping:
    """A game that asks every seat the same, again and again, and itself costs next to nothing."""

    name, title, rules_version, commands = "ping", "Ping", 1, ("PING",)

    def __init__(self, seats: int, exchanges: int) -> None:
        self.seats = range(seats, seats + 1)
        self.exchanges = exchanges
        self.step = Step(tuple(Message(seat, "PING", LIMIT_NS) for seat in range(seats)))

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        for _ in range(self.exchanges):
            yield self.step
        return Result((1,) * seats, None)


def measure(sandbox: Sandbox, program: Program, seats: int, requests: int, turns: int) -> dict[str, list[float]]:
    """Measure the CPU microseconds a request by kind of referee, one figure a turn; the kinds take turns."""
    game = Ping(seats, requests // turns // seats)
    spent_ns: dict[str, list[int]] = {ASYNCIO: [], BARE: [], EVERYTHING: []}
    with on_one_cpu() as cpu, contextlib.ExitStack() as stack:
        local, boxed = (
            [started(stack, where, program, str(cpu)) for _ in range(seats)] for where in (LocalSandbox(), sandbox)
        )
        for channel in local:
            channel.meter = Meter()
        for _ in range(turns):
            with quiet():
                spent_ns[ASYNCIO].append(asyncio.run(asyncio_referee(program, game)))
                spent_ns[BARE].append(bare_referee(local, game))
                spent_ns[EVERYTHING].append(whole_referee(boxed, game))
    return {kind: [ns / game.exchanges / seats / 1000 for ns in taken] for kind, taken in spent_ns.items()}


@contextlib.contextmanager
def on_one_cpu() -> Iterator[int]:
    """Keep this process and what it starts on one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield min(before)
    finally:
        os.sched_setaffinity(0, before)


def started(stack: contextlib.ExitStack, sandbox: Sandbox, program: Program, cpus: str) -> Channel:
    """Start a bot, which runs until the stack is closed."""
    box = sandbox.open(program, Limits(cpus=cpus))
    stack.callback(box.close)
    return box.start()


def bare_referee(channels: list[Channel], game: Ping) -> int:
    """Return the CPU nanoseconds of the exchanges alone."""
    transport = PipeTransport(channels)
    began_ns = time.process_time_ns()
    for _ in range(game.exchanges):
        replies = transport.exchange(game.step.messages)
        for reply in replies.values():
            assert reply.line == "OK"
    return time.process_time_ns() - began_ns


def whole_referee(channels: list[Channel], game: Ping) -> int:
    """Return the CPU nanoseconds of a match with its transcript."""
    began_ns = time.process_time_ns()
    transcript = run_match(game, len(channels), bytes(16), PipeTransport(channels))
    encode(transcript)
    spent_ns = time.process_time_ns() - began_ns
    assert all(prompt.reply.line == "OK" and prompt.reply.cpu_ns is not None for prompt in transcript.prompts())
    return spent_ns


async def asyncio_referee(program: Program, game: Ping) -> int:
    """Return the CPU nanoseconds that asyncio takes for the same requests."""
    pipe = asyncio.subprocess.PIPE
    bots = [
        await asyncio.create_subprocess_exec(*program.command, cwd=program.directory, stdin=pipe, stdout=pipe)
        for _ in game.step.messages
    ]
    began_ns = time.process_time_ns()
    for _ in range(game.exchanges):
        if len(bots) == 1:
            lines = [await ask(bots[0])]
        else:
            lines = await asyncio.gather(*(ask(bot) for bot in bots))
        for line in lines:
            assert line == b"OK\n"
    spent_ns = time.process_time_ns() - began_ns
    for bot in bots:
        assert bot.stdin is not None
        bot.stdin.close()
        await bot.wait()
    return spent_ns


async def ask(bot: asyncio.subprocess.Process) -> bytes:
    """Make one request as a simple referee does."""
    assert bot.stdin is not None and bot.stdout is not None
    bot.stdin.write(b"PING\n")
    await bot.stdin.drain()
    return await asyncio.wait_for(bot.stdout.readline(), LIMIT_NS / NS_PER_S)
