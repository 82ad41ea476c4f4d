"""What happens to a bot in its box, and what its matches leave behind. See also `test_insider` and `test_rooms`."""

import itertools
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from unittest import mock

import docker
import pytest
from requests.exceptions import ReadTimeout

from deadheat.engine.core import NS_PER_S, Fault, Message
from deadheat.league.config import Settings
from deadheat.sandbox.box import Box, Limits, Program, SandboxError
from deadheat.sandbox.containers import LABEL
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.sandbox.rooms import Room
from deadheat.sandbox.runtimes import Runtime
from deadheat.workers.environment import describe, fingerprint
from tests.conftest import JUDGE_IMAGE
from tests.sandbox.boxes import INSIDER, SMALL, asker, inside, insist, leader_of, own_containers, python, stop

pytestmark = pytest.mark.containers


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return python(tmp_path, INSIDER)


@pytest.fixture
def box(docker_sandbox: DockerSandbox, program: Program) -> Iterator[Room]:
    with closing(docker_sandbox.open(program, SMALL)) as opened:
        assert isinstance(opened, Room)
        yield opened


def test_a_pinned_bot_stays_where_it_is(docker_sandbox: DockerSandbox, program: Program) -> None:
    with closing(docker_sandbox.open(program, Limits(cpus="0"))) as box:
        ask = inside(box)
        assert ask("os.sched_getaffinity(0)") == "{0}"
        assert "Error" in ask("os.sched_setaffinity(0, {1})")


def test_more_processes_than_allowed_do_not_start(box: Box) -> None:
    assert "BlockingIOError" in inside(box)("[child() for i in range(16)]")


def test_every_run_is_a_fresh_process_and_an_empty_tmp(box: Box) -> None:
    first = inside(box)
    first("os.makedirs('/tmp/a/b/c/d'), open('/tmp/a/b/c/d/e','w').write('x')")
    first("os.chmod('/tmp/a/b', 0), os.symlink('/bot','/tmp/l')")
    assert first("[child(), child()]") == "[4, 5]"
    stop(box, 0)
    second = inside(box)
    assert second("os.listdir('/tmp')") == "[]"
    assert (
        second("[pid for pid in range(1, 300) if not tries(lambda: os.kill(pid, 0)).startswith('Process')]")
        == "[1, 2, 3]"
    )


def test_a_build_has_a_container_of_its_own_for_every_run(
    docker_sandbox: DockerSandbox, program: Program, tmp_path: Path
) -> None:
    """And under gVisor everything."""
    with closing(docker_sandbox.open(program, Limits(building=True))) as box:
        inside(box)("open('/tmp/x', 'w')")
        (first,) = own_containers(tmp_path / "run")
        stop(box, 0)
        assert inside(box)("os.listdir('/tmp')") == "[]"
        (second,) = own_containers(tmp_path / "run")
        assert second != first
        assert stop(box, 0).lingered


def test_a_run_makes_so_many_pipes_and_sockets_and_no_more(box: Box) -> None:
    ask = inside(box)
    assert ask("[[os.close(end) for end in os.pipe()] for i in range(40)] and 1") == "1"
    assert ask("[[end.close() for end in socket.socketpair()] for i in range(12)] and 1") == "1"
    assert ask("os.pipe()").startswith("OSError: [Errno 23]")
    stop(box, 0)
    assert inside(box)("len(os.pipe())") == "2"


def test_the_bot_is_the_first_to_be_killed_from_its_first_instruction_on(box: Room) -> None:
    asker(box)("1")
    leader = leader_of(box)
    warden = int(Path(f"/proc/{leader}/stat").read_text().rpartition(")")[2].split()[1])
    assert Path(f"/proc/{leader}/oom_score_adj").read_text().strip() == "1000"
    assert Path(f"/proc/{leader}/comm").read_text().strip() == "python3"
    assert Path(f"/proc/{warden}/oom_score_adj").read_text().strip() != "1000"


def test_a_room_with_folders_nested_deeper_than_any_path_ends_all_the_same(
    docker_sandbox: DockerSandbox, tmp_path: Path
) -> None:
    dig = "import os\nos.chdir('/tmp')\nfor i in range(2000):\n os.mkdir('d'*200); os.chdir('d'*200)\nopen('f','w')\n"
    code = dig + "print(input(),flush=True)\n"
    with closing(docker_sandbox.open(python(tmp_path, code), Limits())) as box:
        assert asker(box)("done").line == "done"
        stop(box, 0)
        assert asker(box)("done").line == "done"


def test_an_engine_that_does_not_say_that_a_container_is_gone_is_asked_again(
    docker_sandbox: DockerSandbox, box: Room
) -> None:
    client = docker_sandbox._client
    box.close()
    answers = itertools.chain([ReadTimeout("it never answers")], itertools.repeat(mock.DEFAULT))
    with (
        mock.patch.object(client, "wait", wraps=client.wait, side_effect=answers) as waits,
        mock.patch.object(client, "kill") as kills,
    ):
        box._wall.close()
    assert waits.call_count >= 2 and kills.call_count == 0
    assert waits.call_args_list[0].kwargs["timeout"] <= 1, "a slot waits for it"


def test_what_the_last_run_said_and_was_told_too_late_reaches_nobody(box: Box) -> None:
    transport = PipeTransport([box.start()])
    assert transport.exchange([Message(0, "print('stray', flush=True)", 20 * NS_PER_S)])[0].line == "stray"
    transport.exchange([Message(0, "time.sleep(9)")])
    transport.exchange([Message(0, "'of the last run'" + " " * 30_000)])  # fits in the pipe, and is never read
    stop(box, 0)
    assert inside(box)("'clean'") == "'clean'"


def test_a_finished_bot_may_exit_by_itself(box: Box) -> None:
    PipeTransport([box.start()]).exchange([Message(0, "FINISH")])
    end = stop(box, 60 * NS_PER_S)
    assert (end.exit_code, end.signal, end.lingered) == (0, None, False)
    assert end.cpu_ns and end.peak_memory_bytes


def test_stderr_is_kept_at_both_ends_and_a_flood_costs_nobody_anything(box: Box) -> None:
    ask = inside(box)
    ask("sys.stderr.write('first words\\n'), [sys.stderr.write('x' * 1000) for i in range(5000)][0]")
    ask("sys.stderr.write('last words\\n')")
    kept = stop(box, 0).stderr
    assert kept.startswith(b"first words\n") and kept.endswith(b"last words\n")
    assert b"bytes left out" in kept and len(kept) < 64 * 1024


def test_a_program_that_only_root_may_read_runs_all_the_same(docker_sandbox: DockerSandbox, program: Program) -> None:
    program.directory.chmod(0o700)
    (program.directory / "main.py").chmod(0o600)
    with closing(docker_sandbox.open(program, Limits())) as box:
        assert inside(box)("1 + 1") == "2"


def test_a_missing_program_exits_with_the_reason_on_stderr(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    with closing(docker_sandbox.open(Program(folder, ("./nothing",), "test"), Limits())) as box:
        assert asker(box)("READY").fault is Fault.EXITED
        end = stop(box)
        assert end.exit_code == 127 and b"cannot start ./nothing" in end.stderr


def test_a_container_killed_from_outside_is_our_failure(box: Box, tmp_path: Path) -> None:
    ask = asker(box)
    client = docker.APIClient(version="auto")
    for container in own_containers(tmp_path / "run"):
        client.kill(container)
    assert ask("1").fault is Fault.EXITED  # all that the pipe can show ...
    with pytest.raises(SandboxError) as caught:
        stop(box, 0)
    assert caught.value.cause == "container-died"  # ... and the reason for the arena to void the match


def test_a_container_that_never_started_is_swept_if_its_owner_is_gone(
    docker_sandbox: DockerSandbox, tmp_path: Path
) -> None:
    run_dir = docker_sandbox._run_dir
    (run_dir / "box-of-the-living").mkdir()
    client = docker.APIClient(version="auto")
    made = {}
    for name, folder in (
        ("dead", run_dir / "box-of-the-dead"),
        ("living", run_dir / "box-of-the-living"),
        ("another's", tmp_path / "elsewhere" / "box-of-somebody"),
    ):
        made[name] = client.create_container(Settings().image, ["true"], labels={LABEL: str(folder)})["Id"]
    try:
        assert docker_sandbox.sweep() == 1
        left = {found["Id"] for found in client.containers(all=True, filters={"label": LABEL})}
        assert left & set(made.values()) == {made["living"], made["another's"]}
    finally:
        for container in (made["living"], made["another's"]):
            client.remove_container(container)
        client.close()


@pytest.mark.parametrize("paused", [False, True])
def test_a_container_whose_owner_was_killed_while_it_started_or_was_paused_is_swept(
    docker_sandbox: DockerSandbox, box: Box, paused: bool
) -> None:
    """Its init may wait for us for ever. The wall beside it has an owner."""
    folder = docker_sandbox._run_dir / "box-of-the-dead"
    folder.mkdir()
    client = docker.APIClient(version="auto")
    waits = client.create_container(
        Settings().image,
        ["sleep", "600"],
        labels={LABEL: str(folder)},
        host_config=client.create_host_config(network_mode="none"),
    )["Id"]
    client.start(waits)
    if paused:
        insist(lambda: client.pause(waits))
    try:
        assert docker_sandbox.sweep() == 1
        assert waits not in {found["Id"] for found in client.containers(all=True, filters={"label": LABEL})}
        box.start()
    finally:
        client.close()


def test_a_missing_image_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no image deadheat/nothing:here"):
        DockerSandbox("deadheat/nothing:here", tmp_path)


ALONE = Limits(building=True)
"""A container of its own, as everything has under gVisor."""

EVALUATES = """
import os, stat, sys, time
for line in sys.stdin:
    if line == "FINISH\\n": break
    print(eval(line), flush=True)
"""
READS_LATE = "import sys, time; time.sleep(1); print(len(sys.stdin.readline()), flush=True); time.sleep(9)"
CLOSES_INPUT = """
import os, time
input()
os.close(0)
print("closed", flush=True)
time.sleep(2)
print("still here", flush=True)
time.sleep(9)
"""


@pytest.fixture
def opened(docker_sandbox: DockerSandbox, tmp_path: Path, monkeypatch) -> Iterator[Callable[[str], Box]]:
    monkeypatch.setattr(Runtime, "environment", {"JUDGE_RELAY": "1"})
    with ExitStack() as boxes:
        yield lambda code: boxes.enter_context(closing(docker_sandbox.open(python(tmp_path, code), ALONE)))


def test_lines_pass_in_order_and_the_bot_ends_by_itself(opened: Callable[[str], Box]) -> None:
    box = opened(EVALUATES)
    ask = inside(box)
    assert [ask(f"{number} * 2") for number in range(200)] == [str(number * 2) for number in range(200)]
    assert ask("'JUDGE_RELAY' in os.environ") == "False"
    assert ask("stat.S_ISFIFO(os.fstat(0).st_mode), os.fstat(0).st_uid") == "(True, 0)"
    assert stop(box, 0).lingered


def test_a_notice_that_is_sent_with_the_order_to_stop_arrives(opened: Callable[[str], Box]) -> None:
    box = opened(EVALUATES)
    transport = PipeTransport([box.start()])
    assert transport.exchange([Message(0, "1", 9 * NS_PER_S)])[0].line == "1"
    transport.exchange([Message(0, "FINISH")])
    assert stop(box, 60 * NS_PER_S).exit_code == 0


def test_a_bot_that_reads_late_gets_more_than_a_pipe_holds(opened: Callable[[str], Box]) -> None:
    assert asker(opened(READS_LATE))("x" * 200_000).line == "200001"


def test_a_bot_that_closes_its_input_may_still_speak(opened: Callable[[str], Box]) -> None:
    transport = PipeTransport([opened(CLOSES_INPUT).start()])
    for line in ("closed", "still here"):
        reply = transport.exchange([Message(0, "anybody there?", 9 * NS_PER_S)])[0]
        assert (reply.line, reply.fault) == (line, None)
    assert transport.exchange([Message(0, "and now?", NS_PER_S // 2)])[0].fault is Fault.TIMEOUT


def test_the_core_image_tells_its_languages_and_what_it_lacks(docker_sandbox: DockerSandbox) -> None:
    found = describe(docker_sandbox, docker_sandbox.image(), Limits())
    assert [language["name"] for language in found["languages"]] == ["python", "c", "cpp"]
    assert "Java" in found["missing"] and "C" not in found["missing"]
    python, c, cpp = found["languages"]
    assert python["version"].startswith("Python 3.")
    packages = ["docker", "run", "--rm", "--network=none", JUDGE_IMAGE, "dpkg-query", "-W", "-f", "${Version}"]
    for language, package in ((c, "gcc-12"), (cpp, "g++-12")):
        installed = subprocess.run([*packages, package], check=True, capture_output=True, text=True).stdout
        assert installed in language["version"]
    assert found["image"]["id"].startswith("sha256:") and found["image"]["size_bytes"] > 10**8


def test_the_fingerprint_is_of_everything_that_is_told(docker_sandbox: DockerSandbox) -> None:
    image = docker_sandbox.image()
    known = fingerprint(image, Limits())
    assert known == fingerprint(docker_sandbox.image(), Limits())
    assert known != fingerprint(replace(image, id="sha256:other"), Limits())
    assert known != fingerprint(image, Limits(processes=65))
