"""The judging environment, described by the image itself: what authors may count on, and the exact commands.

Nothing here is written down by hand. Versions come from the tools, asked in a box of that image; commands from
`sandbox.languages`, limits from the values that confine boxes. A description is made once for each `fingerprint`.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.core import MAX_LINE_BYTES, STDERR_KEPT_BYTES
from sandbox.box import Limits, Sandbox
from sandbox.build import BUILD_LIMITS, BUILD_SCRATCH_BYTES, BUILD_SECONDS, MAX_PROGRAM_BYTES, build
from sandbox.languages import LANGUAGES, Recipe

MAX_VERSION_CHARACTERS = 100
CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Image:
    """One judge image; `recipe` is the hash that deploy/images/build gave it, `created_at` as the engine says it."""

    name: str
    id: str
    recipe: str
    created_at: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Language:
    """One language that is installed, with the commands for a bot that starts with the usual file."""

    name: str
    title: str
    version: str
    suffixes: tuple[str, ...]
    entries: tuple[str, ...]
    build: str
    run: str


@dataclass(frozen=True, slots=True)
class Running:
    """The resources that a bot has in a match."""

    cpus: int
    memory_bytes: int
    processes: int
    tmp_bytes: int
    tmp_files: int
    open_files: int
    file_bytes: int
    line_bytes: int
    stderr_bytes: int


@dataclass(frozen=True, slots=True)
class Building:
    """The resources that a build has."""

    seconds: int
    memory_bytes: int
    processes: int
    scratch_bytes: int
    program_bytes: int
    log_bytes: int


@dataclass(frozen=True, slots=True)
class Environment:
    """The whole judging environment. `cpu` is the processor's name; `missing` are the titles of languages that are not
    installed.
    """

    image: Image
    cpu: str
    languages: tuple[Language, ...]
    missing: tuple[str, ...]
    running: Running
    building: Building


def fingerprint(image: Image, limits: Limits) -> str:
    """Equal for two hosts or moments where `describe` would find the same."""
    said = [asdict(image), _cpu(), [asdict(recipe) for recipe in LANGUAGES.values()]]
    said += [asdict(_running(limits)), asdict(_building())]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def describe(sandbox: Sandbox, image: Image, limits: Limits, cpus: str = "") -> Environment:
    """Ask the tools in `image`, which `sandbox` opens its boxes with; `limits` are those of a match.

    Raises:
        SandboxError, BuildFailed: ours, both.
    """
    versions = installed(sandbox, cpus)
    return Environment(
        image=image,
        cpu=_cpu(),
        languages=tuple(_language(LANGUAGES[name], version) for name, version in versions.items()),
        missing=tuple(recipe.title for name, recipe in LANGUAGES.items() if name not in versions),
        running=_running(limits),
        building=_building(),
    )


def installed(sandbox: Sandbox, cpus: str = "") -> Mapping[str, str]:
    """The versions that each installed language's tools report, in the order of `LANGUAGES`."""
    asking = Recipe(
        name="versions",
        title="list of versions",
        suffixes=(),
        entries=("none",),
        build="\n".join(map(_question, LANGUAGES.values())),
        run=("none",),
        tools=(),
        version="",
    )
    with tempfile.TemporaryDirectory() as nothing:
        answers = build(sandbox, Path(nothing), asking, cpus).log
    lines = (line.partition("\t") for line in answers.splitlines())
    said = {name: version.strip()[:MAX_VERSION_CHARACTERS] for name, tab, version in lines if tab}
    return {name: said[name] for name in LANGUAGES if name in said}


def _question(recipe: Recipe) -> str:
    present = " && ".join(f"command -v {shlex.quote(tool)}" for tool in recipe.tools)
    return f"""if {present}; then printf '%s\\t%s\\n' {recipe.name} "$({recipe.version} | head -n 1)"; fi"""


def _language(recipe: Recipe, version: str) -> Language:
    return Language(
        name=recipe.name,
        title=recipe.title,
        version=version,
        suffixes=recipe.suffixes,
        entries=recipe.entries,
        build=recipe.build,
        run=shlex.join(recipe.run),
    )


def _running(limits: Limits) -> Running:
    return Running(
        cpus=1,  # a box is pinned, see sandbox.box.bot_limits
        memory_bytes=limits.memory_bytes,
        processes=limits.processes,
        tmp_bytes=limits.tmp_bytes,
        tmp_files=limits.tmp_inodes,
        open_files=limits.open_files,
        file_bytes=limits.file_bytes,
        line_bytes=MAX_LINE_BYTES,
        stderr_bytes=STDERR_KEPT_BYTES,
    )


def _building() -> Building:
    return Building(
        seconds=BUILD_SECONDS,
        memory_bytes=BUILD_LIMITS.memory_bytes,
        processes=BUILD_LIMITS.processes,
        scratch_bytes=BUILD_SCRATCH_BYTES,
        program_bytes=MAX_PROGRAM_BYTES,
        log_bytes=STDERR_KEPT_BYTES,
    )


def _cpu() -> str:
    for line in CPUINFO.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return "unknown"
