"""The engine's description of a runtime decides whether it can be used, and what a box under it needs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest
from docker import APIClient
from docker.errors import APIError, NotFound

from deadheat.sandbox.attribution import Blame
from deadheat.sandbox.box import Box, Channel, Exit, Limits, Program, SandboxError
from deadheat.sandbox.build import BuildFailed, build
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.languages import LANGUAGES
from deadheat.sandbox.runtimes import (
    GVISOR_FLAGS,
    HOST_THREADS_PER_PROCESS,
    Runtime,
    find_runtime,
    why_not_started,
)
from tests.sandbox.boxes import Stub

RUNSC = {"path": "/usr/bin/runsc", "runtimeArgs": list(GVISOR_FLAGS)}
INFO: dict[str, Any] = {"DefaultRuntime": "runc", "Runtimes": {"runc": {"path": "runc"}, "gv": RUNSC}}


@pytest.mark.parametrize(
    ("info", "wanted", "found"),
    [
        (INFO, "", Runtime("runc")),
        (INFO, "runc", Runtime("runc")),
        (INFO, "gv", Runtime("gv", gvisor=True)),
        ({**INFO, "DefaultRuntime": "gv"}, "", Runtime("gv", gvisor=True)),
        ({"Runtimes": {"v": {"runtimeType": "io.containerd.runsc.v1"}}}, "v", Runtime("v", gvisor=True)),
        ({}, "", Runtime("")),
        ({**INFO, "CgroupDriver": "cgroupfs"}, "gv", Runtime("gv", gvisor=True)),
        ({**INFO, "CgroupDriver": "systemd"}, "", Runtime("runc", systemd=True)),
        ({**INFO, "CgroupDriver": "systemd"}, "gv", Runtime("gv", gvisor=True, systemd=True)),
    ],
)
def test_a_runtime_is_known_by_what_the_engine_tells(info: dict[str, Any], wanted: str, found: Runtime) -> None:
    assert find_runtime(info, wanted) == found


def test_a_runtime_that_the_engine_does_not_have_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"has no runtime 'runsc' \(it has gv, runc\); docs/how-to/machines.md says"):
        find_runtime(INFO, "runsc")


def test_gvisor_without_the_flags_that_it_needs_is_refused() -> None:
    info = {"Runtimes": {"runsc": {"path": "/opt/runsc", "runtimeArgs": ["--network=none"]}}}
    with pytest.raises(SandboxError, match="registered without --host-fifo=open --oci-seccomp"):
        find_runtime(info, "runsc")


@pytest.mark.parametrize(("option", "how"), [("name=rootless", "is rootless"), ("name=userns", "maps users")])
def test_an_engine_in_a_user_namespace_is_refused(option: str, how: str) -> None:
    """On a rootless engine init could not become the bot's user, and every bot "exited"."""
    find_runtime(INFO | {"SecurityOptions": ["name=seccomp,profile=default", "name=cgroupns"]}, "")
    with pytest.raises(SandboxError, match=f"{how}.*cannot get users of their own") as refused:
        find_runtime(INFO | {"SecurityOptions": ["name=seccomp,profile=default", option]}, "")
    assert refused.value.cause == "no-runtime"  # a worker does not wait for it to recover


NO_PARSER = APIError(
    "500 Server Error for http+docker://localhost/v1.41/containers/0/start: Internal Server Error",
    explanation="AppArmor enabled on system but the docker-default profile could not be loaded: running "
    "`apparmor_parser apparmor_parser --version` failed with output: \n"
    'error: exec: "apparmor_parser": executable file not found in $PATH',
)
"""Debian 12's engine on a minimal system."""


def test_a_missing_parser_of_apparmor_is_told_in_a_sentence() -> None:
    assert "install the Debian package apparmor" in why_not_started(NO_PARSER)
    assert why_not_started(APIError("500", explanation="apparmor_parser: syntax error")).startswith("500")


class NoContainers(APIClient):
    """An engine that starts no container: neither the tree's keeper, the first of all, nor a build's."""

    def __init__(self, **_: object) -> None:
        super().__init__("tcp://nowhere:1", version="1.41")

    def info(self) -> Any:
        return INFO

    def inspect_image(self, image: str) -> Any:
        return {"Id": "sha256:0"}

    def inspect_container(self, container: Any) -> Any:
        raise NotFound("no such container")

    def start(self, container: Any, *_: Any, **__: Any) -> None:
        raise NO_PARSER

    def create_container(self, *_: Any, **__: Any) -> Any:
        raise NO_PARSER


@pytest.mark.parametrize("building", [False, True])
def test_a_box_that_cannot_be_opened_for_it_says_so(tmp_path: Path, monkeypatch, building: bool) -> None:
    """`check-host` and a worker's log report it in these words."""
    monkeypatch.setattr(docker, "APIClient", NoContainers)
    (tmp_path / "program").mkdir()
    program = Program(tmp_path / "program", ("true",), "")
    sandbox = DockerSandbox("image", tmp_path / "run")
    with pytest.raises(SandboxError, match=r"could be .*: this machine's kernel has AppArmor, and its parser"):
        sandbox.open(program, Limits(building=building)).start()


def test_under_gvisor_processes_are_counted_inside_and_pipes_may_be_opened() -> None:
    mounts = [{"Target": "/judge", "ReadOnly": True}, {"Target": "/bot", "ReadOnly": True}]
    config: dict[str, Any] = {"Mounts": mounts, "PidsLimit": 7, "Ulimits": []}
    Runtime("gv", gvisor=True).adapt(config, Limits(processes=7))
    assert [mount["ReadOnly"] for mount in mounts] == [False, True]
    assert config["Runtime"] == "gv" and config["PidsLimit"] == 7 * HOST_THREADS_PER_PROCESS
    assert [dict(limit) for limit in config["Ulimits"]] == [{"Name": "nproc", "Soft": 7, "Hard": 7}]


def test_another_runtime_changes_nothing_but_the_name() -> None:
    config: dict[str, Any] = {"Mounts": [{"Target": "/judge", "ReadOnly": True}], "PidsLimit": 7}
    Runtime("crun").adapt(config, Limits())
    assert config == {"Mounts": [{"Target": "/judge", "ReadOnly": True}], "PidsLimit": 7, "Runtime": "crun"}


@dataclass
class Dies(Stub):
    """A sandbox and its one box, which dies once the program in it has closed its output."""

    blame: Blame | None

    def open(self, program: Program, limits: Limits) -> Box:
        return self

    def start(self) -> Channel:
        self.stdout_fd, writer = os.pipe()
        os.close(writer)
        return Channel(-1, self.stdout_fd, out_of_memory=lambda: self.blame)

    def stopped(self) -> Exit:
        raise SandboxError("container-died", "the container ended unexpectedly")

    def close(self) -> None:
        os.close(self.stdout_fd)


def test_a_build_that_takes_its_box_along_for_want_of_memory_has_failed(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="the build used more than 1024 MiB of memory"):
        build(Dies(Blame.BOT), tmp_path, LANGUAGES["c"])


@pytest.mark.parametrize("blame", [None, Blame.HOST])
def test_a_build_whose_box_died_of_anything_else_is_our_failure(tmp_path: Path, blame: Blame | None) -> None:
    with pytest.raises(SandboxError, match="ended unexpectedly"):
        build(Dies(blame), tmp_path, LANGUAGES["c"])
