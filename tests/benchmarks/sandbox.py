"""What using a container costs. Needs root.

    ./scripts/bench sandbox [--short]

(a) The life of a box's container (create, start, find its process, READY and OK, end, remove) through the Docker SDK,
over the same calls in bare HTTP with a prepared body; the box around them is the same code. CPU time of every process
involved, as in `match`, and wall time. (b) Wall time until both seats have said OK: in slots that are already open, as
in all matches of a series but the first, over slots that must be opened.

Variants take turns in one run; only the ratios mean anything.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import docker

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Message
from deadheat.league.config import Settings
from deadheat.sandbox.box import Box, Limits, Program
from deadheat.sandbox.docker import ENGINE_TIMEOUT_S, LABEL, DockerBox, DockerSandbox
from deadheat.sandbox.pipes import PipeTransport
from tests.benchmarks.cgroups import MeasuredGroup
from tests.benchmarks.engine_of_our_own import measured
from tests.benchmarks.match import BOT_BY_LANGUAGE, settle
from tests.benchmarks.programs import built
from tests.benchmarks.targets import Targets, arguments

SDK, RAW = "Docker SDK", "bare HTTP"
SDK_TARGET, WARM_TARGET = 1.15, 0.10
LIVES, WARM_STARTS = 5, 5


def main() -> int:
    short = arguments(__doc__, "one round of each, to see that it works").parse_args().short
    rounds, targets = (1 if short else 11), Targets(short)
    with measured(joined=True) as (group, folder):
        sandbox = DockerSandbox(Settings().image, folder / "run")
        programs = {name: built(bot, name, sandbox, folder / name) for name, bot in BOT_BY_LANGUAGE.items()}
        lives(targets, sandbox, programs["c"], folder / "run", group, rounds)
        starts(targets, sandbox, programs, rounds)
        sandbox.close()
    return targets.report()


# The life of a container ------------------------------------------------------------------------------------------


class Overheard(docker.APIClient):
    """The SDK's client; keeps what it last asked for."""

    body: Any = None

    def create_container_from_config(self, config: Any, *arguments: Any, **options: Any) -> Any:
        self.body = config
        return super().create_container_from_config(config, *arguments, **options)  # type: ignore[no-untyped-call]


class BareClient:
    """The calls of a box, and nothing around them: one connection, and a body in which only names change."""

    def __init__(self, overheard: Overheard) -> None:
        self._connection = EngineConnection(os.environ["DOCKER_HOST"].removeprefix("unix://"))
        self._version = overheard.api_version
        self._body = json.dumps(overheard.body)
        self._directory = overheard.body["Labels"][LABEL]

    def create_host_config(self, **_: Any) -> dict[str, Any]:
        """Return only this, because the body already contains the rest."""
        return {"Mounts": []}

    def create_container(self, _: str, labels: dict[str, str], **__: Any) -> Any:
        return self._call("POST", "/containers/create", self._body.replace(self._directory, labels[LABEL]))

    def inspect_image(self, image: str) -> Any:
        return self._call("GET", f"/images/{image}/json")

    def start(self, container: str) -> None:
        self._call("POST", f"/containers/{container}/start")

    def inspect_container(self, container: str) -> Any:
        return self._call("GET", f"/containers/{container}/json")

    def top(self, container: str) -> Any:
        return self._call("GET", f"/containers/{container}/top")

    def wait(self, container: str, timeout: float, condition: str) -> None:
        self._call("POST", f"/containers/{container}/wait?condition={condition}")

    def close(self) -> None:
        self._connection.close()

    def _call(self, method: str, path: str, body: str | None = None) -> Any:
        headers = {"Content-Type": "application/json"} if body else {}
        self._connection.request(method, f"/v{self._version}{path}", body, headers)
        response = self._connection.getresponse()
        said = response.read()
        assert response.status < http.client.BAD_REQUEST, said
        return json.loads(said) if said else None


class EngineConnection(http.client.HTTPConnection):
    """An HTTP connection over the engine's socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ENGINE_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def lives(
    targets: Targets, sandbox: DockerSandbox, program: Program, run_dir: Path, group: MeasuredGroup, rounds: int
) -> None:
    sdk = Overheard(base_url=os.environ["DOCKER_HOST"], version="auto", timeout=ENGINE_TIMEOUT_S)

    def life_ms(client: Any) -> float:
        began_ns = time.monotonic_ns()
        box = DockerBox(client, Settings().image, run_dir, program, Limits(cpus="0"), sandbox.runtime)
        until_ok([box])
        box.close()
        return (time.monotonic_ns() - began_ns) / NS_PER_MS

    life_ms(sdk)
    clients: dict[str, Any] = {SDK: sdk, RAW: BareClient(sdk)}
    cpu_ms: dict[str, list[float]] = {name: [] for name in clients}
    wall_ms: dict[str, list[float]] = {name: [] for name in clients}
    for number in range(rounds):
        for name in sorted(clients, reverse=bool(number % 2)):
            before_ns = group.cpu_ns()
            wall_ms[name].append(statistics.median([life_ms(clients[name]) for _ in range(LIVES)]))
            settle()
            cpu_ms[name].append((group.cpu_ns() - before_ns) / NS_PER_MS / LIVES)
    for client in clients.values():
        client.close()
    print(f"(a) The life of a container, ms (median of {rounds} rounds)")
    print(f"    {'':14}{'CPU':>10}{'over bare':>12}{'wall':>10}{'over bare':>12}")
    for name in (RAW, SDK):
        figures = [(statistics.median(taken[name]), ratio(taken[name], taken[RAW])) for taken in (cpu_ms, wall_ms)]
        print(f"    {name:14}" + "".join(f"{middle:10.1f}{over:12.2f}" for middle, over in figures))
    for what, taken in (("CPU", cpu_ms), ("wall", wall_ms)):
        over = targets.shown(f"SDK, {what}", ratio(taken[SDK], taken[RAW]), most=SDK_TARGET, form=".2f")
        print(f"    {SDK} over {RAW}, {what}: {over}")
    print()


def until_ok(boxes: Sequence[Box]) -> None:
    """Start the program in every box, and have all say OK."""
    transport = PipeTransport([box.start() for box in boxes])
    replies = transport.exchange([Message(seat, "READY", 10 * NS_PER_S) for seat in range(len(boxes))])
    assert all(reply.line == "OK" for reply in replies.values()), replies


# Slots ------------------------------------------------------------------------------------------------------------


def starts(targets: Targets, sandbox: DockerSandbox, programs: dict[str, Program], rounds: int) -> None:
    """Print part (b). A Python bot's warm start is that of its interpreter, so it has no target."""
    print(f"(b) Until both seats have said OK, wall ms (median of {rounds} rounds)")
    print(f"    {'':14}{'cold':>10}{'warm':>10}{'over cold':>12}")
    for language, program in programs.items():
        cold_ms: list[float] = []
        warm_ms: list[float] = []
        for _ in range(rounds):
            began_ns = time.monotonic_ns()
            boxes = [sandbox.open(program, Limits(cpus=cpu)) for cpu in ("0", "1")]
            until_ok(boxes)
            cold_ms.append((time.monotonic_ns() - began_ns) / NS_PER_MS)
            warm_ms.append(statistics.median(warm_start_ms(boxes) for _ in range(WARM_STARTS)))
            for box in boxes:
                box.close()
        most = WARM_TARGET if language == "c" else inf
        over = targets.shown(f"warm start, {language}", ratio(warm_ms, cold_ms), most=most)
        cold, warm = statistics.median(cold_ms), statistics.median(warm_ms)
        print(f"    {language:14}{cold:10.1f}{warm:10.1f}       {over}")


def warm_start_ms(boxes: Sequence[Box]) -> float:
    """End the last run in every box, then measure the next one's start."""
    for box in boxes:
        box.ask_stop(0)
    for box in boxes:
        box.stopped()
    began_ns = time.monotonic_ns()
    until_ok(boxes)
    return (time.monotonic_ns() - began_ns) / NS_PER_MS


def ratio(taken: Sequence[float], base: Sequence[float]) -> float:
    """Return the median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(taken, base, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
