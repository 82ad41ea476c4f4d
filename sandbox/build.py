"""Builds sources into a program inside a box, without network and under its own limits.

A build is a box whose output is a tar of the result, which is untrusted and unpacked by `sandbox.archive` only. The
tools' output is read while they run, so that an author can follow it; what is kept of it is bounded.
"""

import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.engine.core import NS_PER_S
from deadheat.sandbox.attribution import Blame, Counters, between, while_silent
from deadheat.sandbox.box import Box, Channel, Exit, Limits, Meter, Program, Sandbox, SandboxError
from deadheat.sandbox.languages import Recipe
from deadheat.sandbox.pipes import readable

BUILD_SECONDS = 60
"""The most of its own time that a build may take (`engine.own_time`); time on the wall where no pressure is counted."""

WATCH_FACTOR = 4
"""The ratio of wall time to the limit at which this host has failed: a build that makes itself wait keeps a slot."""

END_SECONDS = 3
"""How long the processes of a build may take to end after its output."""

FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.25, 1.0
POLL_SECONDS = 0.25
MAX_PROGRAM_BYTES = 64 * 1024 * 1024
BUILD_SCRATCH_BYTES = 256 * 1024 * 1024
BUILD_LIMITS = Limits(
    memory_bytes=1024 * 1024 * 1024,
    processes=128,
    file_bytes=MAX_PROGRAM_BYTES,
    building=True,
    scratch={"/build": f"size={BUILD_SCRATCH_BYTES},nr_inodes=20000,mode=1777,nosuid,nodev,exec"},
)
NOT_IN_IMAGE_CODE, NOT_HERE_CODE = 113, 114
"""The script's exit codes if the image or machine lacks the language; none of the author's code has run then."""

# Compilers keep caches below HOME. A container has no place for them but /build. Without /build the tools are this
# machine's own: HOME is that of the user who runs it, or in `sandbox.bubblewrap` a /tmp that is large enough.
_SCRIPT = """
set -e
read -r go_on
if [ -d /build ]; then TMPDIR=/build; HOME=/build; missing={not_in_image}; else TMPDIR=/tmp; missing={not_here}; fi
for tool in {tools}; do command -v "$tool" >/dev/null || exit $missing; done
export TMPDIR HOME
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r . "$work/src"
cd "$work/src"
( {build} ) >&2 </dev/null
tar -cf - .
""".replace("{not_in_image}", str(NOT_IN_IMAGE_CODE)).replace("{not_here}", str(NOT_HERE_CODE))


class BuildFailed(Exception):
    """The author's sources do not build: `reason` is one sentence, `log` the tools' output."""

    def __init__(self, reason: str, log: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


@dataclass(frozen=True, slots=True)
class Built:
    """A finished build: `tar` is untrusted."""

    tar: bytes
    log: str


def build(
    sandbox: Sandbox,
    sources: Path,
    recipe: Recipe,
    cpus: str = "",
    between: Callable[[], None] = lambda: None,
    hear: Callable[[str], None] | None = None,
) -> Built:
    """Build the sources in `sources` by the recipe. `between` is called a few times a second, and about once `hear`,
    with the tools' output kept so far. Raises BuildFailed: the author's fault; SandboxError: the service's.
    """
    script = _SCRIPT.replace("{tools}", shlex.join(recipe.tools)).replace("{build}", recipe.build)
    program = Program(sources, ("/bin/sh", "-c", script), f"build of {recipe.name}")
    box = sandbox.open(program, replace(BUILD_LIMITS, cpus=cpus))
    listening = _Listening(box, hear)
    too_much_memory = f"the build used more than {BUILD_LIMITS.memory_bytes // 2**20} MiB of memory"
    try:
        channel = box.start()
        with suppress(OSError):  # the box has died, which `_run` sees
            os.write(channel.stdin_fd, b"\n")  # let its shell begin: from here on, the kernel would kill it before init
        try:
            tar, why = _collect(channel, between, listening)
            box.ask_stop(0 if why else END_SECONDS * NS_PER_S)
            end = box.stopped()
        except SandboxError as error:  # a box may not survive when its program runs out of memory (gVisor)
            if channel.out_of_memory() is Blame.BOT:
                raise BuildFailed(too_much_memory, listening.heard) from error
            raise
        log = end.stderr.decode("utf-8", "replace")
        blame = channel.out_of_memory()
        if blame is Blame.HOST:
            raise SandboxError("host-memory", "this host ran out of memory and killed a build")
        if why is None and blame is Blame.BOT:
            why = too_much_memory
        _check(why, end, log, recipe)
        return Built(tar, log)
    finally:
        box.close()


class _Listening:
    """Reads the tools' output at intervals."""

    def __init__(self, box: Box, hear: Callable[[str], None] | None) -> None:
        self._box, self._hear = box, hear
        self._due_at = time.monotonic() + FIRST_LOOK_SECONDS
        self.heard = ""

    def __call__(self) -> None:
        if self._hear is not None and time.monotonic() >= self._due_at:
            self.heard = self._box.stderr_so_far().decode("utf-8", "replace")
            self._hear(self.heard)
            self._due_at = time.monotonic() + LOOK_SECONDS


def _check(why: str | None, end: Exit, log: str, recipe: Recipe) -> None:
    if why is not None:
        raise BuildFailed(why, log)
    if end.exit_code == NOT_IN_IMAGE_CODE:
        raise BuildFailed(f"this server's image has no {recipe.title}", log)
    if end.exit_code == NOT_HERE_CODE:
        raise BuildFailed(f"{recipe.title} is not installed here ({', '.join(recipe.tools)})", log)
    if end.lingered:
        raise SandboxError("container-stuck", "a build that had written its output did not end")
    if end.exit_code != 0:
        how = f"exit code {end.exit_code}" if end.exit_code is not None else f"signal {end.signal}"
        raise BuildFailed(f"the build command failed with {how}", log)


def _collect(channel: Channel, *meanwhile: Callable[[], None]) -> tuple[bytes, str | None]:
    """Return the build's whole output, and the reason for a refusal, if any."""
    began_at, before = time.monotonic(), channel.meter.counters()
    chunks: list[bytes] = []
    total = 0
    while True:
        if _took_too_long(channel.meter, before, int((time.monotonic() - began_at) * NS_PER_S)):
            return b"", f"the build took longer than {BUILD_SECONDS} s"
        for work in meanwhile:
            work()
        if not readable(channel.stdout_fd, POLL_SECONDS):
            continue
        try:
            data = os.read(channel.stdout_fd, 64 * 1024)
        except BlockingIOError as error:
            raise SandboxError("container-stuck", "readable output that cannot be read") from error
        if not data:
            return b"".join(chunks), None
        chunks.append(data)
        total += len(data)
        if total > MAX_PROGRAM_BYTES:
            return b"", f"the built program is larger than {MAX_PROGRAM_BYTES // 2**20} MiB"


def _took_too_long(meter: Meter, before: Counters, wall_ns: int) -> bool:
    """Say whether a build has used up its own time, or its time on the wall if no counter shows its waits. Raises
    SandboxError if this host gives it almost no time, or has frozen it.
    """
    limit_ns = BUILD_SECONDS * NS_PER_S
    if wall_ns <= limit_ns:
        return False
    waiting_ns = meter.waiting_ns()
    evidence = between(before, meter.counters(), wall_ns)
    if evidence.frozen:
        raise SandboxError("host-unknown", "a build was frozen", **evidence.as_dict())
    blame = while_silent(evidence, limit_ns, (WATCH_FACTOR - 1) * limit_ns, waiting_ns)
    if blame is Blame.HOST:
        raise SandboxError("host-starved", "a build got almost no processor time", **evidence.as_dict())
    return blame is not None
