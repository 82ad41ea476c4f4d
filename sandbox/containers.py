"""Containers of a Docker Engine: the settings that confine them (`sandbox.seccomp` has the system calls), their life,
and boxes that are a container for each run: builds, and everything under gVisor.

A program that runs alone in a container is a child of the image's init, with which we talk through FIFOs in a directory
that is mounted read-only: lines go through `in` and `out`, orders and answers through `ctl` and `ack` (images/init.c).

*Nothing survives its owner.* init exits when our end of `ctl`, or of a wall's line, closes, which happens even when
this process is killed, and the engine removes an exited container by itself (`auto_remove`). The owner of a folder
holds a lock on it, which the kernel releases with the process. Folders that nobody has locked, and control groups
without a folder, are swept later.
"""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException, NotFound
from docker.types import LogConfig, Mount, Ulimit

from deadheat.engine.core import NS_PER_MS, NS_PER_S
from deadheat.sandbox import cgroup, seccomp
from deadheat.sandbox.box import ENVIRONMENT, Channel, Exit, Limits, Program, SandboxError
from deadheat.sandbox.cgroup import Cgroup, Parent, first_child, groups_of, join_unified, remove_group, weight_file
from deadheat.sandbox.pipes import readable
from deadheat.sandbox.runtimes import Runtime, why_not_started

YOUNG_SECONDS = 10
"""The age below which a folder is not swept: its owner may not have locked it yet."""

ACK_TIMEOUT_S = 10
"""How long init may take to answer, beyond the time that an order allows. An idle host takes a millisecond; after this,
some process in the container cannot be killed."""

AGAIN_SECONDS = 0.1
NO_FD = -1
ANSWER_BYTES = 128 * 1024
_ANSWER = re.compile(rb"started|told \d{1,6}|done [ESK] \d{1,3} \d{1,6}")

LABEL = "deadheat.box"
"""Its value is the folder of the container's owner."""

ANY_USER = range(2**20, 2**20 + 2**30, 2)
"""Each run's user, above all users of a host, and its group; the number after it is the root of its room."""

FIFOS = ("ctl", "ack", "in", "out")

CAPABILITIES = ["KILL", "SETUID", "SETGID"]
"""Those of a wall, until it has made its maker (see images/init.c). The init of a single run drops the program's."""

MASKED = """
/proc/acpi /proc/asound /proc/kcore /proc/keys /proc/latency_stats /proc/sched_debug /proc/scsi /proc/timer_list
/proc/timer_stats /sys/devices/virtual/powercap /sys/firmware

/proc/buddyinfo /proc/diskstats /proc/interrupts /proc/key-users /proc/locks /proc/pagetypeinfo /proc/pressure
/proc/schedstat /proc/softirqs /proc/vmstat /proc/zoneinfo
/proc/sys/fs/aio-nr /proc/sys/fs/dentry-state /proc/sys/fs/file-nr /proc/sys/fs/inode-nr /proc/sys/fs/inode-state

/proc/sys/kernel/pty /dev/pts
"""
"""Paths that a box does not see. First, as by default with engines, the machine and its keys. Then host-wide counts and
lists, which one bot can change and another can read, such as the locks held in other containers. (Runtimes need
/proc/stat and /proc/meminfo.) Last, terminals: a host has 4096 for all."""

READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
"""What changes the host. The rest of /proc, which rooms do not have, is where a wall maps their users."""

CORE_BYTES = 1
"""Too little for a core file, and the only limit that keeps the kernel from piping a crash into a program of the host,
started as root outside the box (core(5)). A bot cannot lower it, see `sandbox.seccomp`."""

EngineFailure = (DockerException, requests.exceptions.RequestException)


class LockedFolder:
    """A new folder below `parent`, locked until it is removed. Also a context manager that gives its path."""

    def __init__(self, parent: Path, purpose: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=parent))
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Delete the folder; may be called repeatedly."""
        if self._fd >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def is_locked(path: Path) -> bool:
    """Say whether the folder exists and its owner is alive. Several processes may ask at once."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def sweep_folders(parent: Path, *purposes: str, young_seconds: float = YOUNG_SECONDS) -> int:
    """Delete the folders for these purposes whose owners are dead, and return their number."""
    swept = 0
    for purpose in purposes:
        for path in parent.glob(f"{purpose}-*"):
            with contextlib.suppress(OSError):  # it is already gone
                if time.time() - path.stat().st_mtime >= young_seconds and not is_locked(path):
                    shutil.rmtree(path, ignore_errors=True)
                    swept += 1
    return swept


def host_config(
    client: docker.APIClient, mounts: list[Mount], limits: Limits, runtime: Runtime, *, wall: bool = False
) -> Any:
    """Return all settings that confine a container: a wall, or one that runs a single program."""
    most = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": CORE_BYTES, "msgqueue": 0, "memlock": 0}
    filter_of_calls = seccomp.profile(limits.building, says_eperm=runtime.gvisor, rooms=wall)
    tmp = f"size={limits.tmp_bytes},nr_inodes={limits.tmp_inodes},mode=1777,nosuid,nodev,noexec"
    config = client.create_host_config(
        network_mode="none",
        read_only=True,
        mounts=mounts,
        tmpfs={"/tmp": tmp, **limits.scratch},
        cap_drop=["ALL"],
        cap_add=CAPABILITIES if wall else [*CAPABILITIES, "SETPCAP"],
        # AppArmor's usual profile forbids mounts, in rooms too. It would guard /proc and /sys, which no room has.
        security_opt=["no-new-privileges:true", f"seccomp={filter_of_calls}", *(["apparmor=unconfined"] * wall)],
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,  # equal to the memory limit: no swap
        pids_limit=limits.processes,
        cpuset_cpus=limits.cpus or None,
        cgroup_parent=cgroup.parent(limits.building, runtime.systemd),
        ipc_mode="none",
        sysctls={"kernel.shmmni": "0", "kernel.msgmni": "0", "kernel.sem": "0 0 0 0"},  # nothing outlives a match
        ulimits=[Ulimit(name=name, soft=value, hard=value) for name, value in most.items()],
        log_config=LogConfig(type="none"),
        auto_remove=True,
    )
    # The library has no arguments for these.
    config["ReadonlyPaths"] = READ_ONLY if wall else ["/proc"]  # all of it: see `ContainerBox.start`
    config["MaskedPaths"] = MASKED.split()
    runtime.adapt(config, limits)
    return config


class Container:
    """A container, its control groups, and the folder that it shares with this process. Close it."""

    def __init__(self, client: docker.APIClient, run_dir: Path) -> None:
        self._client = client
        self._folder = LockedFolder(run_dir, "box")
        self.id: str | None = None
        self.pid = 0  # of its first process, on this host
        self.groups: dict[str, Path] = {}
        self.path = self._folder.path
        self.name = self.path.name
        self.judge = self.path / "judge"
        self.judge.mkdir(mode=0o700)

    def start(self, image: str, command: list[str], environment: dict[str, str], config: Any) -> None:
        """Start it. Raises SandboxError."""
        try:
            self.id = self._client.create_container(
                image,
                command=command,
                environment=environment,
                hostname="sandbox",
                network_disabled=True,
                working_dir="/",
                labels={LABEL: str(self.path), "deadheat.owner": str(os.getpid())},
                host_config=config,
            )["Id"]
            self._client.start(self.id)
            self.pid = int(self._client.inspect_container(self.id)["State"]["Pid"])
            if self.pid == 0:
                raise SandboxError("container-died", "the container ended at once")
            self.groups = join_unified(groups_of(self.pid), self.pid, self.name)
        except (*EngineFailure, OSError) as error:
            raise SandboxError("engine", f"no container could be started: {why_not_started(error)}") from error

    def close(self) -> None:
        """Wait until the engine has removed it, killed if it does not end by itself, and remove the folder."""
        if self.id is not None:
            self._remove(self.id)
            self.id = None
        if "" in self.groups and self.groups[""].parent.name == cgroup.OWN_GROUPS:
            remove_group(self.groups[""])
        self._folder.remove()

    def _remove(self, container: str) -> None:
        for second in range(2 * ACK_TIMEOUT_S):  # asked while it removes the container, an engine may never answer
            try:
                if second == ACK_TIMEOUT_S:
                    self._client.kill(container)
                self._client.wait(container, timeout=1, condition="removed")
                return
            except NotFound:
                return
            except EngineFailure:
                time.sleep(AGAIN_SECONDS)
        with contextlib.suppress(*EngineFailure):  # created but never started: nothing ran
            self._client.remove_container(container, force=True)


class Confined:
    """A `sandbox.box.Box` on an engine, and its present run, of which init takes the orders."""

    def __init__(self, limits: Limits, weight: float | None) -> None:
        """`weight`: of all such boxes against everything else here, see `sandbox.cgroup`; None leaves it alone."""
        self._limits = limits
        self._weight = weight
        self._container: Container | None = None  # that of the run
        self._fds: list[int] = []  # those of the run
        self._orders = self._answers = NO_FD
        self._meter: Cgroup | None = None
        self._favoured, self._resting = True, False
        self._stop_timeout_s = 0.0

    def _begin(self, ends: list[int], groups: Mapping[str, Path], leader: int | None) -> Channel:
        """Begin to measure the run. `ends`: of the bot's stdin and stdout."""
        self._meter, self._favoured = Cgroup(groups, self._limits.cpu_numbers, leader), True
        self._meter.favour(True)
        if self._weight is not None:
            self.parent.weigh(self._weight)
        stdin_fd, stdout_fd = ends
        return Channel(stdin_fd, stdout_fd, self._meter, self._meter.killed_for_memory)

    def _order(self, order: str) -> None:
        try:
            os.write(self._orders, order.encode())
        except OSError as error:
            raise self._lost(f"init accepts no orders: {error}") from error

    def _hear(self, answer: str, timeout_s: float) -> tuple[list[str], bytes]:
        """Return the words of init's next answer, of which the first must be `answer`, and the text with it."""
        give_up_at = time.monotonic() + timeout_s
        received = b""
        while True:
            try:
                if not readable(self._answers, give_up_at - time.monotonic()):
                    raise self._lost(f"init did not answer within {timeout_s} s", "container-stuck")
                data = os.read(self._answers, ANSWER_BYTES)
            except OSError as error:
                raise self._lost("a box ended unexpectedly") from error
            received += data
            line, line_ended, text = received.partition(b"\n")
            words = line.decode("utf-8", "replace").split()
            wrong = line_ended and (not _ANSWER.fullmatch(line) or words[0] != answer)
            if not data or wrong or len(received) > ANSWER_BYTES:
                raise self._lost(f"init said {line[:100]!r} instead" if line else "a box ended unexpectedly")
            if line_ended and (len(words) == 1 or len(text) >= int(words[-1])):  # the last word is the text's length
                return words, text

    def _lost(self, why: str, cause: str = "container-died") -> SandboxError:
        """Return the error for a box that cannot be used again."""
        return SandboxError(cause, why)

    @property
    def parent(self) -> Parent:
        """The group in which the container competes with everything else on this machine."""
        assert self._container is not None
        return Parent(weight_file(self._container.groups))

    @property
    def nice(self) -> int:
        """The nice value of the container's first process, which it has from the engine."""
        assert self._container is not None
        return os.getpriority(os.PRIO_PROCESS, self._container.pid)

    def can_favour(self) -> bool:
        """Say whether `favour` has an effect on this host. The box is favoured afterwards."""
        return self._meter is not None and self._meter.can_favour()

    def favour(self, yes: bool) -> None:
        self._favoured = yes
        if self._meter is not None:
            self._meter.favour(yes)

    def rest(self, yes: bool) -> None:
        if self._meter is not None and yes != self._resting:
            self._meter.freeze(yes)
            self._meter.favour(self._favoured and not yes)  # what cannot be frozen runs behind everything else
            self._resting = yes

    def stderr_so_far(self) -> bytes:
        self._order("tell")
        return self._hear("told", ACK_TIMEOUT_S)[1]

    def ask_stop(self, grace_ns: int) -> None:
        self._stop_timeout_s = grace_ns / NS_PER_S + ACK_TIMEOUT_S
        self._order(f"stop {grace_ns // NS_PER_MS}")

    def stopped(self) -> Exit:
        words, stderr = self._hear("done", self._stop_timeout_s)
        assert self._meter is not None
        how, code = words[1], int(words[2])
        end = Exit(code if how == "E" else None, code if how == "S" else None, how == "K", stderr)
        return self._meter.measured(end)

    def _end_run(self) -> None:
        self._orders = self._answers = NO_FD
        while self._fds:
            os.close(self._fds.pop())
        if self._meter is not None:
            self._meter.close()
            self._meter = None


class ContainerBox(Confined):
    """A box whose every run has a container of its own."""

    def __init__(
        self,
        client: docker.APIClient,
        image: str,
        run_dir: Path,
        program: Program,
        limits: Limits,
        runtime: Runtime,
        weight: float | None,
    ) -> None:
        """Raises OSError if the program cannot be copied."""
        super().__init__(limits, weight)
        self._client = client
        self._image = image
        self._command = program.command
        self._run_dir = run_dir
        self._runtime = runtime
        self._copy = LockedFolder(run_dir, "box")
        target = self._copy.path / "program"
        shutil.copytree(program.directory, target)
        for path in (target, *target.rglob("*")):  # the box's user can read it, whatever modes the original has
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)

    def start(self) -> Channel:
        self._end()
        self._container = container = Container(self._client, self._run_dir)
        for name in FIFOS:
            os.mkfifo(container.judge / name, 0o600)
            # Those that we write to are open for reading, too, so that opening never waits and the bot's end may close.
            flags = os.O_RDWR if name in ("ctl", "in") else os.O_RDONLY
            self._fds.append(os.open(container.judge / name, flags | os.O_NONBLOCK | os.O_CLOEXEC))
        self._orders, self._answers, *ends = self._fds
        places = {"/judge": container.judge, "/bot": self._copy.path / "program"}
        mounts = [Mount(place, str(source), type="bind", read_only=True) for place, source in places.items()]
        config = host_config(self._client, mounts, self._limits, self._runtime)
        variables = {"JUDGE_UID": str(secrets.choice(ANY_USER)), **self._runtime.environment}
        command = ["/sbin/judge-init", *self._command]
        container.start(self._image, command, {**ENVIRONMENT, **variables}, config)
        self._hear("started", ACK_TIMEOUT_S)
        leader = None if self._runtime.gvisor else first_child(container.pid)
        if leader is not None:
            # When out of memory, the kernel kills this process before init, however little it uses: a dead init looks
            # like our failure. The process cannot undo this, because its /proc is read-only. In a room init does it.
            with contextlib.suppress(OSError):  # it has already ended
                Path(f"/proc/{leader}/oom_score_adj").write_text("1000", "ascii")
        return self._begin(ends, container.groups, leader)

    def close(self) -> None:
        self._end()
        self._copy.remove()

    def _end(self) -> None:
        self.rest(False)  # what is frozen cannot end
        self._end_run()  # it closes `ctl`: init exits, the engine removes the container
        if self._container is not None:
            self._container.close()
            self._container = None
