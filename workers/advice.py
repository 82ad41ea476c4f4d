"""Asks the house's strongest bot, after a person's match, what it would have done in the person's place.

Like any bot, it is built and asked in boxes. For the build and for each answer it takes a slot of processors between
two series of the league, as the person's opponent did. Its answers are stored as a transcript (`engine.advice`).
"""

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path

from deadheat.engine.advice import ADVISERS, Session, seed_of
from deadheat.engine.games.folder import bot_digest, bots_of
from deadheat.engine.replay import known_rules
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, Transcript, decode, encode
from deadheat.league.service.tables.advising import LEASE, AdviceJob, claim_advice, store_advice
from deadheat.sandbox.archive import extract_program
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Program, bot_limits
from deadheat.sandbox.build import build
from deadheat.sandbox.languages import LANGUAGES, MANIFEST, Recipe, detect
from deadheat.workers import stopping
from deadheat.workers.context import BUILD, Context
from deadheat.workers.holding import insist

log = logging.getLogger(__name__)


class TooLong(Exception):
    """The bot has used up the time for a match."""


def give_advice(context: Context, table_id: int) -> None:
    """Produce and store advice on a person's match, if it is wanted. Any failure is retried a few times."""
    with context.database.transaction() as session:
        job = claim_advice(session, table_id)
    if job is None:
        return
    match = decode(context.blobs.get(job.transcript_sha256, MAX_TRANSCRIPT_BYTES))
    try:
        digest = context.blobs.put(encode(_advised(context, job, match))) if known_rules(match) else None
    except stopping.Stopping:
        log.info("exhibition %d: advice is left to another worker, because this one stops", table_id)
        return
    insist(context, lambda session: store_advice(session, job, digest))
    log.info("exhibition %d: advice is stored", table_id)


def _advised(context: Context, job: AdviceJob, match: Transcript) -> Transcript:
    bot = ADVISERS[job.game].bot
    folder = bots_of(job.game) / bot
    recipe = _recipe(folder)
    about = {"exhibition": job.table_id, "seat": job.seat, "transcript": job.transcript_sha256}
    about |= {"bot": bot, "source": bot_digest(job.game, bot)}
    slots, ends = context.slots, time.monotonic() + LEASE.total_seconds() / 2
    cpus = slots.slots[job.table_id % len(slots.slots)]

    def between() -> None:
        stopping.look()
        if time.monotonic() > ends:
            raise TooLong(f"advice on exhibition {job.table_id}")

    @contextlib.contextmanager
    def hold() -> Iterator[None]:
        between()
        with slots.take(between, only=cpus):
            yield

    with context.folder(BUILD) as directory:
        with hold():
            built = build(context.sandbox, folder, recipe, ",".join(map(str, cpus)), between)
        extract_program(built.tar, directory, context.settings.unpacked_limit_bytes)
        program = Program(directory, recipe.run, f"house:{bot}")
        with Arena(context.sandbox, [program], bot_limits(cpus), slots.referee(cpus)) as arena:
            game, seed = Session(match, job.seat), seed_of(match, job.seat)
            return arena.play_beside(game, 1, seed, about, hold, lambda transport: transport, [0], between).transcript


def _recipe(folder: Path) -> Recipe:
    """Return the recipe by which a house bot is built and started."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    manifest = folder / MANIFEST
    language, entry = detect(folder.name, names, manifest.read_text("utf-8") if manifest.is_file() else None)
    return LANGUAGES[language].starting_with(entry)
