"""Who is to blame for a missed deadline: the rule as a pure function, then in containers that share a processor."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import docker
import pytest

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Message, Reply, TransportError
from deadheat.engine.own_time import Evidence
from deadheat.sandbox.arena import _realtime
from deadheat.sandbox.attribution import Blame, Counters, between, while_silent
from deadheat.sandbox.box import Exit, Limits
from deadheat.sandbox.cgroup import TICK_NS, Cgroup, groups_of, join_unified, steal_ns, sweep_unified
from deadheat.sandbox.containers import LABEL
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.pipes import PipeTransport
from tests.sandbox.boxes import insist, python, until
from tests.stillness import judged, unless_still

LIMIT_MS = 500


def seen(wall_ms: float, **milliseconds: float) -> Evidence:
    """Make evidence from times in milliseconds."""
    times = {f"{name}_ns": int(value * NS_PER_MS) for name, value in milliseconds.items()}
    return Evidence(int(wall_ms * NS_PER_MS), **times)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("evidence", "stolen_ms"),
    [
        pytest.param(seen(500, cpu=0, full=0, leader_cpu=0, delay=0), 0, id="slept"),
        pytest.param(seen(500, cpu=501, full=0.1, leader_cpu=501, delay=0.1), 0, id="computed, alone: noise"),
        pytest.param(seen(500, cpu=253, full=248, leader_cpu=253, delay=248), 248, id="computed beside strangers"),
        pytest.param(
            seen(500, cpu=501, full=0.1, leader_cpu=125, delay=375), 0, id="its threads waited for each other"
        ),
        pytest.param(seen(500, cpu=254, full=247, leader_cpu=64, delay=400), 247, id="the same beside strangers"),
        pytest.param(
            seen(500, cpu=253, full=248, leader_cpu=1, delay=2.8), 248, id="a child computed beside strangers"
        ),
        pytest.param(seen(500, cpu=253, full=248, throttled=248), 0, id="our own quota"),
        pytest.param(seen(20, cpu=1, full=0, leader_cpu=1, delay=3.9), 3.9, id="shorter than the pressure's tick"),
        pytest.param(seen(500, cpu=253, leader_cpu=253, delay=248), 248, id="no pressure file"),
        pytest.param(seen(500, cpu=8, leader_cpu=2, delay=6), 0, id="no pressure file, threads forge a delay"),
        pytest.param(seen(900, cpu=850, full=0, leader_cpu=400, delay=1500), 0, id="a thread took its leader's place"),
        pytest.param(seen(900, cpu=850, leader_cpu=100, delay=850), 55, id="it computed for all but 50 ms"),
        pytest.param(seen(640, cpu=5, full=0, leader_cpu=0, delay=209), 20, id="a thread brought its waits along"),
        pytest.param(seen(3925, cpu=3237, full=675, leader_cpu=3237, delay=691), 691, id="the pressure missed some"),
        pytest.param(seen(500, cpu=0), 0, id="no signal at all"),
        pytest.param(seen(500, cpu=0, full=0, steal=30), 30, id="the hypervisor took something"),
        pytest.param(seen(504, cpu=0, full=0, referee=4), 4, id="the referee waited inside its write"),
        pytest.param(seen(504, cpu=0, full=3, unseen=4), 4, id="both waited, and it may have been at once"),
        pytest.param(seen(900, cpu=300, full=205, unseen=400, earlier=200), 600, id="it had waited before"),
        pytest.param(seen(900, cpu=300, full=650, unseen=400, earlier=200), 650, id="it waited all the while"),
        pytest.param(seen(1000, cpu=600, leader_cpu=600, delay=400, steal=300), 400, id="nothing is counted twice"),
        pytest.param(seen(500, full=500, steal=500, referee=500), 500, id="it is never more than the wall"),
    ],
)
def test_stolen_time(evidence: Evidence, stolen_ms: float) -> None:
    assert evidence.stolen_ns == int(stolen_ms * NS_PER_MS) and evidence.own_ns == evidence.wall_ns - evidence.stolen_ns


LIMIT_NS = LIMIT_MS * NS_PER_MS


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        pytest.param(seen(511, cpu=0), Blame.UNKNOWN, id="no signal says unknown"),
        pytest.param(seen(700, cpu=300, full=250), None, id="450 ms of its own so far"),
        pytest.param(seen(505, cpu=0, full=0), None, id="a wait may not be over yet"),
        pytest.param(seen(511, cpu=0, full=0), Blame.BOT, id="its own time is over"),
        pytest.param(seen(511, cpu=0, full=0, steal=10), None, id="the hypervisor took a tick"),
        pytest.param(seen(600_499, cpu=300, full=600_199), None, id="it gets next to nothing, for minutes"),
        pytest.param(seen(600_501, cpu=300, full=600_201), Blame.HOST, id="for ten minutes: the machine has failed"),
    ],
)
def test_while_silent(evidence: Evidence, verdict: Blame | None) -> None:
    assert while_silent(evidence, LIMIT_NS) is verdict


def test_nobody_is_convicted_in_the_middle_of_a_wait_that_no_counter_knows_yet() -> None:
    """A bot that needed 440 ms had these counters at nice 19 and a load of 20, 110 ms into its last wait."""
    seen_then = seen(2687.7, cpu=404.5, leader_cpu=404.5, delay=2173.4)
    assert while_silent(seen_then, LIMIT_NS) is Blame.BOT
    assert while_silent(seen_then, LIMIT_NS, waiting_ns=5 * NS_PER_MS) is None
    computed = seen(2700, cpu=500, leader_cpu=500, delay=2173)
    assert while_silent(computed, LIMIT_NS, waiting_ns=5 * NS_PER_MS) is Blame.BOT
    waits = seen(600_501, cpu=1, leader_cpu=1, delay=0)
    assert while_silent(waits, LIMIT_NS, waiting_ns=600_500 * NS_PER_MS) is Blame.HOST


@pytest.mark.parametrize("limit_ms", [1, 50, 500, 10_000])
def test_an_endless_loop_is_convicted_with_a_fiftieth_of_a_cpu_whatever_its_limit(limit_ms: int) -> None:
    walls = [limit_ms + past * 600 for past in range(1000)]
    verdicts = [while_silent(seen(wall, cpu=0.02 * wall, full=0.98 * wall), limit_ms * NS_PER_MS) for wall in walls]
    assert next(verdict for verdict in verdicts if verdict) is Blame.BOT


def test_what_is_left_of_a_bank_may_be_next_to_nothing_and_the_verdict_still_falls() -> None:
    assert while_silent(seen(11, cpu=0, full=0), 1) is Blame.BOT
    assert while_silent(seen(11, cpu=0, full=8), 1) is None
    assert while_silent(seen(600_001, cpu=0, full=600_001), 1) is Blame.HOST


@pytest.mark.parametrize(("cpu_ns", "signal"), [(10, "run-delay"), (None, "none")])
def test_a_first_thread_that_has_ended_is_no_lack_of_counters(cpu_ns: int | None, signal: str) -> None:
    """Otherwise, without a pressure file, a bot could make its match void by exiting at its deadline. Nothing is known
    only if the container has no counters at all.
    """
    evidence = between(Counters(cpu_ns=0, leader_cpu_ns=0, delay_ns=7), Counters(cpu_ns=cpu_ns), 2 * LIMIT_NS)
    assert evidence.signal == signal
    assert while_silent(evidence, LIMIT_NS) is (Blame.BOT if cpu_ns else Blame.UNKNOWN)


def test_a_frozen_container_is_never_guilty() -> None:
    frozen = between(Counters(0, 0), Counters(0, 0, frozen=True), 2 * LIMIT_NS)
    assert while_silent(frozen, LIMIT_NS) is Blame.UNKNOWN


def test_the_signal_that_was_used_is_named() -> None:
    both = seen(1, full=0, delay=0, cpu=0, leader_cpu=0)
    assert [e.signal for e in (both, seen(1, full=0), seen(1, delay=0), seen(1, cpu=0))] == [
        "pressure+run-delay",
        "pressure",
        "run-delay",
        "none",
    ]


def test_steal_is_read_for_the_boxs_own_cpus() -> None:
    text = b"cpu  1 1 1 1 1 1 1 30 0 0\ncpu0 1 1 1 1 1 1 1 10 0 0\ncpu1 1 1 1 1 1 1 1 20 0 0\nintr 5\n"
    tick_ns = NS_PER_S // os.sysconf("SC_CLK_TCK")
    assert [steal_ns(text, cpus) for cpus in ([], [1], [0, 1])] == [0, 20 * tick_ns, 20 * tick_ns]


def test_a_unified_group_of_the_engines_is_not_the_containers(tmp_path: Path) -> None:
    """Runtimes before runc 1.0 leave a container in the unified group of their service."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(
        "2:pids:/docker/x\n1:cpu,cpuacct:/docker/x\n0::/system.slice/engine.service\n"
    )
    assert {*groups_of(7, tmp_path, tmp_path)} == {"pids", "cpu", "cpuacct"}
    (tmp_path / "7" / "cgroup").write_text("2:pids:/docker/x\n0::/docker/x\n")
    assert {*groups_of(7, tmp_path, tmp_path)} == {"pids", ""}


def test_a_unified_group_that_is_everybodys_is_not_read(tmp_path: Path) -> None:
    """Beside some engines a container stays in the unified hierarchy's root: its pressure is the whole host's."""
    (tmp_path / "cgroup" / "unified").mkdir(parents=True)
    (tmp_path / "cgroup" / "unified" / "cgroup.procs").write_text("1\n2\n7\n")
    (tmp_path / "cgroup" / "unified" / "cpu.pressure").write_text("full avg10=0.00 avg60=0.00 total=5\n")
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "7" / "cgroup").write_text("0::/\n")
    (tmp_path / "proc" / "stat").write_text("cpu  0 0 0 0 0 0 0 3 0 0\n")
    groups = groups_of(7, tmp_path / "cgroup", tmp_path / "proc")
    assert groups == {}
    with closing(Cgroup(groups, proc=tmp_path / "proc")) as cgroup:
        assert cgroup.counters().full_ns is None


def test_a_container_without_a_unified_group_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container under gVisor beside groups of version 1 has none. A folder stands for the kernel's group, which
    another owner's sweep removes before a process is in it.
    """
    makes, swept = Path.mkdir, [True]

    def mkdir(path: Path, *arguments: Any, **chosen: Any) -> None:
        if not swept:
            makes(path, *arguments, **chosen)
        swept.clear()

    root = tmp_path / "cgroup"
    (root / "unified").mkdir(parents=True)
    (root / "cpuacct" / "x").mkdir(parents=True)
    (root / "cpuacct" / "x" / "cgroup.procs").write_text("7\n")
    monkeypatch.setattr(Path, "mkdir", mkdir)
    groups = {"cpuacct": root / "cpuacct" / "x"}
    found = join_unified(groups, 7, "box-1", root)
    group = root / "unified" / "deadheat" / "box-1"
    assert found == {**groups, "": group}
    assert (group / "cgroup.procs").read_text() == "7"
    its_own = {**groups, "": root / "unified" / "x"}
    assert join_unified(its_own, 7, "box-2", root) == its_own


def test_groups_of_killed_owners_are_removed(tmp_path: Path) -> None:
    for name in ("box-1", "box-2"):
        (tmp_path / "cgroup" / "unified" / "deadheat" / name).mkdir(parents=True)
    (tmp_path / "cgroup" / "unified" / "deadheat" / "box-1" / "room-7").mkdir()
    (tmp_path / "run" / "box-2").mkdir(parents=True)
    sweep_unified(tmp_path / "run", tmp_path / "cgroup")
    assert [group.name for group in (tmp_path / "cgroup" / "unified" / "deadheat").iterdir()] == ["box-2"]


@pytest.mark.parametrize("version", ["v1 and unified", "v1 alone", "v2"])
def test_counters_are_read_from_every_kind_of_host(tmp_path: Path, version: str) -> None:
    """The trees are as such kernels show them, with the figures of one box."""
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    (proc / "7").mkdir(parents=True)
    (proc / "stat").write_text("cpu  0 0 0 0 0 0 0 3 0 0\ncpu0 0 0 0 0 0 0 0 3 0 0\n")
    (proc / "8").mkdir()
    (proc / "8" / "schedstat").write_text("1000 77 3\n")
    v2 = {
        "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 total=5\n",
        "cpu.stat": "usage_usec 2\nuser_usec 1\nsystem_usec 1\nnr_throttled 0\nthrottled_usec 4\n",
        "cgroup.stat.local": "frozen_usec 6\n",
        "cgroup.events": "populated 1\nfrozen 1\n",
        "memory.events": "oom 3\noom_kill 8\n",
        "memory.peak": "4096\n",
    }
    v1 = {
        "cpuacct/x/cpuacct.usage": "2000\n",
        "memory/x/memory.limit_in_bytes": "5000\n",
        "cpu/x/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 4000\n",
        "memory/x/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 8\n",
        "memory/x/memory.max_usage_in_bytes": "4096\n",
        "freezer/x/freezer.state": "THAWED\n",
    }
    files, table = {}, ""
    if version != "v2":
        files = dict(v1)
        table = "".join(f"{n}:{c}:/x\n" for n, c in enumerate(("cpuacct", "cpu", "memory", "freezer"), 1))
    if version != "v1 alone":
        table += "0::/x\n"
        folder = "x" if version == "v2" else "unified/x"
        files |= {f"{folder}/{name}": text for name, text in v2.items()}
    (proc / "7" / "cgroup").write_text(table)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    cgroup = Cgroup(groups_of(7, root, proc), [0], leader=8, proc=proc)
    got = cgroup.counters()
    assert (got.cpu_ns, got.throttled_ns, got.steal_ns) == (2000, 4000, 3 * TICK_NS)
    assert got.frozen is (version != "v1 alone")
    assert (got.leader_cpu_ns, got.delay_ns) == (1000, 77)
    assert got.full_ns == (None if version == "v1 alone" else 5000)
    assert got.frozen_ns == (0 if version == "v1 alone" else 6000)
    assert cgroup.measured(Exit(0, None, False, b"")).peak_memory_bytes == 4096
    assert cgroup.killed_for_memory() is Blame.BOT
    if version == "v2":
        (root / "x/memory.events").write_text("oom 0\noom_kill 8\n")
        (root / "x/cpu.stat").write_text("usage_usec 5\n")
    else:  # it counts no hits of the limit, but the peak is at it
        (root / "memory/x/memory.limit_in_bytes").write_text(f"{2**30}\n")
        (root / "cpuacct/x/cpuacct.usage").write_text("5000\n")
    assert cgroup.killed_for_memory() is Blame.HOST  # one was killed, but not because of the box's own limit
    end = cgroup.measured(Exit(0, None, False, b""))
    # The leader's 1000 ns so far are the run's, whose other 1000 were spent before it began.
    assert (end.cpu_ns, end.peak_memory_bytes) == (4000, 4096)
    nobody = root / ("x/memory.events" if version == "v2" else "memory/x/memory.oom_control")
    nobody.write_text("oom 0\noom_kill 0\n")
    assert cgroup.killed_for_memory() is None
    cgroup.close()


WORKER = """
import os, sys, threading, time
def burn(seconds):  # of this thread's own CPU time
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def child(seconds):
    pid = os.fork()
    if pid == 0: burn(seconds); os._exit(0)
    os.waitpid(pid, 0)
def processes(count, seconds):
    pids = []
    for i in range(count):
        pid = os.fork()
        if pid == 0: burn(seconds); os._exit(0)
        pids.append(pid)
    for pid in pids: os.waitpid(pid, 0)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


@contextlib.contextmanager
def strangers(count: int, cpu: int) -> Iterator[None]:
    """Run busy processes outside of every container on one CPU."""
    code = f"import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass"
    running = [subprocess.Popen([sys.executable, "-Sc", code]) for _ in range(count)]
    try:
        assert until(lambda: all(os.sched_getaffinity(process.pid) == {cpu} for process in running), 60)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


Verdict = Callable[..., tuple[str, dict[str, object]]]


@pytest.fixture
def verdict(docker_sandbox: DockerSandbox, tmp_path: Path) -> Verdict:
    """Let a bot pinned to CPU 0 do some work against a limit of 0.5 s; return how it ended, and the evidence."""
    return partial(_verdict, docker_sandbox, tmp_path)


def _verdict(
    sandbox: DockerSandbox, tmp_path: Path, work: str, beside: int, freeze: bool = False
) -> tuple[str, dict[str, object]]:
    with closing(sandbox.open(python(tmp_path, WORKER), Limits(cpus="0"))) as box:
        transport = PipeTransport([box.start()])
        assert transport.exchange([Message(0, "pass", 20 * NS_PER_S)])[0].line == "done"
        with strangers(beside, cpu=0), _realtime(), frozen(tmp_path) if freeze else contextlib.nullcontext():
            try:
                reply: Reply = transport.exchange([Message(0, work, LIMIT_MS * NS_PER_MS)])[0]
            except TransportError as error:
                return error.cause, dict(error.evidence)
        return (str(reply.fault) if reply.fault else "in time"), (reply.evidence.as_dict() if reply.evidence else {})


@contextlib.contextmanager
def frozen(tmp_path: Path) -> Iterator[None]:
    client = docker.APIClient(version="auto")
    (ours,) = [c["Id"] for c in client.containers() if str(tmp_path) in c["Labels"].get(LABEL, "")]
    insist(lambda: client.pause(ours))
    try:
        yield
    finally:
        insist(lambda: client.unpause(ours))
        client.close()


@pytest.mark.containers
@pytest.mark.parametrize(
    ("work", "beside", "expected"),
    [
        pytest.param("burn(0.1)", 0, {"in time"}, id="quick, alone"),
        pytest.param("burn(0.3)", 4, {"in time"}, id="0.3 s of work beside four strangers"),
        # The guilty never answer: an answer may have been there ever since the host last let the referee look.
        pytest.param("time.sleep(60)", 4, {"timeout"}, id="sleeps beside four strangers"),
        pytest.param("burn(60)", 4, {"timeout"}, id="endless work beside four strangers: the watch shows it"),
        pytest.param("processes(4, 15)", 0, {"timeout"}, id="four of its own on one CPU"),
        pytest.param("processes(4, 15)", 4, {"timeout"}, id="four of its own beside four strangers"),
        pytest.param("child(0.3)", 4, {"in time"}, id="a child works while its parent waits"),
    ],
)
def test_in_a_container_with_strangers_on_its_cpu(verdict: Verdict, work: str, beside: int, expected: set[str]) -> None:
    """Own time decides, so the verdict is the same beside strangers as alone."""

    def attempt() -> None:
        how, evidence = verdict(work, beside)
        judged(how in expected, evidence)

    unless_still(attempt)


@pytest.mark.containers
def test_a_container_frozen_from_outside_is_the_hosts_doing(verdict: Verdict) -> None:
    how, evidence = verdict("burn(0.01)", 0, freeze=True)
    assert how == "host-unknown"
    assert evidence["frozen"] is True


@pytest.mark.containers
def test_a_conviction_keeps_its_evidence(verdict: Verdict) -> None:
    how, evidence = verdict("time.sleep(60)", 0)
    assert how == Fault.TIMEOUT
    assert evidence["own_ns"] > LIMIT_MS * NS_PER_MS  # type: ignore[operator]
    assert evidence["signal"] in ("pressure+run-delay", "pressure", "run-delay")
