"""What a build cannot do. Shell lines stand in for a compiler that an author has taken over."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from deadheat.engine.core import STDERR_KEPT_BYTES
from deadheat.sandbox.archive import BadArchive, extract_program
from deadheat.sandbox.build import BUILD_SECONDS, BuildFailed, Built, build
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.languages import LANGUAGES
from tests.sandbox.boxes import alive_after_a_while

pytestmark = pytest.mark.containers

Building = Callable[..., Built]


@pytest.fixture
def built(docker_sandbox: DockerSandbox, tmp_path: Path) -> Building:
    (tmp_path / "sources").mkdir()

    def built(line: str, hear: Callable[[str], None] | None = None) -> Built:
        return build(docker_sandbox, tmp_path / "sources", replace(LANGUAGES["python"], build=line), hear=hear)

    return built


def failure(built: Building, line: str, hear: Callable[[str], None] | None = None) -> BuildFailed:
    with pytest.raises(BuildFailed) as caught:
        built(line, hear)
    return caught.value


def test_a_build_has_no_network(built: Building) -> None:
    devices = built("cat /proc/net/dev").log.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]
    for family in ("AF_INET", "AF_INET6", "AF_NETLINK"):
        failed = failure(built, f"python3 -c 'import socket; socket.socket(socket.{family})'")
        assert "Address family not supported" in failed.log
    assert "gaierror" in failure(built, "python3 -c 'import socket; socket.gethostbyname(\"debian.org\")'").log


def test_a_build_has_a_time_limit(built: Building, monkeypatch: pytest.MonkeyPatch) -> None:
    later_s = 0

    def hear(text: str) -> None:
        nonlocal later_s
        if text == "begun\n":
            later_s = BUILD_SECONDS

    monkeypatch.setattr("deadheat.sandbox.build.time", SimpleNamespace(monotonic=lambda: time.monotonic() + later_s))
    failed = failure(built, "echo begun; trap '' TERM; (while :; do :; done) & sleep 600", hear)
    assert str(failed) == f"the build took longer than {BUILD_SECONDS} s" and failed.log == "begun\n"


def test_a_build_is_heard_while_it_runs(built: Building) -> None:
    told: list[str] = []

    def hear(text: str) -> None:
        told.append(text)
        if len(set(told)) == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        built("n=0; while sleep 0.1; do n=$((n + 1)); echo line $n; done", hear)
    assert told[-1].startswith("line 1\nline 2\n")
    assert all(later.startswith(earlier) for earlier, later in pairwise(told))


def test_a_flood_is_heard_in_bounded_pieces(built: Building) -> None:
    told: list[str] = []
    built("timeout 3 yes 'a line like any other' || true; echo last", told.append)
    assert any("bytes left out" in text for text in told)
    assert max(len(text.encode()) for text in told) <= STDERR_KEPT_BYTES


def test_the_log_of_a_build_keeps_its_beginning_and_its_end(built: Building) -> None:
    log = built("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo last").log
    assert log.startswith("first\nxxx") and log.endswith("xxxlast\n") and "bytes left out" in log
    assert len(log) <= STDERR_KEPT_BYTES


def test_a_program_has_a_size_limit(built: Building) -> None:
    failed = failure(built, "for i in 1 2 3; do head -c 30000000 /dev/zero >$i; done")
    assert str(failed) == "the built program is larger than 64 MiB"
    assert failure(built, "head -c 70000000 /dev/zero >x").log.strip()  # even one file is too large


def test_a_build_has_bounded_room_and_processes(built: Building) -> None:
    filled = "i=0; while head -c 50000000 /dev/zero >$i; do i=$((i + 1)); done; ls | wc -l >&2; rm *; false"
    log = failure(built, filled).log
    assert "No space left on device" in log and log.split()[-1] == "6"
    processes = failure(built, "for i in $(seq 200); do sleep 50 & done")
    assert "Cannot fork" in processes.log or "Resource temporarily unavailable" in processes.log


def test_a_build_writes_nowhere_else(built: Building) -> None:
    for path in ("/x", "/bot/x", "/usr/bin/x", "/judge/x", "/proc/sys/kernel/x"):
        assert f"cannot create {path}: " in failure(built, f"echo >{path}").log
    assert built("ls /build | wc -l").log == "1\n"  # each build has its own folder


def test_processes_that_a_build_leaves_end_with_it(built: Building) -> None:
    long = str(20_000_000 + os.getpid())
    line = f"setsid sleep {long} & (trap '' TERM HUP; while :; do :; done) & echo left two"
    assert built(line).log == "left two\n"
    assert alive_after_a_while(long) == {}


def test_a_build_may_fill_every_inode_and_is_told_so(built: Building) -> None:
    failed = failure(built, "python3 -c 'for i in range(30000): open(str(i), \"x\").close()'")
    assert str(failed) == "the build command failed with exit code 1" and "No space left on device" in failed.log


def test_a_build_cannot_write_into_its_own_result(built: Building) -> None:
    """The script that packs the result is its parent, of the same user."""
    assert "Permission denied" in failure(built, "echo forged >/proc/$$/fd/1").log


def test_a_build_that_ends_its_own_script_has_failed(built: Building) -> None:
    assert str(failure(built, "kill -9 $$")) == "the build command failed with signal 9"
    assert str(failure(built, "kill -9 -1")) == "the build command failed with signal 9"
    assert str(failure(built, "chmod 0 .")).startswith("the build command failed with exit code ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ln -s /etc/passwd link", "special-file"),
        ("touch a && ln a b", "special-file"),
        ("mkfifo pipe", "special-file"),
        ("python3 -c 'import socket; socket.socket(1).bind(\"listening\")'", None),  # tar itself leaves sockets out
        ("touch \"$(printf 'a\\nb')\"", "bad-name"),
        ("python3 -c 'import os; os.makedirs(\"d/\" * 40)'", "bad-name"),
        ("touch lender && chmod 6755 lender", None),
    ],
)
def test_only_files_and_folders_leave_a_build(built: Building, tmp_path: Path, line: str, reason: str | None) -> None:
    program = tmp_path / "program"
    program.mkdir()
    tar = built(line).tar
    if reason is None:
        extract_program(tar, program, len(tar))
        assert (program / "lender").exists() == ("lender" in line)
    else:
        with pytest.raises(BadArchive) as caught:
            extract_program(tar, program, len(tar))
        assert caught.value.reason == reason
        assert list(program.iterdir()) == []
    assert not [path for path in program.rglob("*") if path.is_socket() or path.stat().st_mode & 0o7000]


def test_devices_are_not_even_made(built: Building) -> None:
    for kind in ("c 1 1", "b 254 0"):
        assert "Operation not permitted" in failure(built, f"mknod device {kind}").log
