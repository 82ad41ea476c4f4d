"""What boxes may leave on a host, and how to find it.

A run is known by its container's id or its room's control groups, by the user that was drawn for it (from a billion, so
nobody else has it) and by the engine's directories for it. All of them are noted when it starts, and looked for once it
is over: other people's containers on the same host do not disturb the search. The walls that rooms are in stay.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
from docker.utils import kwargs_from_env

from deadheat.sandbox.containers import LABEL, ContainerBox
from deadheat.sandbox.rooms import Room

LOOKS, BETWEEN_LOOKS_S = 50, 0.1
"""The engine ends its own helpers after it has reported a container as removed; nothing may stay longer. Looks count,
not seconds, because the engine does nothing either while the host stands still.
"""

WORLD_WRITABLE = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/run/shm")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
ENGINE_STATE = (Path("/run/docker"), Path("/run/containerd"), Path("/var/run/docker"))
SYSTEM_V = {"shm": "shmid", "msg": "msqid", "sem": "semid"}


@dataclass
class Traces:
    """What identifies the boxes of one case."""

    client: docker.APIClient = field(default_factory=lambda: docker.APIClient(**kwargs_from_env(), version="auto"))
    containers: set[str] = field(default_factory=set)
    walls: set[str | None] = field(default_factory=set)
    users: set[int] = field(default_factory=set)
    directories: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.walls |= {container["Id"] for container in self._ours()}  # of other sandboxes in this process

    def note(self, box: Room | ContainerBox) -> None:
        """Note what identifies the run that has just started."""
        if isinstance(box, Room):
            self.directories |= {*box._groups.values()}
            self.users |= {box.user, box.user + 1}  # the bot's, and its warden's
            return
        assert box._container is not None and box._container.id is not None
        found = self.client.inspect_container(box._container.id)
        self.containers.add(found["Id"])
        self.users.add(int(dict(entry.split("=", 1) for entry in found["Config"]["Env"])["JUDGE_UID"]))
        self.directories.add(Path(found["HostnamePath"]).parent)
        layers = found["GraphDriver"]["Data"] or {}
        self.directories |= {Path(layers[name]).parent for name in ("MergedDir", "UpperDir") if name in layers}

    def forget(self) -> None:
        for known in (self.containers, self.users, self.directories):
            known.clear()

    def close(self) -> None:
        self.client.close()

    def found(self) -> list[str]:
        """Return everything that is still there of them, one sentence each."""
        return [
            *self._containers(),
            *self._processes(),
            *(f"control group {path}" for path in self._below(CONTROL_GROUPS)),
            *(f"engine's state {path}" for root in ENGINE_STATE for path in self._below(root)),
            *(f"engine's directory {path}" for path in self.directories if path.exists()),
            *self._files(),
            *self._system_v(),
            *self._keys(),
        ]

    def _containers(self) -> Iterator[str]:
        for container in self._ours():
            if container["Id"] not in self.walls:
                yield f"container {container['Id']}: {container['Status']}"

    def _ours(self) -> list[dict[str, Any]]:
        mine = {"label": [LABEL, f"deadheat.owner={os.getpid()}"]}
        return list(self.client.containers(all=True, filters=mine))

    def _processes(self) -> Iterator[str]:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended
                told = (folder / "cgroup").read_text() + (folder / "cmdline").read_text().replace("\0", " ")
                status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                users = set(map(int, status["Uid"].split() + status["Gid"].split()))
                if users & self.users or any(container in told for container in self.containers):
                    yield f"process {folder.name} {status['Name'].strip()} ({status['State'].strip()})"

    def _below(self, root: Path) -> Iterator[Path]:
        for folder, folders, _ in os.walk(root):
            for name in folders:
                if any(container in name for container in self.containers):
                    yield Path(folder, name)

    def _files(self) -> Iterator[str]:
        for folder in WORLD_WRITABLE:
            for entry in os.scandir(folder) if Path(folder).is_dir() else ():
                with suppress(OSError):  # another process has just removed it
                    if entry.stat(follow_symlinks=False).st_uid in self.users:
                        yield f"file {entry.path}"

    def _system_v(self) -> Iterator[str]:
        for kind in SYSTEM_V:
            with suppress(FileNotFoundError):
                head, *rows = Path("/proc/sysvipc", kind).read_text().splitlines()
                for row in rows:
                    values = dict(zip(head.split(), row.split(), strict=False))
                    if {int(values["uid"]), int(values["cuid"])} & self.users:
                        yield f"System V {kind} {values[SYSTEM_V[kind]]}"

    def _keys(self) -> Iterator[str]:
        with suppress(FileNotFoundError):
            for row in Path("/proc/key-users").read_text().splitlines():
                if int(row.split(":")[0]) in self.users:
                    yield f"keys of user {row}"


@dataclass(frozen=True)
class Ours:
    """The state that this process itself holds: files below its folders, mounts there, descriptors, children."""

    folders: tuple[Path, ...]

    def found(self) -> set[str]:
        """Return the whole state as sentences, to be compared with an earlier one."""
        return {*self._files(), *self._mounts(), *self._descriptors(), *self._children()}

    def _files(self) -> Iterator[str]:
        for folder in self.folders:
            for path in folder.rglob("*"):
                fifo = "FIFO" if stat.S_ISFIFO(path.lstat().st_mode) else "file"
                yield f"{fifo} {path}"

    def _mounts(self) -> Iterator[str]:
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            if any(str(folder) in line for folder in self.folders):
                yield f"mount {line}"

    def _descriptors(self) -> Iterator[str]:
        for fd in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                target = str(fd.readlink())
                if target.startswith(("pipe:", "/sys/fs/cgroup", "/proc/")) or any(
                    target.startswith(str(folder)) for folder in self.folders
                ):
                    yield f"descriptor {fd.name} on {target}"

    def _children(self) -> Iterator[str]:
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # the thread has ended
                yield from (f"child {pid}" for pid in (task / "children").read_text().split())


@contextmanager
def nothing_left(traces: Traces, *folders: Path, looks: int = LOOKS) -> Iterator[None]:
    """Check that after the block nothing of its boxes is left, and `folders` are as before.

    Raises:
        AssertionError: with everything that is left.
    """
    ours = Ours(folders)
    before = ours.found()
    yield
    look = 0
    while left := sorted({*traces.found(), *(ours.found() - before)}):
        look += 1
        assert look < looks, "left behind:\n" + "\n".join(left)
        time.sleep(BETWEEN_LOOKS_S)
