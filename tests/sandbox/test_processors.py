"""One registry of processors for everybody on a machine."""

import itertools
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deadheat.league.config import Settings
from deadheat.sandbox.box import Limits
from deadheat.sandbox.cgroup import ALONE, MOST, SHARED, Parent, parent, wanted_weight
from deadheat.sandbox.containers import ContainerBox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.check import reference_program
from deadheat.sandbox.host.slots import (
    NAME,
    QUEUE,
    RETRY_SECONDS,
    Holder,
    NoRegistry,
    Processors,
    Slots,
    _shown,
    shared_folder,
)
from deadheat.sandbox.rooms import Room
from tests.sandbox.boxes import until

HOLDER = """
import sys, time
from pathlib import Path
from deadheat.sandbox.host.slots import Processors
cpus = [int(cpu) for cpu in sys.argv[2].split(",")]
hold = Processors(Path(sys.argv[1])).some(len(cpus), cpus)
print("held" if hold else "taken", flush=True)
sys.stdin.read()
"""


def holding(folder: Path, cpus: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", HOLDER, str(folder), cpus]
    environment = {"PYTHONPATH": str(root / "src")}
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
    assert started.stdout is not None and started.stdout.readline() == "held\n"
    return started


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_processor_has_one_holder_and_the_kernel_knows_who(tmp_path: Path) -> None:
    ours = Processors(tmp_path)
    other = holding(tmp_path, "0,1")
    try:
        assert ours.some(1, [1]) is None and ours.some(2, [1, 2]) is None
        with ours.some(1, [2]) or pytest.fail("a failed attempt keeps nothing"):
            pass
        (holder,) = ours.holders()
        assert (holder.pid, holder.cpus) == (other.pid, (0, 1))
        assert str(holder).startswith("processors 0, 1: ") and f"process {other.pid}" in str(holder)
    finally:
        end(other)
    with ours.some(2, [0, 1]) or pytest.fail("a killed holder's are free at once"):
        pass


def test_a_holders_command_is_shown_as_people_know_it(tmp_path: Path) -> None:
    script = tmp_path / "a folder" / "deadheat"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nsleep 1000; echo\n")
    script.chmod(0o755)
    words = ["tournament", "yacht-auction", *(f"bot-{number}" for number in range(100))]
    started = subprocess.Popen([script, *words], start_new_session=True)
    holder = Holder(started.pid, (0,))
    try:
        give_up_at = time.monotonic() + 10
        while "tournament" not in (told := str(holder)) and time.monotonic() < give_up_at:
            time.sleep(0.001)  # until it has become another program, whose arguments appear a moment later
        assert told.startswith("processor 0: deadheat tournament yacht-auction bot-0 bot-1 ")
        assert f"… (process {started.pid}, " in told
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
        assert str(holder).startswith("processor 0: deadheat (process"), "of one that has ended the name remains"
        started.wait()
    assert str(holder) == f"processor 0: process {started.pid}"


def test_a_servers_own_processes_are_shown_as_commands_of_deadheat() -> None:
    assert _shown(["/srv/env/bin/python", "-m", "deadheat.cli.main", "jobs", "play", "1"]) == "deadheat jobs play 1"
    assert _shown(["/env/bin/python", "-E", "/env/bin/deadheat", "run"]) == "deadheat run"
    assert _shown(["/bin/sh", "-c", "sleep 1"]) == "sh -c sleep 1"
    assert _shown(["/usr/bin/python3.13", "-m", "pytest"]) == "python3.13 -m pytest"
    assert _shown(["python3", "-c", "import time\n\ntime.sleep(1)\n"]) == "python3 -c import time time.sleep(1)"


def test_those_who_wait_come_before_those_who_let_go(tmp_path: Path) -> None:
    ours, got = Processors(tmp_path), []
    first = ours.some(1, [0])
    assert first is not None
    assert not ours.wanted()
    waiter = threading.Thread(target=lambda: got.append(Processors(tmp_path).take(1, [0])), daemon=True)
    waiter.start()
    assert until(ours.wanted, 60)
    first.close()
    second = ours.take(1, [0, 1])  # waits behind the other, which takes 0
    waiter.join()
    assert (got[0].cpus, second.cpus) == ((0,), (1,))
    second.close()
    got[0].close()


def test_waiting_ends_by_an_exception(tmp_path: Path) -> None:
    ours = Processors(tmp_path)
    with ours.some(1, [0]) or pytest.fail("free"), pytest.raises(KeyboardInterrupt):
        ours.take(1, [0], waiting=lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    assert not ours.wanted()


def test_slots_and_others_keep_off_each_others_processors(tmp_path: Path) -> None:
    slots, ours = Slots(tmp_path, "0,1;2,3"), Processors(tmp_path)
    with ours.some(1, [1]) or pytest.fail("free"), slots.take() as cpus:
        assert cpus == (2, 3)
        assert ours.some(1, [3]) is None
        with ours.take(1, [3, 2, 0]) as hold:
            assert hold.cpus == (0,)


def test_the_league_does_not_wait_for_others_without_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for those who hold its processors, nor behind those who wait for more than the league leaves free."""
    monkeypatch.setattr("deadheat.sandbox.host.slots.PATIENCE_SECONDS", 1)
    first, second, ours = Slots(tmp_path, "0;1"), Slots(tmp_path, "0;1"), Processors(tmp_path)
    with ours.some(2, [0, 1]) or pytest.fail("free"), ours.locked(QUEUE) or pytest.fail("free"):
        assert [holder.pid for holder in first.others()] == [os.getpid()]
        with first.take() as cpus, second.take() as more:
            assert {cpus, more} == {(0,), (1,)}
            assert first.others() == [], "the league has its slots"
            third = Slots(tmp_path, "0;1").take(waiting=interrupted_at(100))
            with pytest.raises(KeyboardInterrupt), third:
                pytest.fail("no slot has two matches")


@pytest.mark.parametrize("spec", ["0", "0;1;2;3"])
def test_more_slots_do_not_shorten_the_leagues_patience(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadheat.sandbox.host.slots.PATIENCE_SECONDS", 10.5 * RETRY_SECONDS)
    slots, rounds = Slots(tmp_path, spec), itertools.count()
    held = Processors(tmp_path).some(4, [0, 1, 2, 3]) or pytest.fail("free")
    with held, slots.take(waiting=lambda: None if next(rounds) < 60 else pytest.fail("it waits without bound")):
        assert next(rounds) == 11


def test_who_needs_a_slot_briefly_comes_before_the_next_series(tmp_path: Path) -> None:
    """A person's prompt waited behind series that polled at the right moment."""
    ours, slots, got = Processors(tmp_path), Slots(tmp_path, "0"), []
    with slots.take():
        person = threading.Thread(target=lambda: got.append(_briefly(tmp_path)), daemon=True)
        person.start()
        assert until(lambda: _is_locked(ours, "first-0"), 60)
        series = Slots(tmp_path, "0").take(waiting=interrupted_at(20))
        with pytest.raises(KeyboardInterrupt), series:
            pytest.fail("the slot is taken")
    person.join()
    with slots.take():
        assert got == [(0,)]


def _is_locked(ours: Processors, name: str) -> bool:
    if (hold := ours.locked(name)) is not None:
        hold.close()
    return hold is None


def _briefly(folder: Path) -> tuple[int, ...]:
    with Slots(folder, "0").take(only=(0,)) as cpus:
        return cpus


def interrupted_at(round_number: int) -> Callable[[], None]:
    rounds = itertools.count(1)

    def waiting() -> None:
        if next(rounds) == round_number:
            raise KeyboardInterrupt

    return waiting


def test_the_league_takes_what_is_free_before_it_shares(tmp_path: Path) -> None:
    slots, ours = Slots(tmp_path, "0;1"), Processors(tmp_path)
    with ours.some(1, [0]) or pytest.fail("free"), slots.take() as cpus:
        assert cpus == (1,) and not ours.wanted()


def test_a_holder_is_named_in_public_without_its_arguments() -> None:
    assert Holder(os.getpid(), (0,)).brief.endswith(f" of {pwd.getpwuid(os.geteuid()).pw_name}")
    assert Holder(0, (0,)).brief == "another program"


def test_the_folder_is_for_all_users_and_no_link_is_followed(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        folder = shared_folder([tmp_path / "missing", tmp_path])
        with Processors(folder).some(1, [0]) or pytest.fail("free"):
            assert (folder / "cpu-0").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o7777 == 0o1777
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (folder / "cpu-1").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic"):
        Processors(folder).some(1, [1])
    os.mkfifo(folder / "cpu-2")
    with pytest.raises(OSError, match="plain"):
        Processors(folder).some(1, [2])
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / NAME).symlink_to(folder)
    with pytest.raises(NoRegistry):
        shared_folder([linked])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_users_locks_count() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folders belong to one user
        parent = Path(name)
        parent.chmod(0o755)
        _lock_as_two_users(parent)


def _lock_as_two_users(parent: Path) -> None:
    folder = shared_folder([parent])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(65534)
            mine = Processors(shared_folder([parent])).some(1, [0])
            code = 0 if mine is not None and Processors(folder).some(1, [0]) is None else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (folder / "cpu-0").stat().st_uid == 65534
    with Processors(folder).some(1, [0]) or pytest.fail("root locks another user's file"):
        pass


V1, V2 = "cpu.shares", "cpu.weight"


def group(root: Path, name: str, file: str, value: int = 1) -> Path:
    """Make a group with one box in it; return the file with the box's own weight."""
    box = root / name / "box"
    box.mkdir(parents=True)
    (root / name / file).write_text(f"{value}\n")
    (box / file).write_text("7\n")
    return box / file


@pytest.mark.parametrize(("name", "file"), [("deadheat_play", V1), ("deadheat_build", V2), ("deadheat_play.slice", V2)])
def test_the_weight_is_that_of_the_parent_and_counted_by_processor(tmp_path: Path, name: str, file: str) -> None:
    own = group(tmp_path, name, file)
    there = Parent(own, processors=4)
    assert there.weigh(2.0) and there.weight == 2.0
    assert int((tmp_path / name / file).read_text()) == {V1: 8192, V2: 800}[file]
    assert own.read_text() == "7\n", "boxes keep their weights against each other"


@pytest.mark.parametrize("file", [V1, V2])
def test_more_than_the_kernel_accepts_is_not_asked_of_it(tmp_path: Path, file: str) -> None:
    there = Parent(group(tmp_path, "deadheat_play", file), processors=64)
    assert there.weigh(ALONE) and there.weight == there.greatest < ALONE
    assert int((tmp_path / "deadheat_play" / file).read_text()) == MOST[file]


@pytest.mark.parametrize("name", ["docker", "system.slice", "deadheat_players"])
def test_nobody_elses_group_is_touched(tmp_path: Path, name: str) -> None:
    there = Parent(group(tmp_path, name, V1, 1024))
    assert not there.weigh(ALONE) and there.weight is None
    assert (tmp_path / name / V1).read_text() == "1024\n"


def test_what_cannot_be_written_or_read_is_no_error(tmp_path: Path) -> None:
    own = group(tmp_path, "deadheat_play", V1, 1024)
    file = tmp_path / "deadheat_play" / V1
    file.unlink()
    file.mkdir()
    there = Parent(own)
    assert not there.weigh(1.0) and there.weight is None
    assert not Parent(None).weigh(1.0) and Parent(None).weight is None


def test_builds_outweigh_nobody() -> None:
    assert [wanted_weight(building, alone) for alone in (False, True) for building in (False, True)] == [
        SHARED,
        1,
        ALONE,
        1,
    ]


def test_systemd_wants_slices_and_no_dash_nests_them() -> None:
    assert [parent(building, systemd=False) for building in (False, True)] == ["/deadheat_play", "/deadheat_build"]
    slices = [parent(building, systemd=True) for building in (False, True)]
    assert slices == ["deadheat_play.slice", "deadheat_build.slice"] and not any("-" in name for name in slices)


@pytest.mark.containers
def test_boxes_are_in_our_groups_with_the_weight_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    program = reference_program(tmp_path / "program")
    for only_plays in (True, False):
        sandbox = DockerSandbox(Settings().image, tmp_path / "run", "", only_plays)
        for building in (False, True):
            box = sandbox.open(program, Limits(building=building))
            assert isinstance(box, Room | ContainerBox)
            try:
                box.start()
                asked = min(wanted_weight(building, only_plays), box.parent.greatest)
                assert box.parent.weigh(asked) and box.parent.weight == pytest.approx(asked, rel=0.01)
                box.favour(False)
                assert box.parent.weight == pytest.approx(asked, rel=0.01), "nothing else changes it"
            finally:
                box.close()
        sandbox.close()
