"""The description of an image matches its content."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.environment import describe, fingerprint
from tests.conftest import JUDGE_IMAGE

pytestmark = pytest.mark.containers


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[DockerSandbox]:
    opened = DockerSandbox(JUDGE_IMAGE, tmp_path / "run")
    yield opened
    opened.close()


def test_the_core_image_tells_its_languages_and_what_it_lacks(sandbox: DockerSandbox) -> None:
    found = describe(sandbox, sandbox.image(), Limits())
    assert [language["name"] for language in found["languages"]] == ["python", "c", "cpp"]
    assert "Java" in found["missing"] and "C" not in found["missing"]
    python, c, cpp = found["languages"]
    assert python["version"].startswith("Python 3.")
    packages = ["docker", "run", "--rm", "--network=none", JUDGE_IMAGE, "dpkg-query", "-W", "-f", "${Version}"]
    for language, package in ((c, "gcc-12"), (cpp, "g++-12")):
        installed = subprocess.run([*packages, package], check=True, capture_output=True, text=True).stdout
        assert installed in language["version"]
    assert found["image"]["id"].startswith("sha256:") and found["image"]["size_bytes"] > 10**8


def test_the_fingerprint_is_of_everything_that_is_told(sandbox: DockerSandbox) -> None:
    image = sandbox.image()
    known = fingerprint(image, Limits())
    assert known == fingerprint(sandbox.image(), Limits())
    assert known != fingerprint(replace(image, id="sha256:other"), Limits())
    assert known != fingerprint(image, Limits(processes=65))
