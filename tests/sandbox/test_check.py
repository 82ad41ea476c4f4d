"""The check of a host reads its configuration, and detects a wrong clock."""

import time
from pathlib import Path
from unittest import mock

import pytest

from deadheat.engine.core import NS_PER_MS, Reply
from deadheat.engine.own_time import Evidence
from deadheat.sandbox import pipes
from deadheat.sandbox.attribution import Counters
from deadheat.sandbox.box import Meter, Sandbox, SandboxError
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host import check
from deadheat.sandbox.host.check import (
    EACH,
    Host,
    check_host,
    doubtful,
    reference_program,
    shares,
    stat,
    steal_told,
)
from deadheat.sandbox.local import LocalSandbox
from tests.sandbox.boxes import Metered
from tests.stillness import judged, unless_still

ROUNDS = 2


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host without any of the files that the check reads."""
    return Host(tmp_path)


def put(host: Host, path: str, text: str) -> None:
    file = host.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_hosts_configuration_is_read(host: Host) -> None:
    put(host, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    put(host, "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
    put(host, "proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n")
    put(host, "proc/sys/fs/epoll/max_user_watches", "1048576\n")
    for cpu, siblings in enumerate(("0-1", "0-1", "2")):
        put(host, f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "powersave\n")
        put(host, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{siblings}\n")
    facts = check_host(LocalSandbox(), (), 1, host=host).facts
    assert (facts.cgroups, facts.clock, facts.swap, facts.waiters) == ("2", "hpet", True, 1_048_576)
    assert (facts.governors, facts.shared_cores) == (("powersave",), "0-1")
    assert facts.steal_share == facts.busy_share == 0  # there was no /proc/stat


@pytest.mark.parametrize(("folder", "version"), [("sys/fs/cgroup/cpu", "1"), ("sys/fs/cgroup/unified", "1+2")])
def test_the_version_of_control_groups_is_told(host: Host, folder: str, version: str) -> None:
    (host.root / folder).mkdir(parents=True)
    assert check_host(LocalSandbox(), (), 1, host=host).facts.cgroups == version


def test_the_memory_is_compared_with_what_bots_may_use() -> None:
    enough, short = (check_host(LocalSandbox(), (), 1, bots=bots).findings for bots in (1, 10**6))
    assert [told for told in short if told not in enough and "voids its match" in told.text]


def test_what_the_hypervisor_took_is_a_share_of_all_time(host: Host) -> None:
    put(host, "proc/stat", "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2\n")
    before = stat(host)
    put(host, "proc/stat", "cpu  140 0 60 820 60 0 0 20 0 0\ncpu0 1 2\n")
    assert shares(before, stat(host)) == (0.2, 0.7) and shares(before, before) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("flags", "stolen", "told"), [("fpu hypervisor", 0, False), ("fpu hypervisor", 3, True), ("fpu vme", 0, True)]
)
def test_a_hypervisor_that_tells_nothing_is_noticed(host: Host, flags: str, stolen: int, told: bool) -> None:
    put(host, "proc/cpuinfo", f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: none\n")
    put(host, "proc/stat", f"cpu  100 0 50 800 50 0 0 {stolen} 0 0\n")
    assert steal_told(host) is told


def test_reference_bots_are_judged_as_is_known_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.sandbox.host.check.PAUSE_SECONDS", 0.1)  # bots come to rest even on a busy host

    def attempt() -> None:
        told: list[int] = []
        facts = check_host(LocalSandbox(), (), ROUNDS, lambda: told.append(1)).facts
        assert (facts.innocent, facts.guilty) == (2 * ROUNDS, 2 * ROUNDS)
        judged((facts.convicted, facts.acquitted) == (0, 0), facts)
        assert "run-delay" in facts.signals
        assert len(told) == facts.innocent + facts.guilty  # one call between two prompts, where a heartbeat is allowed

    unless_still(attempt)


def test_a_clock_that_runs_too_slowly_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "monotonic_ns", lambda: time.monotonic_ns() // 2)
    report = check_host(LocalSandbox(), (), ROUNDS)
    assert report.facts.acquitted > 0 and not report.fit


def test_a_clock_that_runs_too_fast_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # The bots' clock runs slowly instead: a fast clock would make the referee oversleep and give that time back.
    monkeypatch.setattr(check, "CODE", check.CODE.replace("/ 1000", "/ 800"))
    report = check_host(LocalSandbox(), (), ROUNDS)
    assert report.facts.convicted > 0 and not report.fit


def test_a_host_that_sees_no_stolen_time_is_unfit() -> None:
    report = check_host(Metered(Meter()), (), 1)
    assert report.facts.signals == ()
    assert (report.facts.convicted, report.facts.escaped) == (0, EACH), "unknown convicts nobody"
    assert report.reasons[0].startswith("Nothing shows whether")


class Frozen(Meter):
    """A meter by which all of a bot's time was stolen."""

    def counters(self, fresh: bool = True) -> Counters:
        return Counters(cpu_ns=0, full_ns=time.monotonic_ns())


def test_where_everything_is_stolen_the_guilty_escape_and_the_host_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "REFERENCE_WATCH_NS", NS_PER_MS)
    report = check_host(Metered(Frozen()), (), 1)
    assert report.facts.convicted == 0
    assert report.facts.acquitted + report.facts.escaped == EACH
    assert not report.fit


@pytest.mark.parametrize(
    ("evidence", "doubt"),
    [
        (None, False),
        (Evidence(53_000_000, delay_ns=9_000_000, full_ns=8_900_000), False),
        (Evidence(53_000_000, delay_ns=9_000_000, full_ns=4_000_000), True),  # it waited before it was asked
        (Evidence(53_000_000, delay_ns=9_000_000), False),  # no counter shows it
        (Evidence(53_000_000, steal_ns=4_000_000), True),
        (Evidence(53_000_000, unseen_ns=4_000_000), True),
        (Evidence(53_000_000, steal_ns=1_000_000, unseen_ns=3_000_000), True),
        (Evidence(53_000_000, unseen_ns=1_500_000), False),  # that explains only a part
    ],
)
def test_what_counted_only_because_this_host_stood_still_is_in_doubt(evidence: Evidence | None, doubt: bool) -> None:
    late = Reply("OK", 53_000_000, stolen_ns=5_000_000, evidence=evidence)
    assert doubtful(late, 50_000_000) is doubt
    early = Reply("OK", 26_500_000, evidence=evidence)
    assert not doubtful(early, 50_000_000), "it counted however late this host was"


def test_a_busy_host_does_not_keep_a_check_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bot gets a processor here, so only the ends of watches decide. A round more begins than there is time for."""
    monkeypatch.setattr(check, "LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(check, "REFERENCE_WATCH_NS", 100_000_000)
    report = check_host(Metered(Frozen()), (), 50)
    assert 0 < report.facts.innocent < EACH * 50
    assert report.facts.guilty == report.facts.innocent


def test_a_reference_bot_that_cannot_start_is_our_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.sandbox.host.check.CODE", "raise SystemExit")
    with pytest.raises(SandboxError, match="a reference bot exited"):
        check_host(LocalSandbox(), (), 1)


def test_without_a_box_there_is_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = mock.Mock(side_effect=SandboxError("no-engine", "no Docker Engine answers"))
    monkeypatch.setattr(LocalSandbox, "open", refuse)
    with pytest.raises(SandboxError, match="no Docker Engine answers"):
        check_host(LocalSandbox(), (), 1)


@pytest.mark.containers
def test_this_host_judges_as_it_should_however_busy_it_is(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:

    def attempt() -> None:
        report = check_host(docker_sandbox, (0,), 4)
        judged((report.facts.convicted, report.facts.acquitted) == (0, 0), report.facts)

    unless_still(attempt)
    docker_sandbox.close()
    assert list((tmp_path / "run").iterdir()) == []  # no box is left, and no wall


@pytest.mark.containers
def test_a_clock_that_lies_is_found_out_in_containers(docker_sandbox: Sandbox, monkeypatch) -> None:
    monkeypatch.setattr(pipes, "monotonic_ns", lambda: time.monotonic_ns() // 2)
    report = check_host(docker_sandbox, (0,), 4)
    assert report.facts.acquitted and not report.fit


def test_the_reference_program_is_one_file(tmp_path: Path) -> None:
    program = reference_program(tmp_path)
    assert [path.name for path in program.directory.iterdir()] == ["main.py"]
