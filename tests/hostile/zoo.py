"""The cases as data, and what is done with each: upload it, build it, let it play. README.md says how to add one.

Every step is the product's own: `service.bots.bots` takes the upload, `sandbox.build` makes the program in a container,
`workers.play.run` plays the series, voids and all. Only the queue and the database are left out where a case does not
need them.
"""

import hashlib
import io
import itertools
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal
from unittest.mock import patch

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Seat
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.engine.replay import replay
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.league.causes import Cause
from deadheat.league.config import Settings
from deadheat.league.jobs import FaultRecord, MatchJob, MatchOutcome, ProgramRef, SeriesJob
from deadheat.league.service.bots.bots import Upload, accept
from deadheat.sandbox.archive import extract_upload
from deadheat.sandbox.box import Box, Channel, Exit, Limits, Program, bot_limits
from deadheat.sandbox.build import build
from deadheat.sandbox.cgroup import delay_between, own_times
from deadheat.sandbox.containers import ContainerBox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.languages import LANGUAGES
from deadheat.sandbox.rooms import Room, Wall
from deadheat.workers import play
from deadheat.workers.context import Context
from tests.hostile.residue import Traces
from tests.stillness import judged

CASES = Path(__file__).parent
HONEST = {
    "yacht-auction": bots_of("yacht-auction") / "hello-c" / "main.c",
    "betris-large": bots_of("betris-large") / "starter" / "main.c",
    "liars-dice": bots_of("liars-dice") / "starter" / "main.c",
    "victim": CASES / "victim.c",
}
"""A quick opponent for each game: it answers within microseconds. The victim plays Yacht Auction, and needs time."""

CHARGED_SHARE, UNCHARGED_NS = 0.98, NS_PER_MS // 2
"""A bot must be charged this share of the CPU time that it used while it was asked, but for so much a prompt."""

MAKE_TIMEOUT_S = 60
OPPONENT_NS = 250 * NS_PER_MS
"""The most that an opponent that answers within microseconds may be charged in a whole match: a hundred times what it
uses, and far less than if it paid for the other bot's writes and reads."""

FINISH_GRACE_NS = 60 * NS_PER_S
"""How long a bot that must not linger may take to end, instead of the product's second: this host may be busy."""

UNPAID_NS = 50 * NS_PER_MS
"""By how much a bot's CPU time may exceed its charge for a reply. The meter is read a little later, and later still
if the host kept the referee from running meanwhile."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MatchExpectation(_Strict):
    """The expected fault of the bot in each match of the series ("" for none). "A|B" is either: a ruling leaves the
    label open, or a runtime the outcome.
    """

    faults: list[str]
    commands: list[str] | None = None  # the command at which the fault was committed
    ends: list[str] | None = None  # how its process ended: "exit N", "signal N", "killed" by us, or "lost" with its box
    tried: int | None = None  # a probe writes `tried: NAME` for each attempt, `BREACH: NAME` if it succeeded
    rare: frozenset[str] = frozenset()  # attempts that may fail even unconfined: not every kernel and machine has these
    granted: frozenset[str] = frozenset()  # attempts that succeed in a kernel of the box's own
    charged: bool = False  # its last words are `used: NS`, the CPU time of ROLL and SCORE: it must be charged for them


class UploadExpectation(_Strict):
    """The upload is refused with this reason code."""

    refused: str


class BuildExpectation(_Strict):
    """The expected fate of the version; `reason` and `log` are parts of the texts that its author gets."""

    state: Literal["ready", "broken"]
    reason: str = ""
    log: str = ""


class _Case(_Strict):
    title: str = Field(min_length=10)
    make: bool = False  # make.py creates the upload, instead of bot/
    like: str = ""  # the case of which this is a variant


class MatchCase(_Case):
    """The bot is built and plays a series against an honest one."""

    kind: Literal["match"]
    game: str = "yacht-auction"
    matches: int = Field(default=2, ge=1, le=5)
    opponent: Literal["", "victim"] = ""
    expect: MatchExpectation


class UploadCase(_Case):
    """The upload is refused."""

    kind: Literal["upload"]
    expect: UploadExpectation


class BuildCase(_Case):
    """The upload is accepted, then built and tried as any version is."""

    kind: Literal["build"]
    game: str = "yacht-auction"
    seconds: int | None = None  # lower than the product's limit, which would cost the suite a minute
    memory_mib: int | None = None
    expect: BuildExpectation


Case = Annotated[MatchCase | UploadCase | BuildCase, Field(discriminator="kind")]
_CASE: TypeAdapter[MatchCase | UploadCase | BuildCase] = TypeAdapter(Case)


def names() -> list[str]:
    return sorted(path.parent.name for path in CASES.glob("*/case.toml"))


def load(name: str, runtime: str = "") -> MatchCase | UploadCase | BuildCase:
    """Read one case, with what it expects under this container runtime where that differs ([expect.runsc])."""
    table = tomllib.loads((CASES / name / "case.toml").read_text(encoding="utf-8"))
    other = table.get("expect", {}).pop("runsc", {})
    if runtime == "runsc":
        table["expect"] |= other
    return _CASE.validate_python(table)


def upload_of(name: str, case: MatchCase | UploadCase | BuildCase) -> tuple[str, bytes]:
    if case.make:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(CASES / name / "make.py"), folder]
            subprocess.run(command, check=True, timeout=MAKE_TIMEOUT_S, env={**os.environ, "PYTHONPATH": str(CASES)})
            (made,) = Path(folder).iterdir()
            return made.name, made.read_bytes()
    folder_of_bot = CASES / name / "bot"
    files = sorted(path for path in folder_of_bot.rglob("*") if path.is_file())
    if len(files) == 1:
        return files[0].name, files[0].read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in files:
            archive.write(path, path.relative_to(folder_of_bot).as_posix())
    return "bot.zip", buffer.getvalue()


class WatchedSandbox(DockerSandbox):
    """The product's sandbox, which also remembers what identifies its boxes."""

    def __init__(self, settings: Settings, run_dir: Path) -> None:
        super().__init__(settings.image, run_dir, settings.runtime)
        self.traces = Traces()

    def open(self, program: Program, limits: Limits) -> Box:
        box = super().open(program, limits)
        assert isinstance(box, Room | ContainerBox)
        start = box.start

        def noted() -> Channel:
            channel = start()
            self.traces.note(box)
            return channel

        setattr(box, "start", noted)  # noqa: B010  a method, which mypy guards
        return box

    def _wall(self, cpus: str) -> Wall:
        wall = super()._wall(cpus)
        self.traces.walls.add(wall.id)
        return wall


@dataclass(frozen=True, slots=True)
class Finished:
    """One match of a series, from the point of view of the program under test."""

    fault: FaultRecord | None
    ending: Exit | None  # None: its box could not be used again
    charged_ns: Sequence[int] = ()  # for each of its prompts but READY


class Zoo:
    """A worker's environment, and the honest opponent, for a whole session."""

    def __init__(self, folder: Path, kept: Path | None = None) -> None:
        """`kept`: the folder of programs that earlier runs of these tests built; None: build each one."""
        self.settings = Settings(data_dir=folder)
        self._kept = kept
        self.context = Context(self.settings)
        self.sandbox = WatchedSandbox(self.settings, self.context.run_dir)
        self.context.__dict__["sandbox"] = self.sandbox
        self._versions = itertools.count(1)
        self._honest: dict[str, ProgramRef] = {}
        with self.context.slots.take() as cpus:  # the lock file exists from now on, and the wall
            if not self.sandbox.runtime.gvisor:
                self.sandbox._wall(bot_limits(cpus).cpus)
        own_times()  # the referee's own counter is open from now on

    def close(self) -> None:
        self.sandbox.traces.close()
        self.sandbox.close()

    def honest(self, game: str) -> ProgramRef:
        if game not in self._honest:
            header = (CASES / "player.h").read_text()
            source = HONEST[game].read_text().replace('#include "player.h"', header)
            self._honest[game] = self.build(*self.accept("honest.c", source.encode()))
        return replace(self._honest[game], version_id=next(self._versions))

    def accept(self, filename: str, content: bytes) -> tuple[Upload, bytes]:
        """Hand in an upload; raises BadUpload."""
        sha256 = hashlib.sha256(content).hexdigest()
        return accept(io.BytesIO(content), filename, sha256, self.settings, self.context.blobs), content

    def build(self, upload: Upload, content: bytes) -> ProgramRef:
        """Build in a container; raises BuildFailed. Unlike the league's, it need not pass a trial match."""
        tar = self.context.blobs.put(self._kept_or_built(upload, content))
        version = next(self._versions)
        return ProgramRef(version, f"{upload.filename} {version}", tar, upload.language, upload.entry)

    def _kept_or_built(self, upload: Upload, content: bytes) -> bytes:
        recipe = LANGUAGES[upload.language].starting_with(upload.entry)
        made_of = repr((content, upload.filename, recipe, self.sandbox.image().id))
        kept = self._kept and self._kept / f"{hashlib.sha256(made_of.encode()).hexdigest()}.tar"
        if kept and kept.exists():
            return kept.read_bytes()
        with self.context.folder("build") as folder, self.context.slots.take() as cpus:
            extract_upload(content, upload.filename, recipe, folder / "sources")
            tar = build(self.sandbox, folder / "sources", recipe, ",".join(map(str, cpus))).tar
        if kept:
            written = kept.with_suffix(f".{os.getpid()}")
            written.write_bytes(tar)
            written.rename(kept)
        return tar

    def play(
        self,
        bot: ProgramRef,
        opponent: ProgramRef,
        game: str,
        matches: int,
        lingers: bool = False,
        quick: bool = True,
    ) -> list[Finished]:
        """Play a series in one set of boxes as a worker does, `bot` in seats 0, 1, 0, ..., then check that the opponent
        came to no harm. `lingers`: the bot may have to be killed at the end. `quick`: the opponent needs no time.
        """
        seats = [(bot.version_id, opponent.version_id), (opponent.version_id, bot.version_id)]
        jobs = [MatchJob(n + 1, bytes([n]) * SEED_BYTES, seats[n % 2]) for n in range(matches)]
        job = SeriesJob(1, 1, game, {ref.version_id: ref for ref in (bot, opponent)}, tuple(jobs))
        grace = patch("deadheat.sandbox.arena.FINISH_GRACE_NS", NS_PER_S if lingers else FINISH_GRACE_NS)
        with self.context.slots.take() as cpus, grace:
            runs, waited_ns = _attempt(self.context, job, cpus)
            for _ in range(MATCH_ATTEMPTS - 1):
                if any(run.attempt.cause == Cause.WATCH_ENDED for run in runs):
                    runs, waited_ns = _attempt(self.context, job, cpus)
            return [_finished(bot, run, play.stored(self.context, run), waited_ns, quick) for run in runs]


def _attempt(context: Context, job: SeriesJob, cpus: Sequence[int]) -> tuple[list[play.Run], int]:
    """Play a series once; return its matches, and how long the host kept the referee from running."""
    runs: list[play.Run] = []
    before = own_times()
    play.run(context, job, cpus, lambda: None, runs.append)
    return runs, delay_between(before, own_times())


def _finished(bot: ProgramRef, run: play.Run, outcome: MatchOutcome, waited_ns: int, quick: bool) -> Finished:
    assert run.played is not None, f"the attempt was void: {run.attempt}"
    transcript = run.played.transcript
    assert decode(encode(transcript)) == transcript
    replay(GAMES[transcript.game], transcript)
    endings = outcome.exits
    faults = {record.seat: record for record in outcome.faults}
    seat = run.match.seats.index(bot.version_id)
    opponent = 1 - seat
    assert opponent in endings, "the opponent's box could not be used again after the match"
    judged(not was_late(faults.get(opponent)), f"the opponent was convicted: {faults}")
    assert opponent not in faults, f"the opponent was convicted: {faults}"
    assert ending_of(endings[opponent]) == "exit 0", f"the opponent was harmed: {endings[opponent]}"
    if seat in faults:
        assert transcript.result.ranks[opponent] < transcript.result.ranks[seat]
    check_charges(transcript, opponent, waited_ns, quick)
    asked = [prompt for prompt in transcript.prompts() if prompt.message.command != "READY"]
    charged_ns = [prompt.reply.own_ns for prompt in asked if prompt.message.seat == seat]
    return Finished(faults.get(seat), endings.get(seat), charged_ns)


def check_charges(transcript: Transcript, opponent: Seat, waited_ns: int, quick: bool) -> None:
    """Check that all computing is charged, and that a `quick` opponent does not pay for what the bot does to the
    referee. `waited_ns`: how long the host kept the referee from running, so how late it may have read a meter.
    """
    charged_ns = 0
    free_ns = dict.fromkeys(range(transcript.seats), 0)
    for prompt in transcript.prompts():
        reply = prompt.reply
        free_ns[prompt.message.seat] += max(0, (reply.cpu_ns or 0) - reply.own_ns - UNPAID_NS)
        judged(free_ns[prompt.message.seat] <= waited_ns, f"more computed than charged: {prompt}")
        if prompt.message.seat == opponent and prompt.message.command != "READY":
            charged_ns += reply.own_ns
    judged(not quick or charged_ns <= OPPONENT_NS, f"the opponent was charged {charged_ns / NS_PER_MS:.1f} ms")


def ending_of(ending: Exit | None) -> str:
    if ending is None:
        return "lost"
    if ending.lingered:
        return "killed"
    return f"exit {ending.exit_code}" if ending.exit_code is not None else f"signal {ending.signal}"


def was_late(record: FaultRecord | None) -> bool:
    return record is not None and record.fault == Fault.TIMEOUT


def fault_fits(expected: str, record: FaultRecord | None) -> bool:
    return (record.fault if record else "") in {Fault[name] if name else "" for name in expected.split("|")}


def fits(expected: str, found: str) -> bool:
    return found in expected.split("|")
