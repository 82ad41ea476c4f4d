"""Simulated machines for the tasks: no container and no compiler, but the same ways to end.

Matches are those of the real engine and referee, with bots of a few lines; a build produces what the sources' text
says. Both take time, in which anything may happen to the process, and may fail through the service.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deadheat.engine.core import Game, Message, Reply, Seat, Transport, TransportError
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.league.jobs import Host, ProgramRef
from deadheat.sandbox.arena import Played
from deadheat.sandbox.box import Program, SandboxError
from deadheat.sandbox.build import BuildFailed, Built
from deadheat.sandbox.languages import Recipe
from deadheat.workers.context import PLAY
from deadheat.workers.link import InProcess
from tests.bots.loading import in_process
from tests.league.people import GAME
from tests.simulation.stage import packed

if TYPE_CHECKING:
    from tests.simulation.simulator import Simulator

RANDOM_BOT = in_process(bots_of(GAME) / "random")


class Source(StrEnum):
    """How an upload's text ends, which decides its fate."""

    GOOD = "plays"
    WRONG = "does not compile"
    UNUSABLE = "leaves no program"
    SILENT = "never answers"


REASONS = {
    Source.WRONG: "the compiler refuses it",
    Source.UNUSABLE: "the build's output cannot be used",
    Source.SILENT: "the trial match ended with timeout",
}
"""What the author of each broken one must be told."""


@dataclass(frozen=True, slots=True)
class Arena:
    """Stands in for `sandbox.arena.Arena`."""

    simulator: Simulator
    programs: Sequence[Program]

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing, because nothing is open."""

    def open(self) -> None:
        self.simulator.pause(0.5)

    def play(
        self,
        game: Game,
        seating: Sequence[int],
        seed: bytes,
        about: Mapping[str, object],
        between: Callable[[], None],
        *_listeners: object,
        attempt: int = 1,
    ) -> Played:
        """Stand in for `sandbox.arena.Arena.play`; bots draw lots, so no two attempts are alike."""
        for wait in (self.simulator.idle, self.simulator.idle, self.simulator.pause):  # harm at the end reveals most
            between()
            wait(self.simulator.chance.uniform(0, 3))
        self._maybe_void(seating)
        players = [self._player(self.programs[player]) for player in seating]
        return Played(run_match(game, len(seating), seed, MemoryTransport(players), about, attempt), {})

    def play_beside(
        self,
        game: Game,
        seats: int,
        seed: bytes,
        about: Mapping[str, object],
        hold: Callable[[], AbstractContextManager[object]],
        beside: Callable[[Transport], Transport],
        _places: Sequence[Seat],
        _heartbeat: Callable[[], None],
    ) -> Played:
        """Stand in for `sandbox.arena.Arena.play_beside`."""
        bots = MemoryTransport([self._player(self.programs[0]) for _ in range(seats)])

        def exchange(messages: Sequence[Message]) -> Mapping[Seat, Reply]:
            with hold():
                self.simulator.pause(0.5)
            self._maybe_void(range(seats))
            return bots.exchange(messages)

        return Played(run_match(game, seats, seed, beside(_Bots(exchange)), about), {})

    def _maybe_void(self, seating: Sequence[int]) -> None:
        """Sometimes void the attempt, mostly while one seat is to answer, and rarely because the machine failed."""
        chance = self.simulator.chance
        if self.simulator.happens(self.simulator.weather.void):
            cause = chance.choice(["host-unknown", "host-memory", "host-memory", "watch-ended"])
            seat = chance.choice([None, *range(len(seating))])
            raise TransportError(cause, "simulated", **({} if seat is None else {"seat": seat}))

    def _player(self, program: Program) -> Player:
        """Return the house's random bot. In a trial it follows its source text; elsewhere it sometimes falls silent."""
        play = RANDOM_BOT(self.simulator.chance.getrandbits(32))
        if program.label.startswith("house:"):
            return play
        if program.label.startswith("version "):
            return _mute if (program.directory / "main.py").read_text().endswith(Source.SILENT) else play
        return lambda message: None if self.simulator.happens(0.02) else play(message)


@dataclass(frozen=True, slots=True)
class _Bots:
    """A transport made of one function."""

    exchange: Callable[[Sequence[Message]], Mapping[Seat, Reply]]


def _mute(_: Message) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Stands in for `sandbox.build.build`."""

    simulator: Simulator

    def __call__(
        self,
        _sandbox: object,
        sources: Path,
        recipe: Recipe,
        _cpus: str,
        between: Callable[[], None],
        hear: Callable[[str], None],
    ) -> Built:
        text = (sources / recipe.entries[0]).read_text()
        for step in range(3):
            between()
            self.simulator.pause(self.simulator.chance.uniform(0, 5))
            hear(f"step {step} is done\n")
        if self.simulator.happens(self.simulator.weather.void):
            raise SandboxError("host-memory", "simulated")
        if text.endswith(Source.WRONG):
            raise BuildFailed(REASONS[Source.WRONG], "line 1")
        return Built(b"no tar" if text.endswith(Source.UNUSABLE) else packed(text), "all is done\n")


class Slots:
    """Stands in for `sandbox.host.slots.Slots`: everybody who asks for processors gets them."""

    slots = ((0,),)

    def referee(self, _cpus: object) -> tuple[int, ...]:
        """Stand in for `sandbox.host.slots.Slots.referee`."""
        return ()

    @contextlib.contextmanager
    def take(self, *_: object, **__: object) -> Iterator[tuple[int, ...]]:
        """Stand in for `sandbox.host.slots.Slots.take`."""
        yield (0,)

    share = take


class SimulatedContext:
    """Stands in for `workers.context.Context` in the tasks."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.settings, self.database = simulator.stage.settings, simulator.stage.database
        self.blobs, self.sandbox, self.slots = simulator.blobs, None, Slots()
        self.link = InProcess(cast(Any, self))

    @property
    def host(self) -> Host:
        return self._simulator.process.host

    @property
    def worker(self) -> str:
        return self._simulator.process.name

    @contextlib.contextmanager
    def folder(self, purpose: str) -> Iterator[Path]:
        """Yield a folder that goes away with the job; playing takes none, because no program is unpacked."""
        if purpose == PLAY:
            yield self._simulator.stage.folder
            return
        with tempfile.TemporaryDirectory(dir=self._simulator.stage.folder) as path:
            yield Path(path)

    def fetch_program(self, _context: object, ref: ProgramRef, directory: Path, _job: object = None) -> Program:
        """Stand in for `workers.context.fetch_program`: the program must be there, and is not unpacked."""
        self.blobs.get(ref.program_sha256, self.settings.unpacked_limit_bytes)
        return Program(directory, (), ref.label)
