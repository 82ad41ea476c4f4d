"""The judging environment as described by the image itself: what authors can rely on, and the exact commands.

Versions come from the tools in a box of that image. Each host describes its image to the league when a worker starts
and from time to time after that, but only once for each `fingerprint`.
"""

import hashlib
import json
import logging
import shlex
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deadheat.engine.core import MAX_LINE_BYTES, STDERR_KEPT_BYTES
from deadheat.league.service.bots.bots import confirm_environment, record_environment
from deadheat.sandbox.box import Limits, Sandbox, bot_limits
from deadheat.sandbox.build import BUILD_LIMITS, BUILD_SCRATCH_BYTES, BUILD_SECONDS, MAX_PROGRAM_BYTES, build
from deadheat.sandbox.docker import DockerSandbox, Image
from deadheat.sandbox.languages import LANGUAGES, Recipe
from deadheat.workers.context import Context

log = logging.getLogger(__name__)

MAX_VERSION_CHARACTERS = 100
CPUINFO = Path("/proc/cpuinfo")


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
        description = describe(sandbox, image, limits, ",".join(map(str, cpus)))
    with context.database.transaction() as session:
        record_environment(session, known_as, image.name, description, context.worker)
    log.info("%s has %s", image.name, ", ".join(language["version"] for language in description["languages"]))


def fingerprint(image: Image, limits: Limits) -> str:
    """Return a value that is equal for hosts and times at which `describe` gives the same result."""
    facts = [asdict(image), _cpu(), [asdict(recipe) for recipe in LANGUAGES.values()], _running(limits), _building()]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def describe(sandbox: Sandbox, image: Image, limits: Limits, cpus: str = "") -> dict[str, Any]:
    """Ask the tools in `image`, with which `sandbox` opens its boxes. `limits` are those of a match. Return JSON in the
    shape of `api.routes.environment.Environment`. Raises SandboxError and BuildFailed, both our failures.
    """
    questions = []
    for recipe in LANGUAGES.values():
        present = " && ".join(f"command -v {shlex.quote(tool)}" for tool in recipe.tools)
        answer = f"""printf '%s\\t%s\\n' {recipe.name} "$({recipe.version} | head -n 1)\""""
        questions.append(f"if {present}; then {answer}; fi")
    asking = Recipe("versions", "list of versions", suffixes=(), entries=("none",), build="\n".join(questions))
    with tempfile.TemporaryDirectory() as nothing:
        answers = build(sandbox, Path(nothing), asking, cpus).log
    lines = (line.partition("\t") for line in answers.splitlines())
    versions = {name: version.strip()[:MAX_VERSION_CHARACTERS] for name, tab, version in lines if tab}
    return {
        "image": asdict(image),
        "cpu": _cpu(),
        "languages": [_language(recipe, versions[name]) for name, recipe in LANGUAGES.items() if name in versions],
        "missing": [recipe.title for name, recipe in LANGUAGES.items() if name not in versions],
        "running": _running(limits),
        "building": _building(),
    }


def _language(recipe: Recipe, version: str) -> dict[str, object]:
    """Describe a language, with the commands for a bot whose first file has the usual name."""
    same = {name: getattr(recipe, name) for name in ("name", "title", "suffixes", "entries", "build")}
    return {**same, "version": version, "run": shlex.join(recipe.run)}


def _running(limits: Limits) -> dict[str, int]:
    """Describe the resources of a bot in a match."""
    names = ("memory_bytes", "processes", "tmp_bytes", "open_files", "file_bytes")
    return {
        **{name: getattr(limits, name) for name in names},
        "cpus": 1,  # a box is pinned, see sandbox.box.bot_limits
        "tmp_files": limits.tmp_inodes,
        "line_bytes": MAX_LINE_BYTES,
        "stderr_bytes": STDERR_KEPT_BYTES,
    }


def _building() -> dict[str, int]:
    return {
        "seconds": BUILD_SECONDS,
        "memory_bytes": BUILD_LIMITS.memory_bytes,
        "processes": BUILD_LIMITS.processes,
        "scratch_bytes": BUILD_SCRATCH_BYTES,
        "program_bytes": MAX_PROGRAM_BYTES,
        "log_bytes": STDERR_KEPT_BYTES,
    }


def _cpu() -> str:
    for line in CPUINFO.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return "unknown"
