"""Plays on this machine, with the judge's own referee, clock and sandbox.

The progress bar has no thread, because nothing else may run in the referee's interpreter during a bot's time. It is
drawn between exchanges, when no clock runs.
"""

import os
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from deadheat.cli.console import (
    INTERRUPTED,
    USAGE,
    cannot,
    command,
    ending_in_order,
    err,
    fail,
    last_lines,
    make_folder,
    milestone,
    missing,
    note,
    out,
    quoted,
    undivided,
)
from deadheat.cli.local import profiling, report
from deadheat.cli.local.bots import RECORDED, BadBot, parting, recording
from deadheat.cli.local.builds import built
from deadheat.cli.local.report import Clock, Score
from deadheat.cli.local.reserve import reserved
from deadheat.cli.local.transcripts import faults_of, keep
from deadheat.cli.output import print_json, says
from deadheat.engine import chance
from deadheat.engine.core import Fault, Game, Seat, TransportError
from deadheat.engine.figures import counted, seat_number, span
from deadheat.engine.games import GAMES, unknown, variants
from deadheat.engine.own_time import WALL_CLOCK
from deadheat.engine.referee import MATCH_ATTEMPTS
from deadheat.engine.transcript import Transcript, encode_result
from deadheat.engine.verdicts import hint, took, why
from deadheat.league.causes import Cause, Trait
from deadheat.sandbox.arena import Arena, Played
from deadheat.sandbox.box import ABOUT_TIME, MEASURES, Program, Sandbox, bot_limits
from deadheat.sandbox.elsewhere import Elsewhere

REDRAW_SECONDS = 0.2
STDERR_LINES = 8  # shown for a bot that failed READY


class Backend(StrEnum):
    """The ways to run the bots of a match."""

    DOCKER = "docker"
    BWRAP = "bwrap"
    LOCAL = "local"


def _usual() -> Backend:
    """Choose containers if all that they need is installed, and otherwise plain programs, as in an author's install."""
    try:
        has_all = MEASURES and find_spec("docker") and find_spec("pydantic_settings")
        return Backend.DOCKER if has_all else Backend.LOCAL
    except ModuleNotFoundError:
        return Backend.LOCAL


USUAL = _usual()

SANDBOX_HELP = (
    "docker: in containers. bwrap: by bubblewrap, for other people's bots without Docker or root. "
    "local: as plain programs, NOT isolated, for your own."
)
GAME_HELP = f"The game: {', '.join(GAMES)}"
BOT_HELP = (
    "A source file, a folder, an executable, or house:NAME for one that comes with Deadheat: random, starter, expert, "
    "and more in each game (a wrong NAME lists them)."
)

Variant = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=NUMBER", help="A parameter of the game, such as dice=3, as a season sets it."),
]


@says
def play(
    game: Annotated[str, typer.Argument(help=f"{GAME_HELP}.")],
    bots: Annotated[list[str], typer.Argument(metavar="BOT...", help=f"{BOT_HELP} Also recorded:FILE#SEAT.")],
    matches: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many matches.")] = 10,
    set_: Variant = None,
    seed: Annotated[
        str, typer.Option(help="Seed: the same text gives the same dice. A match's own seed repeats its dice.")
    ] = "",
    sandbox: Annotated[Backend, typer.Option(help=SANDBOX_HELP)] = USUAL,
    transcripts: Annotated[
        Path | None, typer.Option(help="Folder for transcripts and stderr; default: a new temporary folder.")
    ] = None,
    profile: Annotated[
        int | None,
        typer.Option(min=1, metavar="SEAT", help="Show where a Python bot's time goes; it has no deadlines then."),
    ] = None,
    as_json: bool = False,
) -> tuple[()]:
    """Play bots against each other; the first takes seat 1."""
    try:
        rules = variants.rules(game, set_)
    except KeyError:
        fail(unknown(game), USAGE)
    except variants.BadVariant as error:
        fail(f"--set: {error}", USAGE)
    if len(bots) not in rules.seats:
        fail(f"{game} needs {span(rules.seats)} bots, not {len(bots)}", USAGE)
    if profile is not None and profile > len(bots):
        fail(f"--profile takes a seat from 1 to {len(bots)}", USAGE)
    if transcripts is not None:
        make_folder(transcripts)
    with ending_in_order(), work_folder("play") as work, failing(f"write {work}"):
        backend = open_backend(sandbox, Path(work))
        programs = list(built(rules, bots, backend, Path(work)))
        run = Run(rules, bots, transcripts, sandbox, as_json)
        if profile is not None:
            programs[profile - 1] = profiling.profiled(programs[profile - 1])
            run.profiles[profile - 1] = []
        with reserved(2) as cpus, Arena(backend, programs, bot_limits(cpus), cpus[1:]) as arena:
            arena.open()
            run.play_all(arena, programs, list(_seeds(seed, matches)))
    if as_json:
        print_json({"summary": run.summary()})
    elif run.no_start is None and run.score.played + run.score.abandoned:
        report.show(out, game, bots, run.score, run.clock)
        for seat, spent in run.profiles.items():
            out.print(f"\nSeat {seat_number(seat)}", *profiling.shown(spent), sep="\n")
    run.end()
    return ()


@dataclass
class Run:
    """One call of `play`: the request, and its results so far."""

    game: Game
    bots: Sequence[str]
    folder: Path | None
    """The folder for transcripts; None: a new temporary folder, created with the first transcript."""
    sandbox: Backend
    as_json: bool
    score: Score = field(init=False)
    recordings: dict[Seat, tuple[Transcript, Seat]] = field(init=False)
    """The recordings that seats of recorded bots repeat."""
    clock: Clock = field(default_factory=Clock)
    profiles: dict[Seat, list[profiling.Spent]] = field(default_factory=dict)
    """Where the time of profiled seats went."""
    killed: Counter[Seat] = field(default_factory=Counter)
    """By seat, the number of matches in which its program had to be killed after FINISH."""
    interrupted: bool = False
    no_start: str | None = None
    telling: tuple[Path, Seat, str] | None = None
    """The first match worth explaining, and why the seat failed: a fault, or else a loss of the first bot ("")."""

    def __post_init__(self) -> None:
        recorded = ((seat, bot) for seat, bot in enumerate(self.bots) if bot.startswith(RECORDED))
        self.recordings = {seat: recording(self.game, bot) for seat, bot in recorded}
        self.score = Score(len(self.bots), recorded=self.recordings.keys())

    def play_all(self, arena: Arena, programs: Sequence[Program], all_seeds: Sequence[bytes]) -> None:
        """Play every match, until the last, Ctrl-C, or a bot that fails READY in the first match."""
        columns = (TextColumn("{task.description}"), BarColumn(None), MofNCompleteColumn(), TimeRemainingColumn(True))
        quiet = self.as_json or not err.is_terminal
        with Progress(*columns, console=err, transient=True, auto_refresh=False, disable=quiet) as progress:
            task = progress.add_task(self.game.name, total=len(all_seeds))
            draw_at = 0.0

            def redraw() -> None:
                nonlocal draw_at
                if not quiet and time.monotonic() >= draw_at:  # not more often than a person can see
                    draw_at = time.monotonic() + REDRAW_SECONDS
                    progress.refresh()

            try:
                for number, seed in enumerate(all_seeds):
                    played, voids = self._play_one(arena, programs, seed, number, redraw)
                    with undivided():  # so that every match in the summary has its line
                        self._count(number, seed, played, voids)
                    progress.update(task, advance=1, description=report.running(self.score))
                    redraw()
                    if quiet and not self.as_json and milestone(number + 1) and number + 1 < len(all_seeds):
                        note(f"{number + 1} of {len(all_seeds)} matches: {report.running(self.score)}")
                    if self.no_start:
                        break
            except KeyboardInterrupt:
                self.interrupted = True

    def _play_one(
        self, arena: Arena, programs: Sequence[Program], seed: bytes, number: int, between: Callable[[], None]
    ) -> tuple[Played | None, int]:
        players = [program.label for program in programs]
        about = {"match": number, "players": players, "sandbox": self.sandbox.value, **ABOUT_TIME}
        around = partial(profiling.Unhurried, seats=frozenset(self.profiles))
        for voids in range(MATCH_ATTEMPTS):
            try:
                seats = range(len(programs))
                return arena.play(self.game, seats, seed, about, between, around, attempt=voids + 1), voids
            except TransportError as error:
                if Trait.HOPELESS in Cause(error.cause).traits:
                    raise
                note(f"match {number}: {error.cause}: {error.detail}; trying again with the next seed", "void:")
        return None, MATCH_ATTEMPTS

    def _count(self, number: int, seed: bytes, played: Played | None, voids: int) -> None:
        transcript = played.transcript if played else None
        self.score.add(transcript, voids)
        path = None
        if played is not None and transcript is not None:
            self.folder = self.folder or Path(tempfile.mkdtemp(prefix="deadheat-transcripts-"))
            path = self.folder / f"{self.game.name}-{seed.hex()}.jsonl"
            self.killed.update(keep(path, played))
            for seat, spent in self.profiles.items():
                self.profiles[seat] = profiling.total([*spent, *profiling.keep(path, seat)])
            self.clock.add(transcript)
            self._note(path, played)
            for seat, (then, its_seat) in self.recordings.items():
                if (exchange := parting(then, its_seat, transcript, seat)) is not None:
                    failed = seat in transcript.result.faults
                    ends = "; its lines stop fitting, so the match does not count" if failed else ""
                    whose = f"the recording of seat {seat_number(seat)}"
                    note(f"match {number} differs from {whose} from exchange {exchange} on{ends}")
            if self.score.played == 1:
                self.no_start = _not_ready(self.bots, played)
        if self.as_json:
            result = encode_result(transcript.result) if transcript else {"ranks": None, "points": None}
            print_json(
                {
                    "match": number,
                    "seed": seed.hex(),
                    "ranks": result["ranks"],
                    "points": result["points"],
                    "faults": faults_of(transcript) if transcript else [],
                    "voided": transcript is None,
                    "void_attempts": voids,
                    "transcript": str(path) if path else None,
                }
            )

    def _note(self, path: Path, played: Played) -> None:
        result = played.transcript.result
        faulted = min(result.faults.keys() - self.recordings.keys(), default=None)
        if faulted is not None and not (self.telling and self.telling[2]):
            self.telling = path, faulted, f"{result.faults[faulted]}: {_reason(played, faulted)}"
        elif self.telling is None and result.ranks[0] > 1:
            self.telling = path, 0, ""

    def summary(self) -> dict[str, Any]:
        """Return the count and the response times as a JSON object."""
        summary = self.score.summary(self.bots)
        for seat, bot in enumerate(summary["bots"]):
            bot["times"] = self.clock.as_dict(seat)
            bot["killed_after_finish"] = self.killed[seat]
            if seat in self.profiles:
                bot["profile"] = [*map(asdict, self.profiles[seat])]
        return summary

    def end(self) -> None:
        if self.folder is not None:
            note(f"Transcripts in {self.folder}")
        if self.no_start is not None:
            fail(self.no_start)
        for seat, count in sorted(self.killed.items()) if not self.as_json else ():
            if count:
                who = f"seat {seat_number(seat)} was still running a second after FINISH and was killed"
                note(f"{who}; results stand.", f"In {counted(count, 'match', 'matches')}")
        if self.telling is not None and not self.as_json:
            path, seat, failed = self.telling
            if failed:
                note(failed, f"Seat {seat_number(seat)} failed by", "red")
            explain = command("explain", str(path), "--seat", str(seat_number(seat)))
            note(f"Why seat {seat_number(seat)} lost a match: {explain}")
        if self.interrupted:
            note(f"after {counted(self.score.played, 'match', 'matches')}", "stopped")
            raise typer.Exit(INTERRUPTED)


def _seeds(text: str, count: int) -> Iterator[bytes]:
    """Yield a seed for each match (see `engine.chance.seeds`). Without a text, the seeds are new each time."""
    return islice(chance.seeds(text or secrets.token_hex(chance.SEED_BYTES)), count)


def work_folder(command: str) -> "tempfile.TemporaryDirectory[str]":
    """Make a folder that is removed at the end; on Windows, a process that got away may keep a part."""
    return tempfile.TemporaryDirectory(prefix=f"deadheat-{command}-", ignore_cleanup_errors=True)


def open_backend(backend: str, work: Path, warns: bool = True) -> Sandbox:
    """Return this process's sandbox of a backend, with its files below `work`. It `warns` if it confines nothing."""
    if backend != Backend.LOCAL and not MEASURES:
        fail(f"--sandbox {backend} needs Linux; --sandbox local runs plain programs here", USAGE)
    if backend == Backend.LOCAL:
        if warns:
            warning = "The bots run as plain programs, NOT isolated from this machine."
            note("Add --sandbox bwrap for other people's." if MEASURES else f"{WALL_CLOCK}.", warning)
        copies = work / f"copies-{os.getpid()}"
        if not MEASURES:
            return Elsewhere(copies)
        from deadheat.sandbox.local import LocalSandbox

        return LocalSandbox(copies)
    if backend == Backend.BWRAP:
        from deadheat.sandbox.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox()
    try:
        from deadheat.league.config import Settings
        from deadheat.sandbox.docker import DockerSandbox
    except ModuleNotFoundError as error:
        fail(
            f"containers need {missing(error)}: pip install 'deadheat[server]', add --sandbox bwrap to isolate bots "
            "without Docker, or --sandbox local to run them as plain programs",
            USAGE,
        )
    settings = Settings()
    return DockerSandbox(settings.image, work / f"run-{os.getpid()}", settings.runtime)


@contextmanager
def failing(use: str) -> Iterator[None]:
    """End the command with a sentence if a bot, this machine or a file fails. `use`: a verb and what it is done to,
    which the name of the file that failed replaces.
    """
    try:
        yield
    except BadBot as error:
        if error.log:
            err.print(quoted(error.log), soft_wrap=True)
        fail(str(error), USAGE)
    except TransportError as error:
        message, reason = error.detail, error.__cause__
        if error.cause in (Cause.NO_ENGINE, Cause.NO_IMAGE):
            message += " (or use --sandbox bwrap, or local for your own bots)"
        elif error.cause == Cause.NO_START and isinstance(reason, OSError):
            what = error.detail.partition(": [Errno")[0]
            message = f"{what}: {reason.strerror}; does its first line (#!) name an existing program?"
        fail(message)
    except BrokenPipeError:
        raise  # the reader of our output closed it: end the command silently
    except OSError as error:
        cannot(f"{use.partition(' ')[0]} {error.filename}" if error.filename else use, error)


def _reason(played: Played, seat: Seat) -> str:
    """Say in a line why a seat failed: a crash's last line, what a slow answer did, or the referee's reason."""
    fault, prompt = played.transcript.result.faults[seat], played.transcript.last_prompt(seat)
    ended = played.exits.get(seat)
    crash = last_lines(ended.stderr, 1).strip()[:200] if fault is Fault.EXITED and ended else ""
    return crash or (prompt and hint(fault, prompt)) or why(played.transcript, seat) or ""


def _not_ready(bots: Sequence[str], played: Played) -> str | None:
    """Return a sentence about the bot that failed READY, or None.

    In a first match this is the caller's mistake, and a thousand lost matches would hide it.
    """
    transcript = played.transcript
    for seat in sorted(transcript.result.faults):
        prompt = transcript.last_prompt(seat)
        if prompt is None or prompt.message.command != "READY":
            continue
        facts = [transcript.result.faults[seat].value, f"after {took(prompt.reply)}"]
        ended = played.exits.get(seat)
        if ended is not None and ended.exit_code is not None:
            facts.append(f"exit code {ended.exit_code}")
        elif ended is not None and ended.signal is not None:
            facts.append(f"signal {ended.signal}")
        if shown := last_lines(ended.stderr if ended else b"", STDERR_LINES):
            note("The end of its stderr:")
            err.print(quoted(shown), soft_wrap=True)
        who = f"{bots[seat]} (seat {seat_number(seat)}) did not get past READY"
        reason = hint(transcript.result.faults[seat], prompt) or why(transcript, seat) or "it failed"
        return f"{who}: {reason.removesuffix('.')} ({', '.join(facts)}); nothing else was played"
    return None
