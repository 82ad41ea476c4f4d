"""Plays a plan with several processes at once, each with its own processors (`cli.tournament.worker`).

This process plays nothing: it hands out deals, appends results to the log as they arrive, and asks after each whether
to stop. It has no threads, so it can fork (only Linux can safely; elsewhere workers import everything anew), and it
sleeps between messages. Each worker gets its next deal before it has finished the present one.

However a tournament ends (complete, by Ctrl-C, by a failure), finished games are in the log and unfinished ones are
not; these are played another time, with the same dice.
"""

import contextlib
import multiprocessing
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from deadheat.cli.console import handling
from deadheat.cli.tournament.records import GameRecord
from deadheat.cli.tournament.schedule import Deal
from deadheat.cli.tournament.worker import Ended, Job, Voided, Waits, Word, work
from deadheat.sandbox.box import MEASURES

AT_HAND, MOST_AT_HAND, AT_HAND_SECONDS = 2, 64, 0.3
"""The fewest and the most deals that a worker has at a time, with the one that it plays. In between, a worker with
quick games has as many as keep it busy for AT_HAND_SECONDS."""

LOOK_MS = 500
"""The longest interval between two calls of `look`."""

END_SECONDS = 10
"""How long workers may take to close their boxes before they are killed."""


class Interrupted(Exception):
    """Somebody pressed Ctrl-C, or asked this process to end."""


class CannotPlay(Exception):
    """A worker cannot continue; the text is a sentence."""


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    deals: deque[Deal] = field(default_factory=deque)
    waits: tuple[str, ...] = ()
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def at_hand(self) -> int:
        a_second = self.done / max(time.monotonic() - self.began, AT_HAND_SECONDS)
        return min(MOST_AT_HAND, max(AT_HAND, round(a_second * AT_HAND_SECONDS)))


@dataclass
class Runner:
    """One run of a plan. `ended` gets a game and returns whether to stop; `told` gets all other messages of the
    workers; `look` is called now and then.
    """

    job: Job
    workers: int
    ended: Callable[[GameRecord], bool]
    told: Callable[[Voided], None] = lambda _: None
    look: Callable[[], None] = lambda: None
    _at_work: list[_Worker] = field(default_factory=list)
    _stopping: Event | None = None

    @property
    def waits(self) -> tuple[str, ...]:
        """The holders of the processors, if all workers are waiting."""
        if self._at_work and all(worker.waits for worker in self._at_work):
            return self._at_work[0].waits
        return ()

    def play(self, deals: Sequence[Deal], block: int) -> None:
        """Play all deals, or until `ended` says stop. Raises Interrupted, CannotPlay, OSError."""
        blocks: deque[list[Deal]] = deque()  # runs at one table, each of which one worker plays in the same boxes
        for _, same in groupby(deals, key=lambda deal: deal.table):
            run = list(same)
            blocks.extend(run[first : first + block] for first in range(0, len(run), block))
        seen: set[int] = set()  # signals never interrupt this process's work, such as writing a message or a line
        stopping = (signal.SIGINT, signal.SIGTERM)
        with handling(dict.fromkeys(stopping, lambda number, _: seen.add(number))):
            try:
                for _ in range(min(self.workers, len(blocks))):
                    self._start()
                self._serve(blocks, seen)
                if seen:
                    raise Interrupted
            except (Interrupted, CannotPlay):
                self._stop()
                self._hear_the_rest()
                raise
            finally:
                self._stop()
                for worker in self._at_work:
                    worker.pipe.close()
                    worker.process.close()
                self._at_work.clear()

    def _serve(self, blocks: deque[list[Deal]], stopped: set[int]) -> None:
        ready = self._listening()
        for worker in self._at_work:
            self._hand_out(worker, blocks)
        while any(worker.deals for worker in self._at_work) and not stopped:
            for worker in ready():
                if self._hear(worker):
                    return
                self._hand_out(worker, blocks)
            self.look()

    def _listening(self) -> Callable[[], list[_Worker]]:
        """Return what waits for messages, and returns the workers that sent any."""
        if not hasattr(select, "poll"):
            by_pipe: dict[object, _Worker] = {worker.pipe: worker for worker in self._at_work}
            pipes = [worker.pipe for worker in self._at_work]
            return lambda: [by_pipe[pipe] for pipe in wait(pipes, LOOK_MS / 1000)]
        poller = select.poll()  # one poller for all: multiprocessing's own `wait` creates one for every message
        by_fd = {worker.pipe.fileno(): worker for worker in self._at_work}
        for fd in by_fd:
            poller.register(fd, select.POLLIN)
        return lambda: [by_fd[fd] for fd, _ in poller.poll(LOOK_MS)]

    def _hand_out(self, worker: _Worker, blocks: deque[list[Deal]]) -> None:
        deals: list[Deal] = []
        while blocks and len(worker.deals) + len(deals) < worker.at_hand:
            deals += blocks.popleft()
        if deals:
            worker.deals += deals
            try:
                worker.pipe.send(deals)
            except ConnectionError:
                raise _end_of(worker) from None

    def _hear(self, worker: _Worker) -> bool:
        """Handle a worker's messages; return True to stop."""
        try:
            words: list[Word] = worker.pipe.recv()
        except (EOFError, ConnectionError):
            raise _end_of(worker) from None
        stop = False
        for word in words:
            if isinstance(word, Ended):
                stop = self.ended(word.game) or stop
            elif isinstance(word, Waits):
                worker.waits = word.holders
            elif isinstance(word, Voided):
                self.told(word)
            else:
                raise CannotPlay(word)
            if isinstance(word, Ended | Voided) and word.deal_done:
                worker.deals.popleft()
                worker.done += 1
        return stop

    def _start(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        others = [ours, *(worker.pipe for worker in self._at_work)]
        sys.stdout.flush()
        sys.stderr.flush()
        process: BaseProcess
        if MEASURES:
            process = multiprocessing.get_context("fork").Process(
                target=work, args=(self.job, theirs, others), daemon=True
            )
        else:
            spawn = multiprocessing.get_context("spawn")
            self._stopping = self._stopping or spawn.Event()
            asked = (self.job, theirs, (), self._stopping.is_set)
            process = spawn.Process(target=work, args=asked, daemon=True)
        process.start()
        theirs.close()
        self._at_work.append(_Worker(process, ours))

    def _stop(self) -> None:
        """End all workers; messages sent before that stay in the pipes."""
        if self._stopping is not None:  # Windows would end a worker at once, and leave its bots
            self._stopping.set()
        for worker in self._at_work:
            if self._stopping is not None:
                with contextlib.suppress(OSError):
                    worker.pipe.send([])
            elif worker.process.is_alive():
                worker.process.terminate()
        deadline = time.monotonic() + END_SECONDS
        for worker in self._at_work:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _hear_the_rest(self) -> None:
        for worker in self._at_work:
            with contextlib.suppress(EOFError, OSError):
                while worker.pipe.poll(0):
                    for word in worker.pipe.recv():
                        if isinstance(word, Ended):
                            self.ended(word.game)


def _end_of(worker: _Worker) -> Exception:
    """Return the error that a worker's end means. A worker ends normally only on request, and then this process has
    been told, too, or is about to be: SIGTERM often goes to all processes of a group.
    """
    worker.process.join(END_SECONDS)
    if worker.process.exitcode == 0:
        return Interrupted()
    code = worker.process.exitcode
    by = f"was killed by {signal.Signals(-code).name}" if code and code < 0 else f"died with exit code {code}"
    return CannotPlay(f"a process that played games {by}")
