"""Reserves processors while something runs: `deadheat run -- COMMAND`, and programs that play on this machine."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.console import INTERRUPTED, USAGE, cannot, fail, note
from deadheat.sandbox.box import MEASURES
from deadheat.sandbox.host.slots import Hold, NoRegistry, Processors, shared_folder, usable

LOOK_SECONDS = 1.0
"""How often a process that waits for processors looks up who has them."""

NOT_FOUND, NOT_STARTED = 127, 126
"""A shell's exit codes for a command that does not exist, and for a command that cannot be started."""


def locks_folder() -> Path:
    """Return the folder of locks: DEADHEAT_LOCK_DIR, as for a server's workers, or the machine's own."""
    try:
        folder = Path(os.environ.get("DEADHEAT_LOCK_DIR") or shared_folder())
        folder.mkdir(parents=True, exist_ok=True)
    except NoRegistry as error:
        folder = Path(tempfile.gettempdir()) / f"deadheat-{os.getuid() if hasattr(os, 'getuid') else 'locks'}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if MEASURES:
            note(f"{error}: only your own programs keep out of each other's way.", "warning:")
    except OSError as error:
        cannot(f"use {error.filename} for locks", error, USAGE)
    return folder


def own_processors() -> tuple[int, ...]:
    """Return the processors that this process may use, the last ones first: most programs prefer the first ones."""
    return tuple(sorted(usable(), reverse=True))


def watching(processors: Processors, tell: Callable[[tuple[str, ...]], None]) -> Callable[[], None]:
    """Return what `Processors.take` calls while it waits: it tells who has the processors whenever that has changed."""
    known: tuple[str, ...] = ()
    look_at = time.monotonic()

    def waiting() -> None:
        nonlocal known, look_at
        if time.monotonic() >= look_at:
            look_at = time.monotonic() + LOOK_SECONDS
            holders = tuple(sorted(map(str, processors.holders())))
            if holders != known:
                known = holders
                tell(holders)

    return waiting


def reserve(count: int) -> Hold:
    """Wait for `count` processors (all, if this machine has fewer), and name their holders. Ctrl-C ends the command."""
    cpus = own_processors()
    processors = Processors(locks_folder())

    def tell(holders: tuple[str, ...]) -> None:
        who = "; ".join(holders) or "others that are waiting"
        note(f"for {min(count, len(cpus))} of {len(cpus)} processors. Taken: {who}", "waiting")

    try:
        return processors.take(min(count, len(cpus)), cpus, watching(processors, tell))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        cannot(f"use {error.filename} for locks", error, USAGE)


@contextmanager
def reserved(count: int) -> Iterator[tuple[int, ...]]:
    """Reserve processors during a block, and yield them in ascending order."""
    with reserve(count) as hold:
        yield tuple(sorted(hold.cpus))


def run(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, after two dashes.")],
    cpus: Annotated[int, typer.Option(min=1, help="How many processors.")] = 1,
) -> None:
    """Wait for free processors, then run a command on these alone.

    Tournaments, league workers and other such commands stay off them until it ends.
    """
    if not MEASURES:
        fail("only Linux can keep a command on some processors", USAGE)
    if cpus > len(own_processors()):
        fail(f"this machine has {len(own_processors())} processors for you, not {cpus}", USAGE)
    hold = reserve(cpus)
    hold.inherit()
    os.sched_setaffinity(0, hold.cpus)
    try:
        os.execvp(command[0], command)  # noqa: S606  a command that the person typed
    except FileNotFoundError:
        fail(f"there is no command {command[0]}", NOT_FOUND)
    except OSError as error:
        cannot(f"start {command[0]}", error, NOT_STARTED)
