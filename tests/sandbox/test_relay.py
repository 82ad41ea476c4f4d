"""Where init relays the input, as it does under gVisor, the bot reads exactly what the host writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from deadheat.engine.core import NS_PER_S, Fault, Message
from deadheat.sandbox.box import Box, Limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.sandbox.runtimes import Runtime
from tests.sandbox.boxes import asker, inside, python, stop

pytestmark = pytest.mark.containers

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
