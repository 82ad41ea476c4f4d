"""Boxes as containers of a Docker Engine.

Theory of operation
-------------------
The engine handles only the container's life cycle: create, start, inspect (once, for the process id), wait for removal,
and kill if it does not end by itself. Nothing between the first and the last line of a match goes through the engine:
lines pass through FIFOs in a directory that is mounted read-only into the container, and orders to the image's init
(images/init.c) through two more. Every engine call has a time-out.

*Nothing survives its owner.* init exits when our end of its control FIFO closes, which happens even when this process
is killed, and the engine removes an exited container by itself (`auto_remove`). Only a directory remains; it is locked
while its owner lives, and `sandbox.folders` deletes directories whose lock is free.

*A box may rest.* Between a person's moves (`Box.rest`) the engine freezes the container, including init, so the owner
wakes a resting box before closing it. If the owner was killed, the next sandbox on the host wakes the box, or the
machine's keeper removes it (`DockerSandbox.sweep`), because a pool that lives on may have no next sandbox for days.

*Each box has its own copy of the program.* One container could lock a shared file and another probe it, which is a
channel between opponents.

*A match remembers nothing.* Bots play in a tree in memory (`sandbox.resident`) without the kernel's own file systems;
init makes a new /tmp and new process numbers for each run. For this it mounts file systems, which AppArmor's usual
profile forbids, so a box has no profile: that would guard /proc and /sys, and a bot sees neither. Builds and gVisor
have no such tree; their containers serve one run each (`DockerBox.start` opens another).
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import secrets
import select
import shutil
import stat
import time
from pathlib import Path

import docker
import requests
from docker.errors import DockerException, NotFound
from docker.utils import kwargs_from_env

from deadheat.engine.core import NS_PER_MS, NS_PER_S
from deadheat.sandbox.box import ENVIRONMENT, Box, Channel, Exit, Limits, Program, SandboxError
from deadheat.sandbox.cgroup import Cgroup, join_unified, sweep_unified
from deadheat.sandbox.confinement import host_config, to_be_killed_first
from deadheat.sandbox.environment import Image
from deadheat.sandbox.folders import LockedFolder, is_locked
from deadheat.sandbox.host.weight import Parent, wanted
from deadheat.sandbox.resident import resident_tree
from deadheat.sandbox.runtimes import Runtime, find_runtime, refuse_user_namespaces, why_not_started

log = logging.getLogger(__name__)

ENGINE_TIMEOUT_S = 30
ACK_TIMEOUT_S = 10
"""How long init may take to acknowledge an order beyond the time that the order itself allows. An idle host takes a
millisecond; after ten seconds some process in the container cannot be killed."""

WAKING_TRIES, WAKING_PAUSE_S = 5, 0.1
"""How often the engine is asked to resume a container, with pauses that double: three seconds in all. A busy engine may
fail briefly, and a person waits for this box."""

PIPE_BYTES = 64 * 1024  # the kernel's own default

GENERATION = 2
"""The bot's first process is a child of its warden, which is init's child (images/init.c)."""

FIFOS = ("ctl", "ack", "in", "out", "err")
LABEL = "deadheat.box"

LOWEST_UID, UIDS = 2**20, 2**30
"""Every box gets a random user from a billion, above all users of a host; its group has the same number."""

_READY, _STARTED, _TOLD = map(re.compile, (rb"ready\n", rb"started\n", rb"told\n"))
_DONE = re.compile(rb"done ([ESK]) (\d+) (\d+) (\d+)\n")

_EngineFailure = (DockerException, requests.exceptions.RequestException)


class DockerSandbox:
    """Opens boxes on the engine that the environment names (DOCKER_HOST, or the local socket)."""

    def __init__(self, image: str, run_dir: Path, runtime: str = "", only_plays: bool | None = None) -> None:
        """`run_dir` must be on a file system that this process and the engine see under the same path. `runtime` is one
        registered with the engine; "" is its default. `only_plays`: whether bots outweigh everything else here (see
        `sandbox.host.weight`); None leaves their weight to this machine's workers.

        Raises:
            SandboxError: no engine answers, it lacks the image or a runtime that works, or it maps users.
        """
        self._image = image
        self.only_plays = only_plays
        self._run_dir = run_dir.resolve()
        self._run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._client = docker.APIClient(**kwargs_from_env(), version="auto", timeout=ENGINE_TIMEOUT_S)
            self._client.trust_env = False  # engines have no proxy; looking for one took a tenth of each request
            self._client.inspect_image(image)
            info = self._client.info()
            refuse_user_namespaces(info)
            self.runtime = find_runtime(info, runtime)
        except NotFound as error:
            cure = f"build it with deploy/images/build {image.rpartition(':')[2].partition('-')[0]}"
            raise SandboxError("no-image", f"the engine has no image {image}; {cure}") from error
        except _EngineFailure as error:
            raise SandboxError("no-engine", f"no Docker Engine answers: {error}") from error
        sweep_unified(self._run_dir)
        self._wake_orphans()

    def open(self, program: Program, limits: Limits) -> Box:
        """See `sandbox.box.Sandbox`."""
        box = DockerBox(self._client, self._image, self._run_dir, program, limits, self.runtime)
        if self.only_plays is not None:
            box.parent.weigh(wanted(limits.building, self.only_plays))
        return box

    def _wake_orphans(self) -> None:
        """Wake the resting boxes of killed owners: their init then finds the control FIFO closed and ends."""
        try:
            for found in self._client.containers(filters={"label": LABEL, "status": "paused"}):
                if not is_locked(Path(found["Labels"][LABEL])):
                    with contextlib.suppress(*_EngineFailure):  # another process woke it
                        self._client.unpause(found["Id"])
        except _EngineFailure as error:
            raise SandboxError("no-engine", f"the engine does not list its containers: {error}") from error

    def image(self) -> Image:
        """Return the image with which boxes are opened now; its tag may have moved to another."""
        try:
            found = self._client.inspect_image(self._image)
        except _EngineFailure as error:
            raise SandboxError("no-image", f"the engine does not describe its image {self._image}: {error}") from error
        recipe = (found["Config"].get("Labels") or {}).get("deadheat.recipe", "")
        return Image(self._image, found["Id"], recipe, found["Created"], found["Size"])

    def sweep(self) -> int:
        """Remove containers whose owner was killed before starting them (they never run, so they never end), while they
        started (init waits for the other end of its control FIFO to open), or while they rested. Return their number.
        Raises SandboxError.
        """
        swept = 0
        try:
            alive = {"label": LABEL, "status": ["created", "running", "paused"]}
            for found in self._client.containers(all=True, filters=alive):
                folder = Path(found["Labels"][LABEL])
                if folder.parent != self._run_dir:
                    continue
                gone = not folder.exists() if found["State"] == "created" else not is_locked(folder)
                if gone:
                    with contextlib.suppress(NotFound):
                        self._client.remove_container(found["Id"], force=True)
                        swept += 1
        except _EngineFailure as error:
            raise SandboxError("engine", f"the engine does not list its containers: {error}") from error
        return swept

    def close(self) -> None:
        """Close the connection to the engine."""
        self._client.close()


class DockerBox:
    """One container. See `sandbox.box.Box`."""

    def __init__(
        self, client: docker.APIClient, image: str, run_dir: Path, program: Program, limits: Limits, runtime: Runtime
    ) -> None:
        self._client = client
        self._runtime = runtime
        self._plays = not (limits.building or runtime.gvisor)
        self._fds: dict[str, int] = {}
        self._container: str | None = None
        self._cgroup: Cgroup | None = None
        self._own_group: Path | None = None
        self._stop_timeout_s = 0.0
        self._acknowledged = b""
        self._favoured = True
        self._resting: bool | None = False  # None: unknown, because the engine failed
        self._served = False
        self._opened_with = image, program, limits
        self._folder = LockedFolder(run_dir, "box")
        self._directory = self._folder.path
        try:
            self._make_fifos()
            copy_program(program.directory, self._directory / "program")
            self._start_container()
        except (*_EngineFailure, OSError) as error:
            self.close()
            raise SandboxError("engine", f"no container could be started: {why_not_started(error)}") from error
        except BaseException:
            self.close()
            raise

    def start(self) -> Channel:
        """See `sandbox.box.Box`. A container that init cannot renew inside serves only one run."""
        if self._served and not self._plays:
            self._begin_anew()
        self._served = True
        cgroup = self._cgroup
        assert cgroup is not None
        self._clean_fifos()
        cgroup.begin_run()
        self._order(b"start\n")
        self._await(_STARTED, ACK_TIMEOUT_S)
        if self._plays:
            cgroup.follow_leader(GENERATION)
        elif not self._runtime.gvisor and (leader := cgroup.follow_leader()) is not None:
            to_be_killed_first(leader)
        channel = Channel(self._fds["in"], self._fds["out"], cgroup, cgroup.killed_for_memory)
        if self._plays:
            channel.kill = cgroup.kill
        return channel

    @property
    def parent(self) -> Parent:
        """The group in which the container competes with everything else on this machine."""
        return Parent(None if self._cgroup is None else self._cgroup.weight)

    def can_favour(self) -> bool:
        """Say whether `favour` has an effect on this host. The box is favoured afterwards."""
        return self._cgroup is not None and self._cgroup.can_favour()

    @property
    def nice(self) -> int:
        """The nice value of the container's first process, which it has from the engine."""
        return 0 if self._cgroup is None else os.getpriority(os.PRIO_PROCESS, self._cgroup.pid)

    def favour(self, yes: bool) -> None:
        """See `sandbox.box.Box`."""
        self._favoured = yes
        if self._cgroup is not None:
            self._cgroup.favour(yes)

    def rest(self, yes: bool) -> None:
        """See `sandbox.box.Box`. If the engine cannot freeze it now, the next call tries again."""
        if yes == self._resting:
            return
        assert self._container is not None
        if yes:
            self._try_to_freeze(self._container)
        else:
            self._wake(self._container)
            self._resting = False
        if self._cgroup is not None:  # an unfreezable container keeps running behind everything else
            self._cgroup.favour(self._favoured and not yes)

    def _try_to_freeze(self, container: str) -> None:
        self._resting = None
        try:
            self._client.pause(container)
            self._resting = True
        except _EngineFailure as error:
            log.info("a container could not be paused and keeps running: %s", error)

    def _wake(self, container: str) -> None:
        for tried in range(1, WAKING_TRIES + 1):
            try:
                self._client.unpause(container)
                return
            except _EngineFailure as error:
                if self._runs(container):  # the engine refuses to wake a container that is not paused
                    return
                if tried == WAKING_TRIES or isinstance(error, NotFound):
                    raise SandboxError("engine", f"the container could not be resumed: {error}") from error
            time.sleep(WAKING_PAUSE_S * 2**tried)

    def _runs(self, container: str) -> bool:
        """Say whether the container runs and is not frozen, according to the engine."""
        try:
            state = self._client.inspect_container(container)["State"]
        except _EngineFailure:
            return False
        return bool(state["Running"] and not state["Paused"])

    def stderr_so_far(self) -> bytes:
        """See `sandbox.box.Box`."""
        self._order(b"tell\n")
        self._await(_TOLD, ACK_TIMEOUT_S)
        return self._read_stderr()

    def ask_stop(self, grace_ns: int) -> None:
        """See `sandbox.box.Box`."""
        self._stop_timeout_s = grace_ns / NS_PER_S + ACK_TIMEOUT_S
        self._order(f"stop {grace_ns // NS_PER_MS}\n".encode())

    def stopped(self) -> Exit:
        """See `sandbox.box.Box`."""
        match = self._await(_DONE, self._stop_timeout_s)
        how, code, dirty = match[1], int(match[2]), int(match[4])
        if dirty:
            raise SandboxError("dirty-box", f"{dirty} entries in /tmp could not be removed")
        assert self._cgroup is not None
        end = Exit(code if how == b"E" else None, code if how == b"S" else None, how == b"K", self._read_stderr())
        return self._cgroup.measured(end)

    def close(self) -> None:
        """See `sandbox.box.Box`."""
        self._end_container()
        self._folder.remove()

    def _begin_anew(self) -> None:
        self._end_container()
        shutil.rmtree(self._directory / "judge")
        self._acknowledged = b""
        self._favoured = True
        try:
            self._make_fifos()
            self._start_container()
        except (*_EngineFailure, OSError) as error:
            raise SandboxError("engine", f"no container could be started: {why_not_started(error)}") from error

    def _end_container(self) -> None:
        with contextlib.suppress(SandboxError):  # a resting container cannot end
            self.rest(False)
        for name in list(self._fds):
            os.close(self._fds.pop(name))  # `ctl` among them: init exits, the engine removes the container
        if self._cgroup is not None:
            self._cgroup.close()
            self._cgroup = None
        if self._container is not None:
            self._remove_container(self._container)
            self._container = None
        if self._own_group is not None:
            with contextlib.suppress(OSError):  # it does not exist, or `sweep_unified` will remove it
                self._own_group.rmdir()
            self._own_group = None

    def _make_fifos(self) -> None:
        directory = self._directory / "judge"
        directory.mkdir(mode=0o700)
        for name in FIFOS:
            os.mkfifo(directory / name, 0o600)
        # We open the pipes that we write to for both reading and writing, so that opening never waits and the bot's end
        # may close and reopen.
        for name, flags in (("ctl", os.O_RDWR), ("in", os.O_RDWR), ("ack", 0), ("out", 0), ("err", 0)):
            self._fds[name] = os.open(directory / name, flags | os.O_NONBLOCK | os.O_CLOEXEC)

    def _clean_fifos(self) -> None:
        """Empty the pipes: the last run may have written after its last reply, or changed the pipes themselves."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fds["out"], 64 * 1024):
                pass
        for name in ("in", "out"):
            fcntl.fcntl(self._fds[name], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            os.utime(self._fds[name], ns=(0, 0))

    def _start_container(self) -> None:
        image, program, limits = self._opened_with
        config = host_config(self._client, self._directory, limits, self._runtime)
        told = {"JUDGE_UID": str(LOWEST_UID + secrets.randbelow(UIDS))}
        if self._plays:
            image = self._client.inspect_image(image)["Id"]
            config["Mounts"].append(resident_tree(self._client, image))
            told["JUDGE_TMP"] = f"size={limits.tmp_bytes},nr_inodes={limits.tmp_inodes},mode=1777"
        self._container = self._client.create_container(
            image,
            command=["/sbin/judge-init", *program.command],
            environment={**ENVIRONMENT, **self._runtime.environment, **told},
            hostname="sandbox",
            network_disabled=True,
            working_dir="/",
            labels={LABEL: str(self._directory), "deadheat.owner": str(os.getpid())},
            host_config=config,
        )["Id"]
        self._client.start(self._container)
        pid = int(self._client.inspect_container(self._container)["State"]["Pid"])
        if pid == 0:
            raise SandboxError("container-died", "the container ended at once")
        self._own_group = join_unified(pid, self._directory.name)
        self._cgroup = Cgroup(pid, limits.cpu_numbers)
        self._await(_READY, ACK_TIMEOUT_S)

    def _order(self, line: bytes) -> None:
        try:
            os.write(self._fds["ctl"], line)
        except OSError as error:
            raise SandboxError("container-stuck", f"init accepts no orders: {error}") from error

    def _await(self, pattern: re.Pattern[bytes], timeout_s: float) -> re.Match[bytes]:
        """Wait for init's next line, which must match."""
        poller = select.poll()
        poller.register(self._fds["ack"], select.POLLIN)
        give_up_at = time.monotonic() + timeout_s
        while b"\n" not in self._acknowledged:
            ready = poller.poll(max(0.0, give_up_at - time.monotonic()) * 1000)
            data = os.read(self._fds["ack"], 4096) if ready else b""
            if not ready:
                raise SandboxError("container-stuck", f"init did not acknowledge within {timeout_s} s")
            if not data:
                raise SandboxError("container-died", "the container ended unexpectedly")
            self._acknowledged += data
        line, _, self._acknowledged = self._acknowledged.partition(b"\n")
        match = pattern.fullmatch(line + b"\n")
        if match is None:
            raise SandboxError("container-stuck", f"init said {line!r} instead")
        return match

    def _read_stderr(self) -> bytes:
        kept = b""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._fds["err"], 64 * 1024):
                kept += data
        return kept

    def _remove_container(self, container: str) -> None:
        """Wait until the engine has removed the container; kill it if it does not end by itself. Ask each second: asked
        while it removes the container, an engine may never answer (Docker 20.10).
        """
        for second in range(2 * ACK_TIMEOUT_S):
            try:
                if second == ACK_TIMEOUT_S:
                    self._client.kill(container)
                self._client.wait(container, timeout=1, condition="removed")
                return
            except NotFound:
                return
            except _EngineFailure:
                continue
        with contextlib.suppress(*_EngineFailure):  # created but never started: nothing ran
            self._client.remove_container(container, force=True)


def copy_program(source: Path, target: Path) -> None:
    """Copy a program so that the box's user can read it, whatever modes the original has."""
    shutil.copytree(source, target)
    for folder, _, files in os.walk(target):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
