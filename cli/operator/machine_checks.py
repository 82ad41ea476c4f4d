"""The checks of `deadheat doctor` on a machine that plays: its engine, its image, its fitness (see `checkup`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from deadheat.cli.operator.findings import CURES, Finding, Verdict

if TYPE_CHECKING:
    from deadheat.league.config import Settings


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
        yield _shared_folder(settings, run_dir)


def _shared_folder(settings: Settings, run_dir: Path) -> Finding:
    """Check that a container sees our files: the folder must be on the engine's file system, under this path."""
    import docker
    from docker.errors import ContainerError, DockerException
    from docker.types import Mount

    from deadheat.sandbox.runtimes import NO_PARSER, NO_PARSER_CURE, lacks_apparmor_parser

    client = docker.from_env(timeout=30)
    try:
        with tempfile.TemporaryDirectory(prefix="doctor-", dir=run_dir) as folder:
            (Path(folder) / "seen").touch()
            client.containers.run(
                settings.image,
                ["test", "-f", "/doctor/seen"],
                mounts=[Mount("/doctor", folder, type="bind", read_only=True)],
                network_mode="none",
                remove=True,
            )
    except (ContainerError, DockerException) as error:
        if lacks_apparmor_parser(error):
            return Finding("engine", Verdict.WRONG, f"No container starts: {NO_PARSER}.", NO_PARSER_CURE)
        cure = f"mount {run_dir} of the engine's machine at the same path in the worker's container"
        return Finding("fifos", Verdict.WRONG, f"A container does not see {run_dir}: {error}".splitlines()[0], cure)
    finally:
        client.close()
    return Finding("fifos", Verdict.GOOD, f"Containers see {run_dir} as this process does.")


def check_fitness(settings: Settings) -> Iterator[Finding]:
    """Run the host check that a worker runs when it starts, and yield its remarks and faults."""
    from deadheat.sandbox.host.check import QUICK_ROUNDS, check_host
    from deadheat.sandbox.host.fitness import Level
    from deadheat.workers.context import Context

    if settings.sandbox == "local" or os.geteuid() != 0:
        return
    context = Context(settings)
    with context.slots.take() as cpus:
        report = check_host(context.sandbox, cpus, QUICK_ROUNDS, bots=context.slots.bots)
    for finding in report.findings:
        if finding.level is not Level.GOOD:
            verdict = Verdict.WRONG if finding.level is Level.UNFIT else Verdict.REMARK
            yield Finding("fitness", verdict, finding.text, finding.mend)
    if report.fit:
        yield Finding("fitness", Verdict.GOOD, "This machine is fit to judge.")
