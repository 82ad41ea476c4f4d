"""The resources of a worker process's tasks, created once, after the fork."""

import logging
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.jobs import Host, ProgramRef, SeriesJob
from deadheat.sandbox.archive import extract_program
from deadheat.sandbox.box import Program, Sandbox
from deadheat.sandbox.containers import LockedFolder, sweep_folders
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.slots import NoRegistry, Slots, people, shared_folder
from deadheat.sandbox.languages import LANGUAGES
from deadheat.sandbox.local import LocalSandbox
from deadheat.workers.link import InProcess, Link

log = logging.getLogger(__name__)

PURPOSES = PLAY, BUILD = "play", "build"  # of folders

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""The file with the kernel's id of the present boot."""


@dataclass
class Context:
    """Connections and folders of one worker process."""

    settings: Settings

    @cached_property
    def database(self) -> Database:
        """The league's database. With hundreds of slots, what its processes keep open is what ends first."""
        return Database(self.settings, kept=1)

    @cached_property
    def blobs(self) -> Blobs:
        """Uploads, programs and transcripts."""
        return Blobs(self.settings.blobs)

    @cached_property
    def link(self) -> Link:
        """The connection to the league, for everything that concerns series and machines."""
        return InProcess(self)

    @cached_property
    def sandbox(self) -> Sandbox:
        """The sandbox in which bots run. Raises SandboxError if there is no engine."""
        if self.settings.sandbox == "local":
            log.warning("bots run WITHOUT isolation (DEADHEAT_SANDBOX=local)")
            return LocalSandbox()
        sweep_folders(self.run_dir, "box", *PURPOSES)
        return DockerSandbox(self.settings.image, self.run_dir, self.settings.runtime, self.settings.only_plays)

    @cached_property
    def slots(self) -> Slots:
        """Processors for matches, shared with all other users of this host's registry."""
        folder = self.settings.lock_dir or self._shared_locks()
        return Slots(folder, self.settings.slots, people(self.settings.exhibitions, len(os.sched_getaffinity(0))))

    def _shared_locks(self) -> Path:
        try:
            return shared_folder()
        except NoRegistry as error:
            log.warning("%s: other programs of this host may take the bots' processors", error)
            return self.run_dir / "slots"

    @property
    def run_dir(self) -> Path:
        """The folder for this host's FIFOs, working copies and locks."""
        path = self.settings.data_dir.absolute() / "run"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def folder(self, purpose: str) -> AbstractContextManager[Path]:
        """Create a working folder that disappears with the job."""
        return LockedFolder(self.run_dir, purpose)

    @cached_property
    def host(self) -> Host:
        """This machine; if two have one name, the second waits (`league.service.series.hosts.host_arrives`)."""
        return Host(self.settings.machine, BOOT_ID.read_text().strip())

    @property
    def worker(self) -> str:
        """The name with which this process signs its work."""
        return f"{self.host.name}:{os.getpid()}"


@dataclass
class Linked(Context):
    """The context of a process that reaches its league by another link, and has neither database nor store."""

    by: Link

    @cached_property
    def link(self) -> Link:
        return self.by

    @cached_property
    def database(self) -> Database:
        raise AssertionError("a machine that plays over HTTP has no database")

    @cached_property
    def blobs(self) -> Blobs:
        raise AssertionError("a machine that plays over HTTP has no store")


def fetch_program(context: Context, ref: ProgramRef, directory: Path, job: SeriesJob | None = None) -> Program:
    """Unpack a version's built program into `directory`; `job`: the series in which it plays, if it is one. Raises
    league.blobs.BlobMissing, sandbox.archive.BadArchive: the store lost or damaged it, which is our failure.
    """
    directory.mkdir(parents=True)
    limit_bytes = context.settings.unpacked_limit_bytes
    tar = context.blobs.get(ref.program_sha256, limit_bytes) if job is None else context.link.program(job, ref)
    extract_program(tar, directory, limit_bytes)
    return Program(directory, LANGUAGES[ref.language].starting_with(ref.entry).run, ref.label)


@cache
def context() -> Context:
    """Return this process's context."""
    return Context(Settings())
