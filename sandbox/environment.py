"""The judging environment as described by the image itself: what authors can rely on, and the exact commands.

Versions come from the tools in a box of that image, commands from `sandbox.languages`, limits from the values that
confine boxes. A description is made once for each `fingerprint`.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deadheat.engine.core import MAX_LINE_BYTES, STDERR_KEPT_BYTES
from deadheat.sandbox.box import Limits, Sandbox
from deadheat.sandbox.build import BUILD_LIMITS, BUILD_SCRATCH_BYTES, BUILD_SECONDS, MAX_PROGRAM_BYTES, build
from deadheat.sandbox.languages import LANGUAGES, Recipe

MAX_VERSION_CHARACTERS = 100
CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Image:
    """One judge image; `recipe` is the hash that deploy/images/build gave it, `created_at` is the engine's value."""

    name: str
    id: str
    recipe: str
    created_at: str
    size_bytes: int


def fingerprint(image: Image, limits: Limits) -> str:
    """Return a value that is equal for hosts and times at which `describe` gives the same result."""
    said = [asdict(image), _cpu(), [asdict(recipe) for recipe in LANGUAGES.values()]]
    said += [_running(limits), _building()]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def describe(sandbox: Sandbox, image: Image, limits: Limits, cpus: str = "") -> dict[str, Any]:
    """Ask the tools in `image`, with which `sandbox` opens its boxes. `limits` are those of a match. Return JSON in the
    shape of `api.routes.environment.Environment`. Raises SandboxError and BuildFailed, both our failures.
    """
    versions = installed(sandbox, cpus)
    return {
        "image": asdict(image),
        "cpu": _cpu(),
        "languages": [_language(LANGUAGES[name], version) for name, version in versions.items()],
        "missing": [recipe.title for name, recipe in LANGUAGES.items() if name not in versions],
        "running": _running(limits),
        "building": _building(),
    }


def installed(sandbox: Sandbox, cpus: str = "") -> Mapping[str, str]:
    """Return the versions reported by each installed language's tools, in the order of `LANGUAGES`."""
    asking = Recipe(
        name="versions",
        title="list of versions",
        suffixes=(),
        entries=("none",),
        build="\n".join(map(_question, LANGUAGES.values())),
        run=("none",),
        tools=(),
    )
    with tempfile.TemporaryDirectory() as nothing:
        answers = build(sandbox, Path(nothing), asking, cpus).log
    lines = (line.partition("\t") for line in answers.splitlines())
    said = {name: version.strip()[:MAX_VERSION_CHARACTERS] for name, tab, version in lines if tab}
    return {name: said[name] for name in LANGUAGES if name in said}


def _question(recipe: Recipe) -> str:
    present = " && ".join(f"command -v {shlex.quote(tool)}" for tool in recipe.tools)
    return f"""if {present}; then printf '%s\\t%s\\n' {recipe.name} "$({recipe.version} | head -n 1)"; fi"""


def _language(recipe: Recipe, version: str) -> dict[str, object]:
    """Describe a language, with the commands for a bot whose first file has the usual name."""
    told = {name: getattr(recipe, name) for name in ("name", "title", "suffixes", "entries", "build")}
    return {**told, "version": version, "run": shlex.join(recipe.run)}


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
