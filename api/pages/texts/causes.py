"""Explains in the reader's words why an attempt failed; the words of `league.causes` are for programs and searches."""

from __future__ import annotations

from deadheat.engine.language import N_, gettext
from deadheat.league.causes import Cause

PHRASES = {
    Cause.PLAYED: N_("played"),
    Cause.HOST_MEMORY: N_("the machine ran out of memory"),
    Cause.HOST_UNKNOWN: N_("nothing shows whether the bot was kept from running"),
    Cause.WATCH_ENDED: N_("the bot got almost no processor time"),
    Cause.HOST_STARVED: N_("the machine was overloaded"),
    Cause.REFEREE_LATE: N_("the referee was late"),
    Cause.HOST_UNFIT: N_("the machine was unfit to judge"),
    Cause.ENGINE: N_("the container engine failed"),
    Cause.NO_ENGINE: N_("the container engine did not answer"),
    Cause.NO_IMAGE: N_("the machine lacked the image"),
    Cause.NO_RUNTIME: N_("the machine lacked the runtime"),
    Cause.CONTAINER_DIED: N_("a container died"),
    Cause.CONTAINER_STUCK: N_("a container took no more orders"),
    Cause.DIRTY_BOX: N_("a container was not clean"),
    Cause.NO_START: N_("the program could not be started"),
    Cause.HOUSE_BOT: N_("one of our own bots failed"),
    Cause.REFERENCE_BOT: N_("one of our reference bots failed"),
    Cause.BLOBS_AWAY: N_("the store could not be reached"),
    Cause.BLOB_DAMAGED: N_("the copy in the store is damaged"),
    Cause.BLOB_MISSING: N_("the store does not have the program"),
    Cause.DATABASE_AWAY: N_("the database could not be reached"),
    Cause.LEASE_EXPIRED: N_("the worker stopped reporting"),
    Cause.WORKER_STOPPED: N_("the worker was stopped, and handed it back"),
    Cause.ENTRY_ABSENT: N_("a bot had left the season"),
    Cause.CHALLENGE_OVER: N_("its challenge was over"),
    Cause.EVALUATION_OVER: N_("its evaluation was over"),
    Cause.FINALS_BEGAN: N_("the finals began"),
    Cause.SEASON_CLOSED: N_("the season was closed"),
    Cause.NO_WORKER: N_("no worker was free in time"),
    Cause.LEFT: N_("the person left before it began"),
    Cause.RESIGNED: N_("the person resigned"),
    Cause.UNKNOWN: N_("the service failed"),
}


def phrase(word: str) -> str:
    """A cause as it was recorded: why, and the word in brackets."""
    return f"{gettext(PHRASES[Cause(word)])} ({word})"
