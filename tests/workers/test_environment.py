"""A worker describes the image that it judges with, once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.league.service.bots import bots
from deadheat.league.service.bots.bots import installed_languages
from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.workers import environment
from deadheat.workers.context import Context
from deadheat.workers.environment import describe, describe_environment, fingerprint
from tests.conftest import JUDGE_IMAGE
from tests.league.ground import settings
from tests.league.world import World


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    world = World(settings(tmp_path))
    made = Context(world.settings)
    made.__dict__["database"] = world.db
    yield made
    world.close()


@pytest.mark.containers
def test_an_image_is_described_once_and_then_confirmed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    describe_environment(context)
    with context.database.reading() as session:
        assert installed_languages(session) == {"python", "c", "cpp"}
    monkeypatch.setattr(environment, "describe", lambda *_: 1 / 0)
    describe_environment(context)


def test_bots_that_nothing_confines_have_no_environment(context: Context) -> None:
    context.settings = context.settings.model_copy(update={"sandbox": "local"})
    describe_environment(context)
    with context.database.reading() as session:
        assert bots.environment(session) is None


@pytest.mark.containers
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


@pytest.mark.containers
def test_the_fingerprint_is_of_everything_that_is_told(docker_sandbox: DockerSandbox) -> None:
    image = docker_sandbox.image()
    known = fingerprint(image, Limits())
    assert known == fingerprint(docker_sandbox.image(), Limits())
    assert known != fingerprint(replace(image, id="sha256:other"), Limits())
    assert known != fingerprint(image, Limits(processes=65))
