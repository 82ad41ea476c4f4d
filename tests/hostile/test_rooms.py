"""The walls around rooms: what who broke out of a room would reach, and makers of rooms that fail."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import docker
import pytest
from docker.types import Mount
from docker.utils import kwargs_from_env

from deadheat.engine.core import NS_PER_S
from deadheat.league.config import Settings
from deadheat.sandbox import rooms
from deadheat.sandbox.box import ENVIRONMENT, Channel, Limits, SandboxError
from deadheat.sandbox.cgroup import first_child
from deadheat.sandbox.containers import Container, host_config
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.rooms import WALL, Room, Wall, resident_tree
from deadheat.sandbox.runtimes import NO_RUNTIME
from tests.hostile.test_probes import our_capabilities
from tests.sandbox.boxes import python

pytestmark = pytest.mark.containers

BREAKOUT = Path(__file__).parent / "breakout.c"

ECHO = "import sys\nfor line in sys.stdin: print(eval(line), flush=True)"


@pytest.fixture
def room(docker_sandbox: DockerSandbox, tmp_path: Path) -> Iterator[Room]:
    box = docker_sandbox.open(python(tmp_path, ECHO), Limits())
    assert isinstance(box, Room)
    with closing(box):
        yield box


def ask(channel: Channel, line: str) -> str:
    os.write(channel.stdin_fd, f"{line}\n".encode())
    os.set_blocking(channel.stdout_fd, True)
    return os.read(channel.stdout_fd, 4096).decode().strip()


def makers_of(wall: Wall) -> list[int]:
    """Return the process ids of a wall's launcher and maker."""
    maker = first_child(wall.pid)
    assert maker is not None
    return [wall.pid, maker]


def processes_of(wall: Wall) -> list[int]:
    group = wall.groups.get("pids", wall.groups.get(""))
    assert group is not None
    return [int(pid) for file in group.rglob("cgroup.procs") for pid in file.read_text().split()]


def rooms_of(wall: Wall) -> list[Path]:
    return [path for group in {*wall.groups.values()} for path in group.glob("room-*")]


def breaches(folder: Path, *, loose: bool) -> tuple[list[str], int]:
    """Play the launcher in a wall, or in a container without walls; return what it reached, and how much it tried."""
    program = folder / "breakout"
    subprocess.run(["gcc", "-static", "-O2", "-o", program, BREAKOUT], check=True)
    client = docker.APIClient(**kwargs_from_env(), version="auto")
    image = client.inspect_image(Settings().image)["Id"]
    container = Container(client, folder)
    mounts = [
        Mount("/judge", str(container.judge), type="bind", read_only=not loose),
        Mount("/breakout", str(program), type="bind", read_only=True),
        resident_tree(client, image),
    ]
    config = host_config(client, mounts, WALL, NO_RUNTIME, wall=True)
    if loose:
        options = ["seccomp=unconfined", "apparmor=unconfined"]
        rights = our_capabilities()
        config = client.create_host_config(mounts=mounts, cap_add=rights, security_opt=options, auto_remove=True)
        config |= {"ReadonlyPaths": [], "MaskedPaths": []}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door, contextlib.closing(container):
        with contextlib.chdir(container.judge):
            door.bind("line")
        door.listen(1)
        door.settimeout(30)
        container.start(image, ["/breakout", str(rooms.LOWEST_ROOT)], {**ENVIRONMENT}, config)
        line, _ = door.accept()
        with line:
            line.settimeout(30)
            line.send(b"g")
            said = line.recv(2**17).decode()
    client.close()
    assert "FAILED" not in said, said
    (tried,) = map(int, re.findall(r"^tried: (\d+)$", said, re.MULTILINE))
    return re.findall(r"^BREACH: (.*)$", said, re.MULTILINE), tried


def test_whoever_breaks_out_of_a_room_reaches_nothing_of_the_host(tmp_path: Path) -> None:
    reached, tried = breaches(tmp_path, loose=False)
    assert reached == [] and tried > 150


def test_the_same_tries_succeed_where_there_are_no_walls(tmp_path: Path) -> None:
    reached, _ = breaches(tmp_path, loose=True)
    assert {line.partition(": ")[0] for line in reached} >= {"the launcher"}
    assert len(reached) > 10, reached


def test_no_process_beside_a_bot_is_the_hosts_root_or_has_a_right_on_the_host(room: Room) -> None:
    assert ask(room.start(), "1 + 1") == "2", "the bot runs, so it has no right any more"
    found = {}
    for pid in processes_of(room._wall):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        found[status["NSpid"].split()[-1], status["Uid"].split()[0]] = int(status["CapPrm"], 16)
        assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip(), status["Groups"].split()) == ("1", "2", [])
    root, user = str(room._wall.root), room.user
    launcher, maker = (found.pop((number, root)) for number in sorted(number for number, uid in found if uid == root))
    assert (launcher, maker) == (0, 1 << 6 | 1 << 7), "the launcher has none; the maker may map users in its namespace"
    assert found == {("1", str(user + 1)): 1 << 5, ("3", str(user)): 0}, "the warden may kill in its room"


def test_descriptors_say_nothing_of_the_host(room: Room) -> None:
    seen = set()
    for _ in range(3):
        channel = room.start()
        seen.add(ask(channel, "[__import__('os').fstat(number).st_ino for number in (0, 1, 2)]"))
        room.ask_stop(NS_PER_S)
        room.stopped()
    assert len(seen) == 1


def test_nothing_of_a_room_outlives_its_match(room: Room) -> None:
    code = (
        "(lambda os: [os.setsid(), __import__('time').sleep(60)] if os.fork() == 0 else os.getpid())(__import__('os'))"
    )
    wall = room._wall
    for _ in range(20):
        assert ask(room.start(), code) == "3"
        assert len(processes_of(wall)) == 5 and rooms_of(wall)
        room.ask_stop(0)
        room.stopped()
        assert sorted(processes_of(wall)) == sorted(makers_of(wall)) and rooms_of(wall) == []


def test_rooms_of_one_wall_do_not_see_each_other(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    program = python(tmp_path, ECHO)
    with (
        closing(docker_sandbox.open(program, Limits())) as one,
        closing(docker_sandbox.open(program, Limits())) as other,
    ):
        assert isinstance(one, Room) and isinstance(other, Room) and one._wall is other._wall
        first, second = one.start(), other.start()
        assert ask(first, "open('/tmp/mine', 'w').write('x')") == "1"
        assert ask(second, "__import__('os').listdir('/tmp')") == "[]"
        assert ask(first, "__import__('os').getpid()") == ask(second, "__import__('os').getpid()") == "3"
        made = "(s := __import__('socket').socket(1)).bind('\\0here') or globals().update(kept=s)"
        assert ask(first, made) == ask(second, made) == "None", "each has names of its own"
        assert one.user != other.user


def test_no_room_takes_signals_from_another(docker_sandbox: DockerSandbox, room: Room, tmp_path: Path) -> None:
    """The kernel counts those that wait for all rooms together, too."""
    queue = "__import__('ctypes').CDLL(None).sigqueue(__import__('os').getpid(), 37, None)"
    fill = f"__import__('signal').pthread_sigmask(0, [37]) or sum({queue} == 0 for _ in range(2000))"
    with closing(docker_sandbox.open(python(tmp_path, ECHO), Limits())) as other:
        found = {ask(channel, fill) for channel in (room.start(), other.start())}
    assert found == {"256"}


def test_nobody_changes_a_program_for_its_next_match(room: Room) -> None:
    with pytest.raises(PermissionError):
        os.pwrite(room._packed, b"x", 0)
    with pytest.raises(PermissionError):
        os.truncate(room._packed, 0)


@pytest.mark.parametrize("harm", ["stopped", "killed", "its launcher killed"])
def test_a_maker_that_fails_is_our_failure_and_another_takes_its_place(
    docker_sandbox: DockerSandbox, room: Room, tmp_path: Path, monkeypatch, harm: str
) -> None:
    monkeypatch.setattr(rooms, "ACK_TIMEOUT_S", 0.5)
    room.start()
    wall = room._wall
    launcher, maker = makers_of(wall)
    os.kill(
        maker if harm != "its launcher killed" else launcher, signal.SIGSTOP if harm == "stopped" else signal.SIGKILL
    )
    with pytest.raises(SandboxError):
        room.start()
    room.close()
    if harm == "stopped":
        os.kill(maker, signal.SIGCONT)
    monkeypatch.undo()
    with closing(docker_sandbox.open(python(tmp_path, ECHO), Limits())) as another:
        assert isinstance(another, Room) and another._wall is not wall
        assert ask(another.start(), "1 + 1") == "2"
    assert not (wall.groups.get("pids") or wall.groups[""]).exists()


def test_a_wall_out_of_processes_is_our_failure(docker_sandbox: DockerSandbox, room: Room) -> None:
    wall = room._wall
    group = wall.groups.get("pids", wall.groups.get(""))
    assert group is not None
    (group / "pids.max").write_text("2")
    with pytest.raises(SandboxError, match="no room could be made"):
        room.start()


def test_a_bot_finds_no_way_to_namespaces_or_to_moving_pages(room: Room) -> None:
    channel = room.start()
    prepared = "globals().update(lib=__import__('ctypes').CDLL(None, use_errno=True), ctypes=__import__('ctypes'))"
    assert ask(channel, prepared) == "None"
    for number, arguments, expected in (
        (435, "0, 0", 38),  # clone3
        (56, "0x10000000, 0, 0, 0, 0", 1),  # clone with CLONE_NEWUSER
        (272, "0x10000000", 1),  # unshare
        (308, "0, 0", 1),  # setns
        (165, "0, 0, 0, 0, 0", 1),  # mount
        (275, "0, 0, 1, 0, 1, 0", 38),  # splice
        (276, "0, 1, 1, 0", 38),  # tee
        (278, "1, 0, 0, 0", 38),  # vmsplice
        (40, "1, 0, 0, 1", 22),  # sendfile
    ):
        told = ask(channel, f"(lib.syscall({number}, {arguments}), ctypes.get_errno())")
        assert told == f"(-1, {expected})", number
