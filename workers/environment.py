"""Describes this host's judge image to the league, when a worker starts and from time to time after that."""

from __future__ import annotations

import logging

from deadheat.league.service.bots.bots import confirm_environment, record_environment
from deadheat.sandbox.box import bot_limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.environment import describe, fingerprint
from deadheat.workers.context import Context

log = logging.getLogger(__name__)


def describe_environment(context: Context) -> None:
    """Make sure that the database describes the image. This is quick if it does already; otherwise it takes a slot for
    a second or two.

    Raises:
        SandboxError, BuildFailed: both our failures.
    """
    sandbox = context.sandbox
    if not isinstance(sandbox, DockerSandbox):
        return  # without a sandbox, there is no environment to describe
    image, limits = sandbox.image(), bot_limits(())
    known_as = fingerprint(image, limits)
    with context.database.transaction() as session:
        if confirm_environment(session, known_as):
            return
    with context.slots.take() as cpus:
        found = describe(sandbox, image, limits, ",".join(map(str, cpus)))
    with context.database.transaction() as session:
        record_environment(session, known_as, image.name, found, context.worker)
    log.info("%s has %s", image.name, ", ".join(language["version"] for language in found["languages"]))
