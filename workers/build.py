"""Build one uploaded version and try it: claim, make, try, finish. The same split as `workers.play`.

A version is ready when its sources build and it has finished one match against a house bot without a fault, in
the same boxes and under the same limits as any rated match. What it did wrong is told to its author with the lines
around it; what we did wrong puts the version back in the queue.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.chance import SEED_BYTES
from engine.core import NS_PER_MS, TransportError
from engine.games import GAMES
from league.jobs import BuildJob, BuildOutcome
from league.service import claim_build, finish_build, release_build, renew_build
from sandbox.archive import BadArchive, Bounds, extract_program, extract_upload
from sandbox.arena import Arena, Played
from sandbox.box import Program, SandboxError, bot_limits
from sandbox.build import BuildFailed, build
from sandbox.languages import LANGUAGES, Recipe
from workers import metrics
from workers.context import BOTS, BUILD, Context
from workers.play import MAX_DETAIL, Heartbeat, LeaseLost, fault_records

log = logging.getLogger(__name__)

HOUSE_BOT = "random"
"""The opponent of every trial match; each game has one (bots/GAME/random), written in Python."""

TRIAL_ATTEMPTS = 3


def build_version(context: Context, version_id: int) -> None:
    """Build one version, if it is still there to be built."""
    with context.slots.take() as cpus:
        with context.database.transaction() as session:
            job = claim_build(session, version_id, context.worker)
        if job is None:
            return
        metrics.queue_wait_seconds.labels("build").observe(job.waited_seconds)
        log.info("version %d attempt %d: building %s", job.version_id, job.attempt, job.language)
        try:
            outcome = make(context, job, cpus)
        except LeaseLost:
            log.warning("version %d: the lease of attempt %d was lost", job.version_id, job.attempt)
            return
        except Exception as error:  # noqa: BLE001  whatever it was, it was ours: the version is built again
            give_back(context, job, error)
            return
    with context.database.transaction() as session:
        taken = finish_build(session, job, outcome)
    if taken:
        metrics.builds.labels(job.language, "ready" if outcome.program_sha256 else "broken").inc()


def make(context: Context, job: BuildJob, cpus: Sequence[int]) -> BuildOutcome:
    """Build, then try; raises what was our failure."""
    recipe = LANGUAGES[job.language].starting_with(job.entry)
    heartbeat = Heartbeat(context, lambda session: renew_build(session, job))
    with context.folder(BUILD) as folder:
        sources, program = folder / "sources", folder / "program"
        archive = context.blobs.get(job.source_sha256, context.settings.upload_limit_bytes)
        bounds = Bounds(context.settings.unpacked_limit_files, context.settings.unpacked_limit_bytes)
        extract_upload(archive, job.filename, recipe, sources, bounds)
        try:
            built = build(context.sandbox, sources, recipe, ",".join(map(str, cpus)), heartbeat)
        except BuildFailed as failure:
            return BuildOutcome(None, failure.reason, failure.log)
        program.mkdir()
        try:
            extract_program(built.tar, program, context.settings.program_limit_bytes)
        except BadArchive as refused:
            return BuildOutcome(None, f"what the build left cannot be used: {refused.detail}", built.log)
        reason, report = try_out(context, job, recipe, program, cpus, heartbeat)
        if reason:
            return BuildOutcome(None, reason, built.log + report)
        return BuildOutcome(context.blobs.put(built.tar), "", built.log + report)


def try_out(
    context: Context,
    job: BuildJob,
    recipe: Recipe,
    directory: Path,
    cpus: Sequence[int],
    between: Callable[[], None],
) -> tuple[str, str]:
    """One match against the house bot: why the version is not fit to play ("" if it is), and a report."""
    house = LANGUAGES["python"]
    programs = [
        Program(directory, recipe.run, f"version {job.version_id}"),
        Program(BOTS / job.game / HOUSE_BOT, house.run, f"house:{HOUSE_BOT}"),
    ]
    limits = [bot_limits(cpus, player) for player in range(len(programs))]
    with Arena(context.sandbox, programs, limits, referee_cpus=context.slots.spare) as arena:
        played = _play_trial(arena, job, between)
    if 1 in played.transcript.result.faults:
        raise SandboxError("house-bot", f"the house bot failed in a trial match: {played.transcript.result.faults[1]}")
    return _reason(played), _report(played)


def _play_trial(arena: Arena, job: BuildJob, between: Callable[[], None]) -> Played:
    attempt = 0
    while True:
        attempt += 1
        try:
            seed = os.urandom(SEED_BYTES)
            return arena.play(GAMES[job.game], (0, 1), seed, {"trial": job.version_id}, between)
        except TransportError as error:
            log.warning("trial of version %d is void: %s: %s", job.version_id, error.cause, error.detail)
            if attempt == TRIAL_ATTEMPTS:
                raise


def give_back(context: Context, job: BuildJob, error: Exception) -> None:
    """Our failure: the version goes back to the queue."""
    cause = error.cause if isinstance(error, TransportError) else type(error).__name__
    log.error("version %d attempt %d failed: %s", job.version_id, job.attempt, cause, exc_info=error)
    metrics.task_failures.labels("build", cause).inc()
    with context.database.transaction() as session:
        release_build(session, job, cause, str(error)[:MAX_DETAIL])


def _reason(played: Played) -> str:
    for record in fault_records(played.transcript):
        if record.seat == 0:
            why = f": {record.why}" if record.why else ""
            return (
                f"the trial match ended with {record.fault} at {record.command} after {record.elapsed_ms:.1f} ms{why}"
            )
    return ""


def _report(played: Played) -> str:
    """The trial's last lines and the bot's stderr, as its author sees them."""
    lines = ["", "--- trial match ---"]
    for prompt in list(played.transcript.prompts())[-6:]:
        if prompt.message.seat == 0:
            lines.append(f"<< {prompt.message.line}")
            answer = prompt.reply.line if prompt.reply.line is not None else f"({prompt.reply.fault})"
            lines.append(
                f">> {answer.encode('unicode_escape').decode()}   {prompt.reply.elapsed_ns / NS_PER_MS:.1f} ms"
            )
    end = played.exits.get(0)
    if end is not None:
        how = f"exit code {end.exit_code}" if end.exit_code is not None else f"ended by signal {end.signal}"
        lines.append("still running after FINISH, killed" if end.lingered else how)
        if end.stderr:
            lines += ["--- stderr ---", end.stderr.decode("utf-8", "replace")]
    return "\n".join(lines) + "\n"
