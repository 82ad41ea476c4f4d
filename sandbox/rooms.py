"""Boxes as rooms: one long-lived container, the *wall*, in which every match gets rooms of its own.

The engine starts one container for a process that plays, and the launcher in it (images/init.c) makes a room for each
bot of each match in milliseconds: namespaces, a /tmp, a copy of the program, a user. Nothing is ever used again, so
nothing has to be cleaned.

*Control groups* below the container's own are made here for each room: limits, weight, and the counters that
attribution reads. A room's first process joins those of version 1 by descriptors that we opened (`tasks`, because
`cgroup.procs` takes a lock of the whole kernel), and is born in the unified one, which its maker may do because both
that group and the common parent are writable for it.

*Bots never read from a disk*, where what one has read or looked up is faster for the next. One container per judge
image, the *keeper*, copies the image's /play (deploy/images/play.py) into a tmpfs volume once, locks all its pages in
memory and waits; walls mount that volume read-only. All workers of a host find the keeper by its name. It costs the
size of the tree, 62 MB for core, and outlives them; `deploy/images/build --force` removes it.

*A wall is pinned* to the processors of the match: all rooms that are there together have the same ones, and the maker,
which evens out what the kernel counts by processor, runs there too. A wall without rooms may be pinned anew.
"""

import array
import contextlib
import fcntl
import itertools
import os
import secrets
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import docker
from docker.errors import APIError, NotFound
from docker.types import DriverConfig, LogConfig, Mount

from deadheat.sandbox.attribution import Blame
from deadheat.sandbox.box import BOT_MEMORY_BYTES, ENVIRONMENT, Channel, Exit, Limits, Program, SandboxError
from deadheat.sandbox.cgroup import remove_group
from deadheat.sandbox.containers import ACK_TIMEOUT_S, ANSWER_BYTES, ANY_USER, NO_FD, Confined, Container, host_config
from deadheat.sandbox.pipes import readable
from deadheat.sandbox.runtimes import Runtime

MOST_ROOMS = 8
"""For how many rooms at a time a wall has memory and processes; a table has at most six."""

WALL = Limits(memory_bytes=MOST_ROOMS * (BOT_MEMORY_BYTES + 2**27), processes=MOST_ROOMS * 80)

LOWEST_ROOT, ROOTS = 2_000_000_000, 100_000_000
"""The host's users that are root in a wall, one each: above all bots (`ANY_USER`), and without rights on the host."""

FIFOS = 3  # the files that a room itself has in its /tmp, without names: the bot's stdin, stdout and stderr
WARDEN_THREADS = 2  # which count in the room's group
PAGE_BYTES = 4096
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
JOINED = ("memory", "pids", "cpu", "cpuacct", "freezer")
"""The controllers of version 1 for which a room has groups. The processors are those of the wall."""

KEEPER = "[ -e /resident/complete ] || cp -a /play/. /resident/ && exec /sbin/judge-init --keep /resident"
COPY_SECONDS = 20.0
"""How long a wall waits for the copy: nobody renews a series' lease of 30 s meanwhile. The copy then goes on."""

LOOK_SECONDS = 0.1
CONFLICT = 409

_HOW = "docs/how-to/machines.md says what a machine must allow"
_numbers = itertools.count(1)


class Wall(Container):
    """A container of rooms, and the line to its launcher."""

    def __init__(self, client: docker.APIClient, image: str, run_dir: Path, runtime: Runtime, cpus: str) -> None:
        """Raises SandboxError, and the engine's own errors."""
        self._line: socket.socket | None = None  # first: `__del__` asks for it
        super().__init__(client, run_dir)
        self.rooms = 0
        self.broken = False
        self.cpus = cpus
        self.root = LOWEST_ROOT + secrets.randbelow(ROOTS)
        try:
            self._start_rooms(client, client.inspect_image(image)["Id"], runtime)
        except BaseException:
            self.close()
            raise

    def _start_rooms(self, client: docker.APIClient, image: str, runtime: Runtime) -> None:
        judge = Mount("/judge", str(self.judge), type="bind", read_only=True)
        tree = resident_tree(client, image)
        config = host_config(client, [judge, tree], WALL, runtime, wall=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            with _opened([self.judge], os.O_PATH) as [folder]:
                door.bind(f"/proc/self/fd/{folder}/line")  # the path itself may be too long for a socket's name
            door.listen(1)
            door.settimeout(ACK_TIMEOUT_S)
            command = ["/sbin/judge-init", "--rooms", str(self.root)]
            self.start(image, command, {**ENVIRONMENT, **runtime.environment}, config)
            self._make_way()
            self.pin(self.cpus)
            try:
                self._line, _ = door.accept()
            except TimeoutError as error:
                why = f"a container does not see {self.path}, which must have the same path for the engine"
                if not Path(f"/proc/{self.pid}").exists():
                    why = "the container of rooms ended at once; build the judge image anew (deploy/images/build)"
                raise SandboxError("engine", why) from error
        self._line.settimeout(ACK_TIMEOUT_S)
        try:
            self._line.send(b"g")
            await_tree(client, tree, partial(readable, self._line.fileno()))
            answer = self._line.recv(ANSWER_BYTES)
        except OSError as error:
            raise SandboxError("container-died", "the container that makes rooms has ended") from error
        if answer != b"ready":
            raise SandboxError("no-runtime", f"this kernel lets us make no rooms ({_text(answer)}); {_HOW}")

    def _make_way(self) -> None:
        """Let rooms have groups below the container's unified one, which then may hold no process itself, and may be
        joined by the wall's root: it owns nothing else that could be moved there.
        """
        group = self.groups.get("")
        try:
            if group is not None:
                leaf = group / "launcher"
                leaf.mkdir()
                (leaf / "cgroup.procs").write_text(str(self.pid))
                there = {"cpu", "memory", "pids"}.intersection((group / "cgroup.controllers").read_text().split())
                (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(there)))
                (group / "cgroup.procs").chmod(0o666)
            elif "memory" not in self.groups or "pids" not in self.groups:
                raise SandboxError("no-runtime", f"this kernel limits no memory, or no processes, of a group; {_HOW}")
        except OSError as error:
            raise SandboxError("no-runtime", f"no control groups can be made ({error}); {_HOW}") from error

    def pin(self, cpus: str) -> None:
        """Let the wall and its rooms run on these processors only; empty: on any. Raises OSError."""
        if cpus or self.cpus:
            group = self.groups.get("cpuset", self.groups.get(""))
            assert group is not None
            allowed = "cpuset.cpus" if "cpuset" in self.groups else "cpuset.cpus.effective"
            (group / "cpuset.cpus").write_text(cpus or (group.parent / allowed).read_text())
        self.cpus = cpus

    def has_ended(self) -> bool:
        """Say whether the container has ended; otherwise nothing comes from its launcher."""
        assert self._line is not None
        return readable(self._line.fileno(), 0)

    def request(self, words: str, fds: list[int]) -> None:
        """Ask for a room. Raises SandboxError."""
        assert self._line is not None
        try:
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            self._line.sendmsg([words.encode("utf-8", "surrogateescape")], passed)
        except OSError as error:
            self.broken = True
            raise SandboxError("container-died", "the container that makes rooms has ended") from error

    def __del__(self) -> None:
        if self._line is not None:  # nobody closed it: it ends as if its owner had been killed
            self._line.close()

    def close(self) -> None:
        """End the container, and wait until the engine has removed it."""
        if self._line is not None:
            self._line.close()
        super().close()


class Room(Confined):
    """The rooms of one program, one after another: a `sandbox.box.Box`."""

    def __init__(self, wall: Wall, program: Program, limits: Limits, weight: float | None) -> None:
        """Raises OSError if the program cannot be read."""
        super().__init__(limits, weight)
        self._container = self._wall = wall
        self._command = program.command
        self._packed, self._program_bytes = packed(program.directory)
        self._line: socket.socket | None = None
        self._groups: dict[str, Path] = {}
        self.user = 0  # of the present run
        wall.rooms += 1

    def start(self) -> Channel:
        self._end()
        try:
            return self._start()
        except OSError as error:
            raise self._lost(f"no room could be made: {error}", "container-stuck") from error

    def _start(self) -> Channel:
        self._make_groups()
        unified = self._groups.get("")
        tasks = [group / "tasks" for group in dict.fromkeys(self._groups.values()) if group != unified]
        tmp = f"size={self._limits.tmp_bytes},nr_inodes={self._limits.tmp_inodes + FIFOS},mode=1777"
        self.user = secrets.choice(ANY_USER)
        memory = self._wall.groups.get("memory")
        left = memory / "tasks" if memory is not None else self._wall.groups[""] / "launcher" / "cgroup.procs"
        words = [f"{self.user} {len(tasks)} {int(unified is not None)} {tmp}", *self._command, ""]
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._line.settimeout(ACK_TIMEOUT_S)
        with (
            theirs,
            _opened(tasks, os.O_WRONLY) as joined,
            _opened([left], os.O_WRONLY) as ways_out,
            _opened([unified] if unified else [], os.O_DIRECTORY) as born,
        ):
            self._wall.request("\0".join(words), [theirs.fileno(), *joined, self._packed, *ways_out, *born])
        answer, passed, _, _ = self._line.recvmsg(ANSWER_BYTES, 256, socket.MSG_CMSG_CLOEXEC)
        ancillary = {kind: data for _, kind, data in passed}
        if answer != b"started" or socket.SCM_RIGHTS not in ancillary:
            raise self._lost(f"no room could be made: {_text(answer) or 'it ended at once'}")
        self._fds = [*array.array("i", ancillary[socket.SCM_RIGHTS])]
        self._orders = self._answers = self._line.fileno()
        leader, _, _ = struct.unpack("3i", ancillary[socket.SCM_CREDENTIALS])  # the process id on this host
        channel = self._begin(self._fds, self._groups, leader)
        channel.kill = self._kill
        return channel

    def _make_groups(self) -> None:
        """Make the room's control groups, with its limits."""
        name = f"room-{next(_numbers)}"
        memory_bytes = self._limits.memory_bytes + self._program_bytes
        above = self._wall.groups
        for controller in (*JOINED, ""):
            if controller in above:
                group = above[controller] / name
                if group not in self._groups.values():  # two controllers may share one
                    group.mkdir()
                self._groups[controller] = group
        if "memory" in above:
            memory, swap, swap_bytes = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", memory_bytes
        else:
            memory, swap, swap_bytes = "memory.max", "memory.swap.max", 0
        limited = self._groups.get("memory") or self._groups[""]
        _set(limited / memory, memory_bytes)
        if (limited / swap).exists():  # not in a kernel without an account of swap
            _set(limited / swap, swap_bytes)
        _set((self._groups.get("pids") or self._groups[""]) / "pids.max", self._limits.processes + WARDEN_THREADS)
        if "" in self._groups:
            (self._groups[""] / "cgroup.procs").chmod(0o666)

    def stopped(self) -> Exit:
        end = super().stopped()
        self._end()
        return end

    def close(self) -> None:
        if self._packed >= 0:
            self._end()
            os.close(self._packed)
            self._packed = -1
            self._wall.rooms -= 1

    def _kill(self) -> None:
        with contextlib.suppress(SandboxError):
            self._order("kill")

    def _lost(self, why: str, cause: str = "container-died") -> SandboxError:
        self._wall.broken = True
        return super()._lost(why, cause)

    def _end(self) -> None:
        """End the room, if there is one, and wait until nothing of it is left."""
        if self._line is not None:
            self.rest(False)  # what is frozen cannot end
            self._orders = self._answers = NO_FD  # another thread may be about to give one
            with self._line as line, contextlib.suppress(OSError):
                line.settimeout(ACK_TIMEOUT_S)
                line.shutdown(socket.SHUT_WR)
                try:
                    while line.recv(ANSWER_BYTES):
                        pass
                except TimeoutError:  # something of it is left, beside which nothing may play
                    self._wall.broken = True
            self._line = None
        if self._meter is not None and self._meter.killed_for_memory() is Blame.HOST:
            self._wall.broken = True  # it may be its own memory that is full
        self._end_run()
        for group in dict.fromkeys(self._groups.values()):
            remove_group(group)
        self._groups = {}


def resident_tree(client: docker.APIClient, image_id: str) -> Mount:
    """Return the mount of the tree for a wall, which its keeper copies if need be. Raises the engine's errors."""
    name = f"deadheat-play-{image_id.removeprefix('sha256:')[:12]}"
    give_up_at = time.monotonic() + COPY_SECONDS
    while True:
        try:
            client.start(name)  # which may already run
            return _volume(name, "/play", read_only=True)
        except NotFound:
            if time.monotonic() > give_up_at:
                raise
        config = client.create_host_config(
            network_mode="none",
            read_only=True,
            mounts=[_volume(name, "/resident", read_only=False)],
            cap_drop=["ALL"],
            cap_add=[
                "CHOWN",
                "DAC_OVERRIDE",
                "FOWNER",
                "IPC_LOCK",
                "MKNOD",
            ],  # the fourth: beyond every limit
            security_opt=["no-new-privileges:true"],
            log_config=LogConfig(type="none"),
        )
        labels, command = {"deadheat.resident": image_id}, ["/bin/sh", "-c", KEEPER]
        try:
            client.create_container(
                image_id, command=command, name=name, network_disabled=True, labels=labels, host_config=config
            )
        except APIError as error:
            if error.status_code != CONFLICT:
                raise
            time.sleep(LOOK_SECONDS)  # another worker does, but the engine does not find it yet


def await_tree(client: docker.APIClient, tree: Mount, complete: Callable[[float], bool]) -> None:
    """Wait until `complete`, which waits for this many seconds, says that the tree is. Raises SandboxError: it takes
    too long, or its keeper has ended; and the engine's errors.
    """
    give_up_at = time.monotonic() + COPY_SECONDS
    while not complete(LOOK_SECONDS):
        state = client.inspect_container(tree["Source"])["State"]
        if not state["Running"]:
            ended = f"has ended with code {state['ExitCode']}"
            raise SandboxError("engine", f"the container that holds the bots' files {ended}")
        if time.monotonic() > give_up_at:
            raise SandboxError("engine", f"the bots' files are still being copied after {COPY_SECONDS:.0f} s")


def _volume(name: str, where: str, *, read_only: bool) -> Mount:
    memory = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": "mode=755,nr_inodes=100000"})
    return Mount(where, name, type="volume", read_only=read_only, no_copy=True, driver_config=memory)


def packed(directory: Path) -> tuple[int, int]:
    """Pack a program for `unpack` (images/init.c), so that a room's user can read it whatever modes the original has.
    Return the descriptor of a file in memory, and the memory that the unpacked files take. Raises OSError.
    """
    taken = 0
    with os.fdopen(os.memfd_create("program", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb") as out:
        walk = os.walk(directory, followlinks=True)
        # Each folder comes before what is in it.
        for path in (Path(at, name) for at, folders, files in walk for name in (*sorted(folders), *sorted(files))):
            name = os.fsencode(path.relative_to(directory))
            if b"\n" in name:
                raise OSError(f"{path} has a line break in its name")
            if path.is_dir():
                out.write(b"755 -1 ./%s\n" % name)  # a name may begin with spaces
                continue
            content = path.read_bytes()
            mode = b"755" if path.stat().st_mode & stat.S_IXUSR else b"644"
            out.write(b"%s %d ./%s\n%s" % (mode, len(content), name, content))
            taken += -(-len(content) // PAGE_BYTES) * PAGE_BYTES
        out.flush()
        fcntl.fcntl(out, fcntl.F_ADD_SEALS, SEALS)  # nobody to whom it is passed changes it for the next match
        return os.dup(out.fileno()), taken


def _set(limit: Path, value: int) -> None:
    with limit.open("r+b", buffering=0) as file:  # it must be there
        file.write(b"%d" % value)


@contextlib.contextmanager
def _opened(paths: Iterable[Path], how: int) -> Iterator[list[int]]:
    fds: list[int] = []
    try:
        fds.extend(os.open(path, how | os.O_CLOEXEC) for path in paths)
        yield fds
    finally:
        for fd in fds:
            os.close(fd)


def _text(answer: bytes) -> str:
    return answer.decode("utf-8", "replace").removeprefix("failed: ")
