"""Rooms when processor time, memory or control groups run short: who pays is never a bot that did not take them."""

import contextlib
import errno
import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import NS_PER_MS, Fault, Seat, TransportError
from deadheat.engine.games import GAMES
from deadheat.sandbox import cgroup, rooms
from deadheat.sandbox.arena import Arena, Played
from deadheat.sandbox.box import Limits, Program, SandboxError
from deadheat.sandbox.cgroup import remove_group
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.rooms import Room, Wall
from tests.hostile.test_rooms import makers_of, processes_of, rooms_of
from tests.hostile.zoo import CASES, HONEST
from tests.sandbox.boxes import SMALL, leader_of, own_containers, stop, until
from tests.stillness import judged, unless_still

pytestmark = pytest.mark.containers

CONTROL_GROUPS = Path("/sys/fs/cgroup")
HYBRID = (CONTROL_GROUPS / "unified").is_dir()
MIB = 2**20
PINNED = Limits(SMALL.memory_bytes, SMALL.processes, cpus=str(min(os.sched_getaffinity(0))))
CHILDREN, CROWDS = SMALL.processes - 4, 4
FULL = os.strerror(errno.EAGAIN)
GROUPS_OF_A_MATCH = 4  # unified: its wall's, its launcher's and two rooms'
TRIES = 50  # for what happens at the first or second

CROWD = f"""#include "player.h"
int main(void) {{
    for (int child = 0; child < {CHILDREN}; child++)
        if (fork() == 0) for (;;) {{}}
    while (hear() && !is("ROLL")) play();
    for (;;) {{}}
}}"""

HUNGRY = f"""#include "player.h"
int main(void) {{
    while (hear()) {{
        if (is("READY")) memset(malloc({64 * MIB}), 1, {64 * MIB});
        play();
    }}
}}"""


@pytest.fixture(scope="module")
def programs(engine_required: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """Programs that play Yacht Auction: an honest one, one with busy children, one that takes 64 MiB."""
    made = {}
    for name, source in (("honest", HONEST["yacht-auction"].read_text()), ("crowd", CROWD), ("hungry", HUNGRY)):
        folder = tmp_path_factory.mktemp(name)
        command = ["gcc", "-static", "-O2", f"-I{CASES}", "-x", "c", "-", "-o", f"{folder}/main"]
        subprocess.run(command, input=source.encode(), check=True)
        made[name] = Program(folder, ("/bot/main",), name)
    return made


def match(
    sandbox: DockerSandbox,
    players: list[Program],
    limits: Limits = SMALL,
    between: Callable[[Arena], None] = lambda arena: None,
) -> Played:
    """Play in fresh rooms. `between` is called before each exchange. Raises TransportError: it is void."""
    with Arena(sandbox, players, limits) as arena:
        return arena.play(GAMES["yacht-auction"], (0, 1), bytes(SEED_BYTES), {}, lambda: between(arena))


def faults_of(played: Played) -> dict[Seat, Fault]:
    return dict(played.transcript.result.faults)


def plays(sandbox: DockerSandbox, programs: dict[str, Program], limits: Limits = SMALL) -> None:
    played = match(sandbox, [programs["honest"]] * 2, limits)
    judged(Fault.TIMEOUT not in faults_of(played).values(), [*played.transcript.prompts()])
    assert faults_of(played) == {} and [played.exits[seat].exit_code for seat in (0, 1)] == [0, 0]


def assert_fit(sandbox: DockerSandbox, programs: dict[str, Program], limits: Limits = SMALL) -> None:
    """Check that an honest match can be played, and that nothing is left of it."""
    unless_still(lambda: plays(sandbox, programs, limits))
    assert rooms_of(sandbox._walls[-1]) == []


def wall_of(sandbox: DockerSandbox, limits: Limits = SMALL) -> Wall:
    return sandbox._wall(limits.cpus)


def leave_only(wall: Wall, more_bytes: int) -> None:
    """Let a wall have only so much more memory than it has now."""
    group, usage, limit = wall.groups.get("memory"), "memory.usage_in_bytes", "memory.limit_in_bytes"
    if group is None:
        group, usage, limit = wall.groups[""], "memory.current", "memory.max"
    (group / limit).write_text(str(int((group / usage).read_text()) + more_bytes))


def test_rooms_are_made_and_end_beside_crowds_on_their_processor(
    docker_sandbox: DockerSandbox, programs: dict[str, Program]
) -> None:
    with contextlib.ExitStack() as open_boxes:
        crowds: list[Room] = []
        for _ in range(CROWDS):
            box = open_boxes.enter_context(closing(docker_sandbox.open(programs["crowd"], PINNED)))
            assert isinstance(box, Room)
            box.start()
            crowds.append(box)
        wall, theirs = crowds[0]._wall, set(rooms_of(crowds[0]._wall))
        for _ in range(2):
            before_ns = [used_ns(box) for box in crowds]
            unless_still(lambda: plays(docker_sandbox, programs, PINNED))
            assert set(rooms_of(wall)) == theirs and not wall.broken
            for box, so_far_ns in zip(crowds, before_ns, strict=True):
                assert until(lambda: used_ns(box) > so_far_ns + NS_PER_MS, 60), "the crowd goes on"  # noqa: B023
        assert all(stop(box, 0).lingered for box in crowds)
        assert docker_sandbox._walls == [wall] and not wall.broken


def used_ns(box: Room) -> int:
    assert box._meter is not None
    return box._meter.cpu_ns() or 0


@pytest.mark.parametrize("seat", [0, 1])
def test_a_crowd_is_convicted_that_is_busy_while_its_opponents_room_is_made(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], seat: Seat
) -> None:
    wall = wall_of(docker_sandbox, PINNED)
    players = [programs["crowd"], programs["honest"]]

    def ends_as_it_should() -> None:
        played = match(docker_sandbox, players[:: 1 - 2 * seat], PINNED)
        judged(faults_of(played) == {seat: Fault.TIMEOUT}, faults_of(played))
        assert played.exits[seat].lingered and played.exits[1 - seat].exit_code == 0

    unless_still(ends_as_it_should)
    assert_fit(docker_sandbox, programs, PINNED)
    assert docker_sandbox._walls == [wall] and sorted(processes_of(wall)) == sorted(makers_of(wall))


def starve(wall: Wall) -> None:
    """Let a wall's launcher and maker have a thousandth of a processor, and not its rooms."""
    if "cpu" in wall.groups:
        group = wall.groups["cpu"] / "starved"
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text("1000000")
        (group / "cpu.cfs_quota_us").write_text("1000")
        for pid in makers_of(wall):
            (group / "cgroup.procs").write_text(str(pid))
    else:
        (wall.groups[""] / "launcher" / "cpu.max").write_text("1000 1000000")


def test_a_starved_launcher_is_our_failure_and_another_takes_its_place(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it still does in time counts."""
    causes = set()
    monkeypatch.setattr(rooms, "ACK_TIMEOUT_S", 0.5)
    wall = wall_of(docker_sandbox)
    starve(wall)
    for _ in range(TRIES):
        try:
            assert faults_of(match(docker_sandbox, [programs["honest"]] * 2)) == {}
        except TransportError as error:
            causes.add(error.cause)
        if wall.broken:
            break
    assert wall.broken and causes <= {"container-stuck", "container-died"}
    monkeypatch.undo()
    assert_fit(docker_sandbox, programs)
    assert wall not in docker_sandbox._walls and not wall.groups.get("pids", wall.groups[""]).exists()


@pytest.mark.parametrize("left_bytes", [0, MIB // 8, MIB // 2])
def test_a_room_for_which_its_wall_has_no_memory_is_our_failure(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], left_bytes: int
) -> None:
    assert_fit(docker_sandbox, programs)
    wall = wall_of(docker_sandbox)
    leave_only(wall, left_bytes)
    with pytest.raises(TransportError) as caught:
        match(docker_sandbox, [programs["honest"]] * 2)
    assert caught.value.cause in {"container-died", "host-memory"}
    assert_fit(docker_sandbox, programs)
    assert wall not in docker_sandbox._walls
    assert not wall.groups.get("pids", wall.groups[""]).exists()


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("killed", ["the bot", "its warden", "the maker", "the launcher"])
def test_whoever_is_killed_when_a_walls_memory_is_full_the_match_is_void(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], killed: str, seat: Seat
) -> None:
    """The bot takes no more than it may, but its wall has less. The kernel can kill only the one."""
    players = [programs["hungry"], programs["honest"]][:: 1 - 2 * seat]
    wall = wall_of(docker_sandbox)

    @cache  # at the first exchange
    def short_of_memory(arena: Arena) -> None:
        room = arena._boxes[seat]
        assert isinstance(room, Room)
        bot = leader_of(room)
        warden = int(Path(f"/proc/{bot}/stat").read_text().rpartition(")")[2].split()[1])
        launcher, maker = makers_of(wall)
        victim = {"the bot": bot, "its warden": warden, "the maker": maker, "the launcher": launcher}[killed]
        for pid in processes_of(wall):
            Path(f"/proc/{pid}/oom_score_adj").write_text("1000" if pid == victim else "0")
        leave_only(wall, 8 * MIB)

    with pytest.raises(TransportError) as caught:
        match(docker_sandbox, players, between=short_of_memory)
    assert caught.value.cause in {"host-memory", "container-died"}
    assert faults_of(match(docker_sandbox, players)) == {}, "the next match has another wall"
    assert wall not in docker_sandbox._walls and not wall.groups.get("pids", wall.groups[""]).exists()


@pytest.mark.parametrize("seat", [0, 1])
def test_a_bot_that_fills_its_own_memory_is_convicted_and_takes_nothing_down(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], seat: Seat
) -> None:
    less = Limits(32 * MIB, SMALL.processes)
    with closing(docker_sandbox.open(programs["honest"], less)) as beside:
        beside.start()
        wall = wall_of(docker_sandbox)
        played = match(docker_sandbox, [programs["hungry"], programs["honest"]][:: 1 - 2 * seat], less)
        assert faults_of(played) == {seat: Fault.MEMORY}
        assert (played.exits[seat].signal, played.exits[1 - seat].exit_code) == (9, 0)
        assert stop(beside, 0).lingered, "a room beside goes on"
    assert_fit(docker_sandbox, programs)
    assert docker_sandbox._walls == [wall] and not wall.broken


@pytest.mark.parametrize("most", [1, 2], ids=["the first room's", "the second room's"])
def test_a_rooms_group_that_the_kernel_does_not_make_is_our_failure(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], most: int
) -> None:
    """A wall has one group more, its launcher's."""
    wall = wall_of(docker_sandbox)
    (wall.groups[""] / "cgroup.max.descendants").write_text(str(most))
    with pytest.raises(SandboxError, match=f"no room could be made: .*{FULL}"):
        match(docker_sandbox, [programs["honest"]] * 2)
    assert rooms_of(wall) == [] and sorted(processes_of(wall)) == sorted(makers_of(wall))
    assert_fit(docker_sandbox, programs)


def where_hybrid(test: Callable[..., None]) -> Callable[..., None] | None:
    """Leave a test out where all control groups are unified: there the engine makes a wall's group."""
    return test if HYBRID else None


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give walls a parent of this test's own in every hierarchy; return the unified one."""
    name = f"deadheat_test_{os.getpid()}.slice"
    monkeypatch.setattr(cgroup, "OWN_GROUPS", name)
    monkeypatch.setattr(cgroup, "parent", lambda building, systemd: name if systemd else f"/{name}")
    group = CONTROL_GROUPS / "unified" / name
    group.mkdir()
    yield group
    for left in CONTROL_GROUPS.glob(f"*/{name}"):
        remove_group(left)


@where_hybrid
@pytest.mark.parametrize("most", [0, 1], ids=["its own", "its launcher's"])
def test_a_walls_group_that_the_kernel_does_not_make_is_our_failure(
    parent: Path, docker_sandbox: DockerSandbox, programs: dict[str, Program], tmp_path: Path, most: int
) -> None:
    """A wall without its unified group would measure less."""
    (parent / "cgroup.max.descendants").write_text(str(most))
    for _ in range(2):
        with pytest.raises(SandboxError, match=f"control groups.*{FULL}"):
            match(docker_sandbox, [programs["honest"]] * 2)
        assert own_containers(tmp_path / "run") == [] and [*(tmp_path / "run").iterdir()] == []
        assert [*CONTROL_GROUPS.glob(f"*/{parent.name}/*/")] == []
    (parent / "cgroup.max.descendants").write_text("max")
    assert_fit(docker_sandbox, programs)
    docker_sandbox.close()


@where_hybrid
def test_groups_that_killed_owners_left_are_swept_when_there_is_room_for_no_more(
    parent: Path, docker_sandbox: DockerSandbox, programs: dict[str, Program]
) -> None:
    for number in range(GROUPS_OF_A_MATCH):
        (parent / f"box-left-{number}").mkdir()
    (parent / "cgroup.max.descendants").write_text(str(GROUPS_OF_A_MATCH))
    with pytest.raises(SandboxError, match=f"control groups.*{FULL}"):
        match(docker_sandbox, [programs["honest"]] * 2)
    docker_sandbox.sweep()
    assert_fit(docker_sandbox, programs)
    docker_sandbox.close()


def test_a_room_takes_over_no_group_that_has_its_name(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kernel counted there, such as lack of memory, was somebody else's."""
    monkeypatch.setattr(rooms, "_numbers", itertools.count(7))
    wall = wall_of(docker_sandbox)
    taken = wall.groups.get("memory", wall.groups.get("", Path())) / "room-7"
    taken.mkdir()
    with subprocess.Popen(["sleep", "600"]) as somebody, contextlib.ExitStack() as at_last:
        at_last.callback(somebody.kill)
        (taken / "cgroup.procs").write_text(str(somebody.pid))
        with pytest.raises(SandboxError, match=f"no room could be made: .*{os.strerror(errno.EEXIST)}.*room-7"):
            match(docker_sandbox, [programs["honest"]] * 2)
        assert rooms_of(wall) == [taken] and (taken / "cgroup.procs").read_text().split() == [str(somebody.pid)]
    assert_fit(docker_sandbox, programs)
    assert wall not in docker_sandbox._walls
    assert not taken.exists()


def test_of_a_room_for_which_one_hierarchy_is_full_nothing_is_left_in_the_others(
    docker_sandbox: DockerSandbox, programs: dict[str, Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 1 limits groups only by numbers for the whole machine: 65,535 of memory."""
    wall = wall_of(docker_sandbox)
    last = [wall.groups[name] for name in (*rooms.JOINED, "") if name in wall.groups][-1]
    mkdir = Path.mkdir

    def full(path: Path, *arguments: Any, **options: Any) -> None:
        if path.parent == last:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        mkdir(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(SandboxError, match=f"no room could be made: .*{os.strerror(errno.ENOSPC)}"):
            match(docker_sandbox, [programs["honest"]] * 2)
    assert rooms_of(wall) == [] and sorted(processes_of(wall)) == sorted(makers_of(wall))
    assert_fit(docker_sandbox, programs)
