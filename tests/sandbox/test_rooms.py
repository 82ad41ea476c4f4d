"""Rooms: how programs and limits get into them, who ends them, and what happens when one cannot be made."""

import ast
import itertools
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import docker
import pytest

from deadheat.engine.core import NS_PER_S, Fault, Message
from deadheat.league.config import Settings
from deadheat.sandbox import containers, rooms
from deadheat.sandbox.attribution import Blame
from deadheat.sandbox.box import Limits, Program, SandboxError
from deadheat.sandbox.cgroup import first_child, sweep_unified, thaw
from deadheat.sandbox.containers import ContainerBox, sweep_folders
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.sandbox.rooms import MOST_ROOMS, PAGE_BYTES, WALL, Room, Wall, packed
from tests.sandbox.boxes import INSIDER, SMALL, asker, inside, leader_of, own_containers, python, stop, until

CPUS = sorted(os.sched_getaffinity(0))

Open = Callable[..., Room]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return python(tmp_path, INSIDER)


@pytest.fixture
def opened(docker_sandbox: DockerSandbox, program: Program) -> Iterator[Open]:
    """Open rooms of the program, or another, which are closed after the test."""
    boxes = []

    def one(limits: Limits = SMALL, program: Program = program) -> Room:
        boxes.append(docker_sandbox.open(program, limits))
        return cast(Room, boxes[-1])

    yield one
    for box in boxes:
        box.close()


def test_two_rooms_have_no_folder_in_common(opened: Open) -> None:
    """The kernel locks a folder to refuse a new file there, and a bot that is not asked may hold that for seconds."""
    file_systems = "{os.stat(folder).st_dev for folder, _, _ in os.walk('/')}"
    one, other = (ast.literal_eval(inside(opened())(file_systems)) for _ in range(2))
    assert one.isdisjoint(other)


def written(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        return file.read()


def test_a_program_is_packed_readable_for_its_user_with_folders_before_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True, mode=0o700)
    (tmp_path / "a" / "b" / "run").write_bytes(b"x" * (PAGE_BYTES + 1))
    (tmp_path / "a" / "b" / "run").chmod(0o700)
    (tmp_path / "a" / "text").write_bytes(b"two\nlines")
    (tmp_path / "a" / "text").chmod(0o4600)
    (tmp_path / "empty").touch(0o666)
    fd, taken = packed(tmp_path)
    assert written(fd).split(b"\n") == [
        *(b"755 -1 ./a", b"644 0 ./empty", b"755 -1 ./a/b", b"644 9 ./a/text", b"two", b"lines755 4097 ./a/b/run"),
        b"x" * (PAGE_BYTES + 1),
    ]
    assert taken == 3 * PAGE_BYTES


@pytest.mark.containers
@pytest.mark.parametrize(
    ("name", "why"), [("gone", "No such file"), ("a\n755 -1 b", "has a line break in its name")], ids=["link", "name"]
)
def test_a_program_that_cannot_be_packed_is_told_in_a_sentence(
    docker_sandbox: DockerSandbox, tmp_path: Path, name: str, why: str
) -> None:
    """An archive has neither (see `test_archive`), but a folder may."""
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / name).symlink_to("nowhere")
    with pytest.raises(SandboxError, match=f"(?s)no box could be opened: .*{why}") as caught:
        docker_sandbox.open(Program(tmp_path / "program", ("true",), ""), SMALL)
    assert caught.value.cause == "engine"
    held = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink() and "memfd:program" in str(fd.readlink())]
    assert held == [], "nor does it leave what was packed of it"


class WallOfFiles:
    """A wall whose control groups are folders."""

    def __init__(self, groups: dict[str, Path]) -> None:
        self.groups, self.pid, self.rooms, self.broken = groups, 0, 0, False


V1 = {
    "memory": {"memory.limit_in_bytes": "5000000", "memory.memsw.limit_in_bytes": "5000000"},
    "pids": {"pids.max": "9"},
    **{name: {} for name in ("cpu,cpuacct", "freezer")},
    "unified": {"cgroup.procs": ""},
}
V2 = {
    "unified": {
        "memory.max": "5000000",
        "memory.swap.max": "0",
        "pids.max": "9",
        "cgroup.procs": "",
        "cpu.weight": "",
    }
}
KEYS = {"cpu,cpuacct": ("cpu", "cpuacct"), "unified": ("",)}


@pytest.mark.parametrize(
    ("kind", "missing"),
    [(V1, ""), ({**V1, "unified": {}}, ""), (V1, "memory.memsw.limit_in_bytes"), (V2, ""), (V2, "memory.swap.max")],
    ids=["hybrid", "version 1", "version 1 without an account of swap", "version 2", "version 2 without swap"],
)
def test_a_room_has_its_limits_whatever_the_version_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: dict[str, dict[str, str]], missing: str
) -> None:
    """Folders stand for the kernel's groups. Limits: the program's two pages more, and two threads, the warden's."""
    above: dict[str, Path] = {}
    for name, files in kind.items():
        if name == "unified" and not files:
            continue
        group = tmp_path / "cgroup" / name
        (group / "room-7").mkdir(parents=True)
        for file in files.keys() - {missing}:
            (group / "room-7" / file).touch(0o644)
        above |= dict.fromkeys(KEYS.get(name, (name,)), group)
    monkeypatch.setattr(rooms, "_numbers", itertools.count(7))
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "main").write_bytes(b"x" * (PAGE_BYTES + 1))
    limits = Limits(memory_bytes=5_000_000 - 2 * PAGE_BYTES, processes=7)
    room = Room(cast(Wall, WallOfFiles(above)), Program(tmp_path / "program", ("main",), ""), limits, None)
    monkeypatch.setattr(Path, "mkdir", Path.stat)  # the files are there at once only where the kernel makes the group
    room._make_groups()
    for name, files in kind.items():
        group = tmp_path / "cgroup" / name / "room-7"
        found = {file.name: file.read_text() for file in group.iterdir()} if group.exists() else {}
        assert found == {file: text for file, text in files.items() if file != missing}
    if "" in above:
        assert (above[""] / "room-7" / "cgroup.procs").stat().st_mode & 0o777 == 0o666, "the maker may join it"
    os.close(room._packed)


def test_a_limit_that_cannot_be_set_is_our_failure(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    wall = WallOfFiles({"": tmp_path})
    room = Room(cast("Wall", wall), Program(tmp_path / "program", ("main",), ""), SMALL, None)
    with pytest.raises(SandboxError, match=r"no room could be made: .*memory.max"):
        room.start()
    assert wall.broken
    room.close()
    assert wall.rooms == 0


def test_a_wall_holds_more_than_all_its_rooms() -> None:
    assert WALL.memory_bytes > MOST_ROOMS * Limits().memory_bytes and WALL.processes > MOST_ROOMS * Limits().processes


@pytest.mark.parametrize("place", ["deadheat_play/7", "machine/deadheat_play.slice/docker-7.scope"])
def test_everything_in_a_container_is_resumed(tmp_path: Path, place: str) -> None:
    """Its groups are found wherever its engine is, and without its first process."""
    groups = [tmp_path / "freezer" / place / below for below in (".", "room-1", "room-2")]
    other = tmp_path / "freezer" / "deadheat_play" / "8"
    for group in (*groups, other):
        group.mkdir(parents=True, exist_ok=True)
        (group / "freezer.state").write_text("FROZEN")
    thaw("7", tmp_path)
    assert [(group / "freezer.state").read_text() for group in (*groups, other)] == ["THAWED"] * 3 + ["FROZEN"]


def test_a_sweep_leaves_the_groups_of_rooms_that_another_folders_owner_is_making(tmp_path: Path) -> None:
    """Nobody is in a group until its room's first process is born; but the wall is above it."""
    group = tmp_path / "cgroup" / "unified" / "deadheat" / "box-1"
    (group / "room-7").mkdir(parents=True)
    (group / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    sweep_unified(tmp_path / "run", tmp_path / "cgroup")
    assert (group / "room-7").exists()


@pytest.mark.containers
def test_a_bot_finds_its_files_as_they_were_uploaded(opened: Open, tmp_path: Path) -> None:
    folder = python(tmp_path, INSIDER).directory
    names = (" first", "a b/ c /d.txt", "한글/파일", "deep/er/and/deeper/file", "'\"$x;*", "-rf", "trailing ")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o700)
    (folder / "nothing in it").mkdir(mode=0o700)
    ask = inside(opened(program=Program(folder, ("/usr/bin/python3", "main.py"), "")))
    every = "sorted(str(path) for path in pathlib.Path('.').rglob('*') if path.is_file())"
    assert ask(every) == repr(sorted((*names, "main.py", "run")))
    assert ask(f"[text(name) for name in {names!a}]") == repr([f"text of {name}" for name in names])
    modes = "[oct(os.stat(name).st_mode & 0o7777) for name in ('main.py', 'run', 'nothing in it', 'a b')]"
    assert ask(modes) == "['0o644', '0o755', '0o755', '0o755']"


@pytest.mark.containers
def test_a_large_program_is_unpacked_whole_and_costs_the_bot_no_memory(opened: Open, tmp_path: Path) -> None:
    folder = python(tmp_path, INSIDER).directory
    block = bytes(range(256)) * 4096
    for number in range(4):
        (folder / f"large-{number}").write_bytes(block * 8 + b"end")
    box = opened(Limits(memory_bytes=24 * 2**20), Program(folder, ("/usr/bin/python3", "main.py"), ""))
    ask = inside(box)
    expression = "[open(f'large-{n}', 'rb').read()[-7:] for n in range(4)], os.stat('large-3').st_size"
    assert ask(expression) == f"({[block[-4:] + b'end'] * 4}, {8 * len(block) + 3})"
    assert box._meter is not None and box._meter.killed_for_memory() is None


@pytest.mark.containers
def test_a_room_that_cannot_be_made_is_told_in_a_sentence_and_the_next_has_another_wall(
    opened: Open, tmp_path: Path
) -> None:
    box, beside = opened(Limits(tmp_bytes=-1)), opened()
    ask = inside(beside)
    with pytest.raises(SandboxError, match="no room could be made: /tmp") as caught:
        box.start()
    assert caught.value.cause == "container-died"
    assert ask("1 + 1") == "2", "a room that is there goes on"
    other = opened()
    assert inside(other)("1 + 1") == "2" and len(own_containers(tmp_path / "run")) == 2
    for room in (box, beside, other):
        room.close()
    assert inside(opened())("1 + 1") == "2" and len(own_containers(tmp_path / "run")) == 1, "the broken wall is gone"


@pytest.mark.containers
def test_each_match_gets_a_new_room_and_all_are_in_one_container(opened: Open, tmp_path: Path) -> None:
    box, seen = opened(), []
    for _ in range(3):
        ask = inside(box)
        group = box._groups["memory" if "memory" in box._groups else ""]
        seen.append((ask("os.getuid()"), str(group), box._meter))
        assert group.is_dir()
        stop(box, 0)
        assert not group.exists(), "its groups end with it"
    assert len({user for user, _, _ in seen}) == len({group for _, group, _ in seen}) == 3
    assert len(own_containers(tmp_path / "run")) == 1


@pytest.mark.containers
def test_a_match_that_was_not_stopped_is_over_when_the_next_one_starts(opened: Open) -> None:
    box = opened()
    asker(box)("child()")
    leader, groups = leader_of(box), {*box._groups.values()}
    assert inside(box)("os.getpid()") == "3"
    assert not Path(f"/proc/{leader}").exists() and not [group for group in groups if group.exists()]


@pytest.mark.containers
def test_rooms_that_are_there_together_know_nothing_of_each_other(opened: Open, tmp_path: Path) -> None:
    boxes = [opened() for _ in range(4)]
    asks = [inside(box) for box in boxes]
    assert len(own_containers(tmp_path / "run")) == 1
    for number, ask in enumerate(asks):
        ask(f"open('/tmp/mine', 'w').write('{number}'), kept.append(socket.socket(1)), kept[0].bind('\\0x')")
    assert [ask("text('/tmp/mine'), os.listdir('/tmp')") for ask in asks] == [f"('{n}', ['mine'])" for n in range(4)]
    assert len({ask("os.getuid()") for ask in asks}) == 4
    processes = "[pid for pid in range(1, 300) if not tries(lambda: os.kill(pid, 0)).startswith('Process')]"
    assert [ask(processes) for ask in asks] == ["[1, 2, 3]"] * 4
    asks[0]("child()")
    assert stop(boxes[1], 0).lingered
    assert asks[0](processes) == "[1, 2, 3, 4]" and asks[2]("1 + 1") == "2"


@pytest.mark.containers
def test_a_bot_that_runs_out_of_memory_ends_alone(opened: Open, tmp_path: Path) -> None:
    greedy, beside = opened(Limits(memory_bytes=40 * 2**20)), opened()
    ask, other = asker(greedy), inside(beside)
    assert ask("len(bytearray(200 * 2**20))").fault is Fault.MEMORY
    assert greedy._meter is not None and greedy._meter.killed_for_memory() is Blame.BOT
    end = stop(greedy)
    assert (end.signal, end.lingered) == (signal.SIGKILL, False)
    assert end.peak_memory_bytes and 39 * 2**20 < end.peak_memory_bytes < 60 * 2**20
    assert other("1 + 1") == "2"
    assert inside(greedy)("1 + 1") == "2" and len(own_containers(tmp_path / "run")) == 1
    assert greedy._meter.killed_for_memory() is None


@pytest.mark.containers
def test_its_warden_tells_of_a_bot_whose_every_process_was_killed_for_memory(opened: Open) -> None:
    """Each child inherits that it is killed first, and together they take all that there is, time and again."""
    box = opened(Limits(memory_bytes=40 * 2**20))
    ask = asker(box)
    ask("sys.stderr.write('said before\\n'), sys.stderr.flush()")
    ask("[os.fork() for i in range(4)], [kept.append(bytearray(2**20)) for i in range(500)]")
    end = stop(box, 0)
    assert box._meter is None and end.stderr.startswith(b"said before\n")


@pytest.mark.containers
def test_what_was_said_to_stderr_so_far_can_be_read_and_is_bounded(opened: Open) -> None:
    box = opened()
    ask = inside(box)
    ask("sys.stderr.write('first\\n'), sys.stderr.flush()")
    assert until(lambda: box.stderr_so_far() == b"first\n", 60)
    ask("[sys.stderr.write('x' * 1000) for i in range(3000)][0], sys.stderr.write('last'), sys.stderr.flush()")
    assert until(lambda: box.stderr_so_far().endswith(b"last"), 60)
    for kept in (box.stderr_so_far(), stop(box, 0).stderr):
        assert kept.startswith(b"first\n") and kept.endswith(b"last") and len(kept) < 64 * 1024


@pytest.mark.containers
def test_a_run_is_killed_from_outside_of_its_box(opened: Open) -> None:
    """As by a thread that finds the bot holding a pipe."""
    box = opened()
    channel = box.start()
    transport = PipeTransport([channel])
    assert transport.exchange([Message(0, "child()", 20 * NS_PER_S)])[0].line
    channel.kill()
    assert transport.exchange([Message(0, "time.sleep(600)", 60 * NS_PER_S)])[0].fault is Fault.EXITED
    assert stop(box).signal == signal.SIGKILL
    channel.kill()  # too late, and no error


@pytest.mark.containers
def test_a_wall_without_rooms_is_pinned_anew_and_one_with_rooms_stays(opened: Open, tmp_path: Path) -> None:
    here, there = Limits(cpus=str(CPUS[0])), Limits(cpus=str(CPUS[-1]))
    affinity = "os.sched_getaffinity(0)"
    first = opened(here)
    assert inside(first)(affinity) == repr({CPUS[0]})
    (container,) = own_containers(tmp_path / "run")
    first.close()
    second = opened(there)
    assert inside(second)(affinity) == repr({CPUS[-1]}) and own_containers(tmp_path / "run") == [container]
    third = opened()
    assert inside(third)(affinity) == repr({*CPUS}) and len(own_containers(tmp_path / "run")) == 2
    if len(CPUS) > 1:
        assert inside(opened(here))(affinity) == repr({CPUS[0]}) and len(own_containers(tmp_path / "run")) == 3
    assert stop(second, 0).lingered


def killed(run_dir: Path) -> None:
    """End the containers of a sandbox, and wait until the engine has removed them."""
    client = docker.APIClient(version="auto")
    for container in own_containers(run_dir):
        client.kill(container)
    client.close()
    assert until(lambda: own_containers(run_dir) == [], 60)


@pytest.mark.containers
@pytest.mark.parametrize("cpus", ["", "0"])
@pytest.mark.parametrize("rooms", [0, 2])
def test_a_wall_that_was_killed_is_replaced(opened: Open, cpus: str, rooms: int, tmp_path: Path) -> None:
    limits = Limits(cpus=cpus)
    boxes = [opened(limits) for _ in range(max(rooms, 1))]
    for box in boxes:
        inside(box)("1")
    if rooms == 0:
        boxes.pop().close()
    killed(tmp_path / "run")
    for box in boxes:
        with pytest.raises(SandboxError) as caught:
            stop(box, 0)
        assert caught.value.cause == "container-died"
        with pytest.raises(SandboxError) as caught:
            box.start()  # it is unusable, as the box's interface says
        box.close()
    fresh = opened(limits)
    if rooms == 0:  # nobody has seen it end
        with suppress(SandboxError):
            fresh.start()
        fresh.close()
        fresh = opened(limits)
    assert inside(fresh)("1 + 1") == "2" and len(own_containers(tmp_path / "run")) == 1


@pytest.mark.containers
def test_a_maker_that_does_not_answer_is_our_failure_and_is_replaced(opened: Open, monkeypatch, tmp_path: Path) -> None:
    box = opened()
    inside(box)("1")
    maker = first_child(box._wall.pid)
    assert maker is not None
    os.kill(maker, signal.SIGSTOP)
    monkeypatch.setattr(rooms, "ACK_TIMEOUT_S", 1)
    monkeypatch.setattr(containers, "ACK_TIMEOUT_S", 1)  # nor does it end by itself
    with pytest.raises(SandboxError, match="no room could be made: timed") as caught:
        box.start()
    assert caught.value.cause == "container-stuck"
    box.close()
    box._wall.close()
    monkeypatch.undo()
    assert until(lambda: own_containers(tmp_path / "run") == [], 60)
    assert inside(opened())("1 + 1") == "2" and len(own_containers(tmp_path / "run")) == 1


@pytest.mark.containers
def test_a_sandbox_that_is_closed_leaves_nothing(program: Program, tmp_path: Path) -> None:
    sandbox = DockerSandbox(Settings().image, tmp_path / "run")
    box = sandbox.open(program, SMALL)
    assert isinstance(box, Room)
    inside(box)("1")
    leader, groups = leader_of(box), {*box._groups.values(), *box._wall.groups.values()}
    box.close()
    sandbox.close()
    assert own_containers(tmp_path / "run") == [] and [*(tmp_path / "run").iterdir()] == []
    assert not Path(f"/proc/{leader}").exists() and not [group for group in groups if group.exists()]


def owner(run_dir: Path, program: Program, tell: int, resting: bool) -> None:
    """Open two rooms and a container of its own, tell what must not outlive us, and be killed."""
    sandbox = DockerSandbox(Settings().image, run_dir)
    groups: set[Path] = set()
    leaders = []
    for building in (False, False, True):
        box = sandbox.open(program, Limits(building=building))
        assert isinstance(box, Room | ContainerBox)
        inside(box)("child()")
        if isinstance(box, Room):
            groups |= {*box._groups.values()}
            leaders.append(leader_of(box))
            if resting:
                box.rest(True)
                assert until(lambda: box._meter is not None and box._meter.counters().frozen, 60)  # noqa: B023
        assert box._container is not None
        groups |= {*box._container.groups.values()}
    told = {"leaders": leaders, "groups": [str(group) for group in groups if group.name != "cgroup"]}
    os.write(tell, json.dumps(told).encode())
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.containers
@pytest.mark.parametrize("resting", [False, True])
def test_an_owner_that_is_killed_leaves_nothing(program: Program, tmp_path: Path, resting: bool) -> None:
    run_dir = tmp_path / "run"
    hears, tells = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            owner(run_dir, program, tells, resting)
        os._exit(1)
    os.close(tells)
    with os.fdopen(hears) as pipe:
        told: dict[str, Any] = json.loads(pipe.read() or "{}")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, "its boxes did not start"
    assert len(told["leaders"]) == 2 and told["groups"]
    with closing(DockerSandbox(Settings().image, run_dir)) as next_one:

        def ended() -> bool:
            next_one.sweep()  # a room that rests cannot end without
            return not own_containers(run_dir, child)

        assert until(ended if resting else lambda: not own_containers(run_dir, child), 60), (
            "a container outlived its owner"
        )
        assert not [leader for leader in told["leaders"] if Path(f"/proc/{leader}").exists()]
        assert sweep_folders(run_dir, "box", young_seconds=0) > 0 and [*run_dir.glob("box-*")] == []

        def left() -> list[str]:
            next_one.sweep()
            return [group for group in told["groups"] if Path(group).exists()]

        assert until(lambda: not left(), 60), left()
