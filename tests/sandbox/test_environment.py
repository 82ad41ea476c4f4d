"""The description of an image matches its content."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from deadheat.sandbox.box import Limits
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.environment import describe, fingerprint
from tests.conftest import JUDGE_IMAGE

pytestmark = pytest.mark.containers


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
