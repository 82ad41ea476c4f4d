"""Boxes that rest while a person thinks: nothing in them runs, they resume unharmed, and none is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

import docker
import pytest
from docker.errors import APIError

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import NS_PER_S, Message, Reply, Seat, Transport
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.replay import replay
from deadheat.league.config import Settings
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Limits, Program, Sandbox, SandboxError, bot_limits
from deadheat.sandbox.docker import WAKING_TRIES, DockerBox, DockerSandbox
from deadheat.sandbox.host.slots import Slots
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from tests.sandbox.boxes import asker, python, stop, until

COUNTER = """
import sys, threading, time
count = 0
def work():
    global count
    while True: count += 1
threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    if line.strip() == "FINISH": break
    print(count, flush=True)
"""

YACHT = bots_of("yacht-auction") / "greedy"


@pytest.fixture(params=["local", pytest.param("docker", marks=pytest.mark.containers)])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return LocalSandbox() if request.param == "local" else request.getfixturevalue("docker_sandbox")


@pytest.fixture
def counter(tmp_path: Path) -> Program:
    """A bot that counts for as long as it runs, and answers with its count."""
    return python(tmp_path, COUNTER)


def test_nothing_of_a_box_that_rests_runs(sandbox: Sandbox, counter: Program) -> None:
    with closing(sandbox.open(counter, Limits())) as box:
        channel = box.start()
        transport = PipeTransport([channel])

        def count() -> int:
            return int(str(transport.exchange([Message(0, "HOW FAR", 20 * NS_PER_S)])[0].line))

        def cpu_ns() -> int:
            used = channel.meter.counters().cpu_ns
            assert used is not None
            return used

        before, used = count(), cpu_ns()
        assert until(lambda: cpu_ns() != used, 60), "it computes without being asked"

        def rests() -> bool:
            if isinstance(box, DockerBox):
                freeze(box)
                assert not runs(box)
            box.rest(True)
            used = cpu_ns()
            time.sleep(0.3)
            return cpu_ns() == used

        assert until(rests, 60)
        box.rest(False)
        assert count() > before
        transport.exchange([Message(0, "FINISH")])
        assert stop(box, 20 * NS_PER_S).exit_code == 0


def test_a_box_is_closed_while_it_rests(sandbox: Sandbox, counter: Program) -> None:
    box = sandbox.open(counter, Limits())
    box.start()
    box.rest(True)
    box.close()


@pytest.fixture
def engine_fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int, bool], None]:
    """Make the engine's call of that name fail that often, each time carried out or not."""

    def fail(name: str, times: int, carried_out: bool) -> None:
        really, left = getattr(docker.APIClient, name), [True] * times

        def failing(client: docker.APIClient, container: str) -> None:
            if not left or carried_out:
                really(client, container)
            if left:
                left.pop()
                raise APIError("unable to freeze")

        monkeypatch.setattr(docker.APIClient, name, failing)
        monkeypatch.setattr("deadheat.sandbox.docker.WAKING_PAUSE_S", 0.0)

    return fail


Failing = Callable[[str, int, bool], None]


@pytest.fixture
def box(docker_sandbox: DockerSandbox, counter: Program) -> Iterator[DockerBox]:
    with closing(docker_sandbox.open(counter, Limits())) as opened:
        assert isinstance(opened, DockerBox)
        yield opened


@pytest.mark.containers
@pytest.mark.parametrize("carried_out", [False, True])
def test_a_box_that_cannot_be_frozen_now_goes_on_behind_all_others_and_rests_the_next_time(
    box: DockerBox, engine_fails: Failing, carried_out: bool
) -> None:
    engine_fails("pause", 1, carried_out)
    assert box._cgroup is not None
    weight, ask = Path(f"/proc/self/fd/{box._cgroup._weight}").readlink(), asker(box)
    favoured = weight.read_text()
    for tries in (30 if carried_out else 1, 30):
        freeze(box, tries)
        assert runs(box) is (tries == 1)
        assert weight.read_text() != favoured, "whatever runs on, it is behind everything else"
        box.rest(False)
        assert runs(box) and weight.read_text() == favoured
        assert ask("HOW FAR").fault is None


def freeze(box: DockerBox, tries: int = 30) -> None:
    """Let the box rest. A busy engine may fail to freeze it by itself, so try this often."""
    for _ in range(tries):
        box.rest(True)
        if not runs(box):
            break


def runs(box: DockerBox) -> bool:
    assert box._container is not None
    return not box._client.inspect_container(box._container)["State"]["Paused"]


@pytest.mark.containers
@pytest.mark.parametrize(("failures", "carried_out"), [(WAKING_TRIES - 1, False), (1, True)])
def test_waking_a_box_is_tried_again(box: DockerBox, engine_fails: Failing, failures: int, carried_out: bool) -> None:
    engine_fails("unpause", failures, carried_out)
    ask = asker(box)
    freeze(box)
    box.rest(False)
    assert ask("HOW FAR").fault is None


@pytest.mark.containers
def test_a_box_that_cannot_be_woken_is_our_failure(box: DockerBox, engine_fails: Failing) -> None:
    engine_fails("unpause", WAKING_TRIES, False)
    box.start()
    freeze(box)
    with pytest.raises(SandboxError, match="could not be resumed") as raised:
        box.rest(False)
    assert raised.value.cause == "engine"


@pytest.mark.containers
def test_a_box_whose_owner_was_killed_while_it_rested_is_woken_to_end(counter: Program, tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            box = DockerSandbox(Settings().image, tmp_path / "run").open(counter, Limits())
            box.start()
            while True:  # a busy kernel sometimes fails to freeze it, and the box then tries again
                box.rest(True)
                time.sleep(0.1)
        os._exit(1)
    client = docker.APIClient(version="auto")
    mine = {"label": f"deadheat.owner={child}"}
    try:
        give_up_at = time.monotonic() + 30
        while [found["State"] for found in client.containers(all=True, filters=mine)] != ["paused"]:
            assert time.monotonic() < give_up_at, "the container was not frozen"
            time.sleep(0.1)
    finally:
        os.kill(child, signal.SIGKILL)  # from now on anybody may remove it, including a test that runs beside this one
        os.waitpid(child, 0)
    DockerSandbox(Settings().image, tmp_path / "run").close()
    give_up_at = time.monotonic() + 30
    while client.containers(all=True, filters=mine):
        assert time.monotonic() < give_up_at, "the container outlived its owner"
        time.sleep(0.1)
    client.close()


class Guest:
    """A person in the last seat who answers at once, and who needs the slot to do so."""

    def __init__(self, bots: Transport, slots: Slots) -> None:
        self._bots, self._slots = bots, slots
        self.moves = 0

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        replies = dict(self._bots.exchange([message for message in messages if message.seat == 0]))
        for message in messages:
            if message.seat == 1 and message.limit_ns is not None:
                with self._slots.take():  # otherwise this waits for ever
                    replies[1] = Reply("OK" if message.line == "READY" else "BID A 5", 0)
                    self.moves += 1
        return replies


def test_a_match_beside_a_guest_holds_its_slot_only_while_bots_run(sandbox: Sandbox, tmp_path: Path) -> None:
    slots = Slots(tmp_path / "slots")
    cpus = slots.slots[0]
    guests: list[Guest] = []

    def beside(bots: Transport) -> Transport:
        guests.append(Guest(bots, slots))
        return guests[-1]

    program = Program(YACHT, ("/usr/bin/python3", "main.py"), "greedy")
    with Arena(sandbox, [program], bot_limits(cpus)) as arena:
        played = arena.play_beside(
            GAMES["yacht-auction"], 2, bytes(SEED_BYTES), {}, lambda: slots.take(only=cpus), beside, [0]
        )
    assert dict(played.transcript.result.faults).keys() == {1}, "a guest who knows one answer"
    assert guests[0].moves == 4, "READY, two times ROLL, and SCORE"
    assert played.exits[0].exit_code == 0
    replay(GAMES["yacht-auction"], played.transcript)
