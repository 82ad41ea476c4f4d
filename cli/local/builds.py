"""Builds several bots at the same time, on processors that nobody has reserved.

A process that starts plain programs goes into their directories meanwhile (`sandbox.local`), so builds at the same time
need a process each. They are forked, and inherit the game and the sandbox. On systems other than Linux, which are not
safe to fork on, and where a sandbox has connections that must not be shared, bots are built one after the other.
"""

import multiprocessing
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from deadheat.cli.local.bots import BadBot, prepare
from deadheat.cli.local.reserve import locks_folder, own_processors
from deadheat.engine.core import Game
from deadheat.sandbox.box import Plain, Program, Sandbox, SandboxError
from deadheat.sandbox.host.slots import Processors

_inherited: list[tuple[Game, Sandbox]] = []
"""In a process that builds: what it inherited."""


def prepare_all(
    game: Game, names: Sequence[str], sandbox: Sandbox, folder: Path
) -> Generator[Program | BadBot, None, None]:
    """Build bots as `prepare` does, below `folder`, and yield their programs in this order; instead of one that cannot
    be built, why. Raises SandboxError if this machine failed.
    """
    with ExitStack() as stack:
        free = 1
        if len(names) > 1 and isinstance(sandbox, Plain) and sys.platform == "linux":
            registry = Processors(locks_folder())
            holds = (registry.some(1, (cpu,)) for cpu in own_processors()[: len(names)])
            free = sum(stack.enter_context(hold) is hold for hold in holds if hold is not None)
        if free < 2:
            yield from (_prepared(game, name, sandbox, folder / f"{place}") for place, name in enumerate(names))
            return
        pool = ProcessPoolExecutor(free, multiprocessing.get_context("fork"), _begin, (game, sandbox))
        stack.callback(pool.shutdown, cancel_futures=True)
        jobs = [pool.submit(_in_process, name, folder / f"{place}") for place, name in enumerate(names)]
        for place, (name, job) in enumerate(zip(names, jobs, strict=True)):
            yield job.result() or _prepared(game, name, sandbox, folder / f"{place}-again")


def built(game: Game, names: Sequence[str], sandbox: Sandbox, folder: Path) -> Iterator[Program]:
    """Build bots, and yield their programs. Raises BadBot at the first that cannot be built, and SandboxError."""
    with closing(prepare_all(game, names, sandbox, folder)) as programs:
        for program in programs:
            if isinstance(program, BadBot):
                raise program
            yield program


def _prepared(game: Game, name: str, sandbox: Sandbox, folder: Path) -> Program | BadBot:
    try:
        return prepare(game, name, sandbox, folder)
    except BadBot as error:
        return error


def _begin(game: Game, sandbox: Sandbox) -> None:
    """Begin a process that builds. Ctrl-C is for the one that waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _inherited.append((game, sandbox))


def _in_process(name: str, folder: Path) -> Program | BadBot | None:
    """Build a bot; None if this machine failed, which the other process will see for itself."""
    ((game, sandbox),) = _inherited
    with suppress(SandboxError):
        return _prepared(game, name, sandbox, folder)
    return None
