"""The tree that bots play in, while it is copied; tests with real boxes show that they play in it."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from docker import APIClient
from docker.errors import APIError, NotFound

from deadheat.sandbox import rooms
from deadheat.sandbox.box import SandboxError
from deadheat.sandbox.rooms import CONFLICT, await_tree, resident_tree


class Engine(APIClient):
    """Has a keeper, which it does not find the first `missed` times."""

    def __init__(self, missed: int = 0, *, running: bool = True) -> None:
        super().__init__("tcp://nowhere:1", version="1.41")
        self.missed = missed
        self.state = {"Running": running, "ExitCode": 0 if running else 1}

    def start(self, container: Any, *_: Any, **__: Any) -> None:
        if self.missed:
            self.missed -= 1
            raise NotFound("no such container")

    def create_container(self, *_: Any, **__: Any) -> Any:
        refused: Any = SimpleNamespace(status_code=CONFLICT)
        raise APIError("the name is in use", refused)

    def inspect_container(self, container: Any) -> Any:
        assert container == "deadheat-play-0123456789ab"
        return {"State": self.state}


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds slept; each reading of the clock is a second later."""
    slept: list[float] = []
    monkeypatch.setattr(rooms, "time", SimpleNamespace(monotonic=itertools.count().__next__, sleep=slept.append))
    return slept


def waited(engine: Engine, looks: float) -> int:
    """Wait for a tree that is complete at the last of so many looks, and return how many there were."""
    seen = itertools.count(1)
    await_tree(engine, resident_tree(engine, "sha256:0123456789abcdef"), lambda _: next(seen) == looks)
    return next(seen) - 1


def test_a_wall_waits_for_as_long_as_the_tree_is_copied() -> None:
    assert waited(Engine(), 7) == 7


def test_a_keeper_that_another_worker_is_creating_is_started_as_soon_as_it_is_found(seconds: list[float]) -> None:
    assert resident_tree(Engine(3), "sha256:0123456789abcdef")["Source"] == "deadheat-play-0123456789ab"
    assert len(seconds) == 3


def test_but_a_keeper_that_is_never_found_is_given_up(seconds: list[float]) -> None:
    with pytest.raises(NotFound):
        resident_tree(Engine(1000), "sha256:0")
    assert len(seconds) == 20


def test_a_wall_does_not_wait_for_longer_than_opening_a_box_may_take() -> None:
    with pytest.raises(SandboxError, match="still being copied after 20 s") as given_up:
        waited(Engine(), float("inf"))
    assert given_up.value.cause == "engine", "the machine's, and not the series'"


def test_nor_for_a_keeper_that_has_ended() -> None:
    with pytest.raises(SandboxError, match="has ended with code 1"):
        waited(Engine(running=False), 9)


def test_nobody_looks_after_the_keeper_of_a_tree_that_is_complete() -> None:
    assert waited(Engine(running=False), 1) == 1
