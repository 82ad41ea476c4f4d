"""The tree that bots play in, while it is copied; tests with real boxes show that they play in it."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from docker import APIClient
from docker.errors import APIError, NotFound

from deadheat.sandbox import resident
from deadheat.sandbox.box import SandboxError
from deadheat.sandbox.resident import CONFLICT, COPY, KEEPER, resident_tree

COPYING = [["root", "1", f"/bin/sh -c {KEEPER}"], ["root", "9", COPY]]
KEEPING = [["root", "1", "/sbin/judge-init --keep /resident"]]


class Engine(APIClient):
    """Has a keeper, which copies during its first `copies` looks."""

    def __init__(self, copies: float, *, running: bool = True) -> None:
        super().__init__("tcp://nowhere:1", version="1.41")
        self.left, self.looks, self.missed = copies, 0, 0
        self.state = {"Running": running, "ExitCode": 0 if running else 1, "StartedAt": "first"}

    def start(self, container: Any, *_: Any, **__: Any) -> None:
        if self.missed:
            self.missed -= 1
            raise NotFound("no such container")

    def create_container(self, *_: Any, **__: Any) -> Any:
        refused: Any = SimpleNamespace(status_code=CONFLICT)
        raise APIError("the name is in use", refused)

    def inspect_container(self, container: Any) -> Any:
        return {"Id": "keeper", "State": self.state}

    def top(self, container: Any, ps_args: str | None = None) -> Any:
        self.looks += 1
        self.left -= 1
        return {"Processes": COPYING if self.left >= 0 else KEEPING}


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds slept; each reading of the clock is a second later."""
    slept: list[float] = []
    monkeypatch.setattr(resident, "_complete", set())
    monkeypatch.setattr(resident, "time", SimpleNamespace(monotonic=itertools.count().__next__, sleep=slept.append))
    return slept


def test_a_box_waits_for_as_long_as_the_tree_is_copied(seconds: list[float]) -> None:
    engine = Engine(7)
    assert resident_tree(engine, "sha256:0123456789abcdef")["Source"] == "deadheat-play-0123456789ab"
    assert len(seconds) == 7


def test_a_keeper_that_another_worker_is_creating_is_started_as_soon_as_it_is_found(seconds: list[float]) -> None:
    engine = Engine(0)
    engine.missed = 3
    assert resident_tree(engine, "sha256:0")
    assert len(seconds) == 3


def test_but_a_keeper_that_is_never_found_is_given_up(seconds: list[float]) -> None:
    engine = Engine(0)
    engine.missed = 1000
    with pytest.raises(NotFound):
        resident_tree(engine, "sha256:0")
    assert len(seconds) == 20


def test_but_not_for_longer_than_opening_a_box_may_take(seconds: list[float]) -> None:
    with pytest.raises(SandboxError, match="still being copied after 20 s") as waited:
        resident_tree(Engine(float("inf")), "sha256:0")
    assert waited.value.cause == "engine", "the machine's, and not the series'"
    assert len(seconds) == 20


def test_nor_for_a_keeper_that_has_ended(seconds: list[float]) -> None:
    with pytest.raises(SandboxError, match="has ended with code 1"):
        resident_tree(Engine(9, running=False), "sha256:0")
    assert seconds == []


def test_one_that_was_seen_complete_is_not_looked_at_until_it_is_started_anew() -> None:
    engine = Engine(2)
    for _ in range(5):
        resident_tree(engine, "sha256:0")
    assert engine.looks == 3
    engine.left, engine.state["StartedAt"] = 2, "again"
    resident_tree(engine, "sha256:0")
    assert engine.looks == 6
