"""The checks of `deadheat doctor` on a machine that plays: its engine, its image, its fitness (see `checkup`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from deadheat.cli.operator.checkup import CURES, Finding, Verdict

if TYPE_CHECKING:
    from deadheat.league.config import Settings
    from deadheat.sandbox.docker import DockerSandbox


def check_engine(settings: Settings) -> Iterator[Finding]:
    """Check the engine, the image and the folder that both must see, as root, which a match needs."""
    from deadheat.sandbox.box import SandboxError
    from deadheat.sandbox.docker import DockerSandbox

    if settings.sandbox == "local":
        return
    if os.geteuid() != 0:
        yield Finding("engine", Verdict.WRONG, "A worker that plays must be root.", "start it as root")
        return
    run_dir = settings.data_dir.absolute() / "run"
    try:
        sandbox = DockerSandbox(settings.image, run_dir, settings.runtime)
    except SandboxError as error:
        yield Finding("engine", Verdict.WRONG, f"{error.detail[:1].upper()}{error.detail[1:]}.", CURES["engine"])
        return
    with closing(sandbox):
        yield Finding("engine", Verdict.GOOD, f"The Docker Engine answers and has {settings.image}.")
        yield _rooms(sandbox, run_dir)


def _rooms(sandbox: DockerSandbox, run_dir: Path) -> Finding:
    from deadheat.sandbox.box import SandboxError
    from deadheat.sandbox.runtimes import NO_PARSER, NO_PARSER_CURE

    try:
        sandbox.prove()
    except SandboxError as error:
        cure = "docs/operators.md, What a machine must allow, has the settings"
        if NO_PARSER in error.detail:
            cure = NO_PARSER_CURE
        return Finding("rooms", Verdict.WRONG, f"{error.detail[:1].upper()}{error.detail[1:]}.", cure)
    return Finding("rooms", Verdict.GOOD, f"Bots get rooms here, and containers see {run_dir} as this process does.")


def check_fitness(settings: Settings) -> Iterator[Finding]:
    """Run the host check that a worker runs when it starts, and yield its remarks and faults."""
    from deadheat.sandbox.docker import DockerSandbox
    from deadheat.sandbox.host.check import QUICK_ROUNDS, check_host
    from deadheat.sandbox.host.fitness import Level
    from deadheat.workers.context import Context

    if settings.sandbox == "local" or os.geteuid() != 0:
        return
    context = Context(settings)
    sandbox = DockerSandbox(settings.image, context.run_dir, settings.runtime, settings.only_plays)
    with closing(sandbox), context.slots.take() as cpus:
        report = check_host(sandbox, cpus, QUICK_ROUNDS, bots=context.slots.bots)
    for finding in report.findings:
        if finding.level is not Level.GOOD:
            verdict = Verdict.WRONG if finding.level is Level.UNFIT else Verdict.REMARK
            yield Finding("fitness", verdict, finding.text, finding.mend)
    if report.fit:
        yield Finding("fitness", Verdict.GOOD, "This machine is fit to judge.")
