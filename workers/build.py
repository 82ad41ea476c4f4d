"""Builds one uploaded version and tries it: claim, make, try, finish. `workers.play` has the same steps.

A version qualifies by finishing a match against the house bot without a fault, in the same boxes and under
the same limits as any rated match: one at the game's smallest table and, if there are larger ones, one at the
largest. Its author sees its faults with the lines around them and can download the match's transcript. Our
own failure puts the version back in the queue, however often, and never breaks it. Nor does a time-out on a
machine known to be unfit (`league.service.series.hosts`).

The author can read the log while it grows. It is kept whole here and written to the version's row when the build prints
something, and between the exchanges of a trial match, when no bot's clock runs. The tools' output is not appended but
replaced each time (`sandbox.build`), because only the beginning and the end of long output are kept.

What cannot be compiled is refused in seconds, however long the series are that are being played: a compiler
begins beside them (`Slots.share`), where it has less weight than any bot (`sandbox.cgroup`). If that took too
long, the next attempt has a slot to itself. The trial match always has.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import Fault, Game, Seat, TransportError
from deadheat.engine.figures import seat_number
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import encode
from deadheat.engine.verdicts import took
from deadheat.league.causes import Cause
from deadheat.league.outcomes import fault_records
from deadheat.league.records.bots import TRIAL
from deadheat.league.service.jobs.builds import (
    BUILDS,
    BuildJob,
    BuildOutcome,
    claim_next_build,
    finish_build,
    give_back_build,
    note_build_log,
    renew_build,
)
from deadheat.league.service.series.hosts import NOT_SEEN, unfit_reasons
from deadheat.league.telemetry import doing
from deadheat.sandbox.archive import BadArchive, Bounds, extract_program, extract_upload
from deadheat.sandbox.arena import Arena, Played
from deadheat.sandbox.box import Program, SandboxError, bot_limits
from deadheat.sandbox.build import BuildFailed, build
from deadheat.sandbox.languages import LANGUAGES, Recipe
from deadheat.workers import metrics
from deadheat.workers.context import BUILD, Context
from deadheat.workers.holding import Heartbeat, LeaseLost, failure_of, insist, take

log = logging.getLogger(__name__)

HOUSE_BOT = "random"
"""The opponent of every trial match; each game has one (`bots/random` in its folder), written in Python.
Sooner or later it tries every command of the game; a better bot would keep to a few."""

TRIAL_ATTEMPTS = 3
WRITE_SECONDS = 1.0  # at least, between two writes of a log

SHOWN_PROMPTS = 6
"""The number of the candidate's last prompts in the log; the transcript has all of them."""


class BuildLog:
    """Our own lines and the tools' output so far, in order."""

    def __init__(self, context: Context, job: BuildJob) -> None:
        self._context, self._job = context, job
        self._said, self._heard = "", ""
        self._unwritten = False
        self._due_at = time.monotonic()

    @property
    def text(self) -> str:
        """Return the whole log so far."""
        return self._said + self._heard

    def say(self, lines: str) -> None:
        """Add our own lines after all of the tools' output. Raises LeaseLost."""
        before = self.text
        self._said, self._heard = before + ("\n" if before and not before.endswith("\n") else "") + lines + "\n", ""
        self._note()

    def hear(self, printed: str) -> None:
        """Replace the tools' output since our last lines. Raises LeaseLost."""
        self._heard = printed
        self._note()

    def write_when_due(self) -> None:
        """Show the log to the author, at most once a second. Raises LeaseLost if the build is no longer ours."""
        if not self._unwritten or time.monotonic() < self._due_at:
            return
        self._due_at = time.monotonic() + WRITE_SECONDS
        try:
            with self._context.database.transaction() as session:
                if not note_build_log(session, self._job, self.text):
                    raise LeaseLost
        except SQLAlchemyError as error:  # the database may come back; the log is also stored when the build ends
            log.warning("version %d: its log could not be written: %s", self._job.version_id, error)
            return
        self._unwritten = False

    def _note(self) -> None:
        self._unwritten = True
        self.write_when_due()


def build_version(context: Context, version_id: int) -> None:
    """Build one version: that of the message, or another whose turn comes first."""
    job = take(context, BUILDS, lambda session: claim_next_build(session, version_id, context.worker))
    if job is None:
        return
    try:
        with doing("version", version=job.version_id, attempt=job.attempt, language=job.language):
            log.info("version %d attempt %d: building %s", job.version_id, job.attempt, job.language)
            outcome = make(context, job)
    except LeaseLost:
        log.warning("version %d: the lease of attempt %d was lost", job.version_id, job.attempt)
        return
    except Exception as error:  # noqa: BLE001  any other error is ours: the version is built again
        failure = failure_of(BUILDS, f"version {job.version_id} attempt {job.attempt}", error)
        claim = (job.version_id, job.attempt, context.worker)
        insist(context, lambda session: give_back_build(session, *claim, failure))
        return
    if insist(context, lambda session: finish_build(session, job, outcome)):
        metrics.builds.labels(job.language, "ready" if outcome.program_sha256 else "broken").inc()


def make(context: Context, job: BuildJob) -> BuildOutcome:
    """Build the version, then try it. Raises our own failures."""
    recipe = LANGUAGES[job.language].starting_with(job.entry)
    build_log = BuildLog(context, job)
    heartbeat = Heartbeat.of(context, lambda session: renew_build(session, job))

    def between() -> None:
        heartbeat()
        build_log.write_when_due()

    with context.folder(BUILD) as folder:
        sources, program = folder / "sources", folder / "program"
        context.blobs.must_take()
        archive = context.blobs.get(job.source_sha256, context.settings.upload_limit_bytes)
        bounds = Bounds(total_bytes=context.settings.unpacked_limit_bytes)
        extract_upload(archive, job.filename, recipe, sources, bounds)
        build_log.say(f"--- build as {recipe.title} ---\n$ {recipe.build}")
        try:
            slot = context.slots.share if job.attempt == 1 else context.slots.take
            with slot(between) as cpus, doing("build"):
                built = build(context.sandbox, sources, recipe, ",".join(map(str, cpus)), between, build_log.hear)
        except BuildFailed as failure:
            build_log.hear(failure.log)
            return BuildOutcome(None, failure.reason, build_log.text)
        build_log.hear(built.log)
        program.mkdir()
        try:
            extract_program(built.tar, program, context.settings.unpacked_limit_bytes)
        except BadArchive as refused:
            return BuildOutcome(None, f"the build's output cannot be used: {refused.detail}", build_log.text)
        with context.slots.take(between) as cpus:
            reason, played = _try_out(context, job, recipe, program, cpus, build_log, between)
        trial = context.blobs.put(encode(played.transcript))
        if reason:
            return BuildOutcome(None, reason, build_log.text, trial)
        return BuildOutcome(context.blobs.put(built.tar), "", build_log.text, trial)


def _try_out(
    context: Context,
    job: BuildJob,
    recipe: Recipe,
    directory: Path,
    cpus: Sequence[int],
    build_log: BuildLog,
    between: Callable[[], None],
) -> tuple[str, Played]:
    """Return why the version is not fit to play ("" if it is), and its last trial match. House bots have all
    other seats.
    """
    candidate = Program(directory, recipe.run, f"version {job.version_id}")
    house = Program(bots_of(job.game) / HOUSE_BOT, LANGUAGES["python"].run, f"house:{HOUSE_BOT}")
    seats = GAMES[job.game].seats
    least, most = seats.start, seats.stop - 1
    tables = [(least, 0), (most, most - 1)] if most > least else [(least, 0)]  # with the candidate's seat
    for count, seat in tables:
        build_log.say(f"{TRIAL} at a table of {count}, in seat {seat_number(seat)} ---")
        programs = [candidate if place == seat else house for place in range(count)]
        about = {"trial": job.version_id, "players": [program.label for program in programs]}
        arena = Arena(context.sandbox, programs, bot_limits(cpus), context.slots.referee(cpus))
        with doing("trial match", seats=count), arena:
            played = _play(arena, GAMES[job.game], range(count), about, between)
        faults = played.transcript.result.faults
        if guilty := {place: fault.value for place, fault in faults.items() if place != seat}:
            raise SandboxError("house-bot", f"the house bot failed in a trial match: {guilty}")
        reason = _reason(context, played, seat)
        last = bool(reason) or count == most
        build_log.say(_report(played, seat) if last else "It made no mistake.")
        if last:
            return reason, played
    raise AssertionError(f"{job.game} is played by nobody")


def _play(
    arena: Arena, game: Game, seating: Sequence[int], about: Mapping[str, object], between: Callable[[], None]
) -> Played:
    """Play a match, and repeat it with other dice if an attempt is void."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return arena.play(game, seating, os.urandom(SEED_BYTES), about, between)
        except TransportError as error:
            log.warning("trial of version %s is void: %s: %s", about["trial"], error.cause, error.detail)
            if attempt == TRIAL_ATTEMPTS:
                raise


def _reason(context: Context, played: Played, seat: Seat) -> str:
    """Return a sentence about the candidate's fault. Raises SandboxError if this machine may not judge it."""
    for record in fault_records(played.transcript):
        if record.seat != seat:
            continue
        if record.fault is Fault.TIMEOUT:
            # A machine known to be unfit may not call a bot slow. Without a keeper, its fitness is unknown.
            with context.database.reading() as session:
                reasons = unfit_reasons(session, context.host)
            if reasons and reasons != (NOT_SEEN,) and not context.settings.judge_unfit:
                raise SandboxError(Cause.HOST_UNFIT, " ".join(reasons))
        why = f": {record.why}" if record.why else ""
        table = f" at a table of {played.transcript.seats}" if played.transcript.seats > 2 else ""
        took = f"after {record.elapsed_ms or 0.0:.1f} ms"
        return f"the trial match{table} ended with {record.fault} at {record.command} {took}{why}"
    return ""


def _report(played: Played, seat: Seat) -> str:
    """Return the trial's last lines and the bot's stderr, as shown to its author."""
    lines = []
    own = [prompt for prompt in played.transcript.prompts() if prompt.message.seat == seat]
    for prompt in own[-SHOWN_PROMPTS:]:
        lines.append(f"<< {prompt.message.line}")
        answer = prompt.reply.line if prompt.reply.line is not None else f"({prompt.reply.fault})"
        lines.append(f">> {answer.encode('unicode_escape').decode()}   {took(prompt.reply)}")
    end = played.exits.get(seat)
    if end is not None:
        how = f"exit code {end.exit_code}" if end.exit_code is not None else f"ended by signal {end.signal}"
        lines.append("still running after FINISH, killed" if end.lingered else how)
        if end.stderr:
            lines += ["--- stderr ---", end.stderr.decode("utf-8", "replace")]
    return "\n".join(lines)
