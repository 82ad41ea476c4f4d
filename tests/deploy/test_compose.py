"""The files of the production deployment; ./scripts/deploy-check tries them on an engine."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from deadheat.sandbox.images import own_image
from tests.conftest import JUDGE_IMAGE
from tests.deploy.compose import DEPLOY, compose_command, run

SERVICES = sorted(path.parent.name for path in (DEPLOY / "services").glob("*/Dockerfile"))


@pytest.mark.parametrize("file", ["compose.yml", "compose.worker.yml"])
def test_what_a_worker_may_do_is_the_same_on_one_machine_and_on_a_further_one(file: str) -> None:
    worker = yaml.safe_load((DEPLOY / file).read_text())["services"]["worker"]
    alone = yaml.safe_load((DEPLOY / "compose.worker.yml").read_text())["services"]["worker"]
    for key in ("command", "user", "pid", "read_only", "cap_drop", "security_opt", "healthcheck", "stop_grace_period"):
        assert worker[key] == alone[key], key
    assert {*worker["volumes"]} - {"blobs:/blobs"} == {*alone["volumes"]}
    assert {*worker["cap_add"]} == {*alone["cap_add"]}


@pytest.mark.parametrize("files", [("compose.yml",), ("compose.yml", "compose.archive.yml"), ("compose.worker.yml",)])
def test_compose_accepts_the_files(files: tuple[str, ...], tmp_path: Path) -> None:
    command = compose_command()
    if command is None:
        pytest.skip("no compose is installed (Debian: docker-compose)")
    run(str(DEPLOY / "secrets"), str(tmp_path / "env"))
    with (tmp_path / "env").open("a") as file:
        file.write(f"DEADHEAT_BLOB_URL=s3://blobs\nDEADHEAT_SETTINGS={tmp_path / 'settings.env'}\n")
        file.write(f"DEADHEAT_WORKER_SETTINGS={tmp_path / 'worker.env'}\n")
    named = [argument for file in files for argument in ("-f", str(DEPLOY / file))]
    run(*command, "--env-file", str(tmp_path / "env"), *named, "config", "--quiet")


def test_a_worker_knows_neither_the_services_secrets_nor_their_role(tmp_path: Path) -> None:
    (tmp_path / "settings.env").write_text(
        "DEADHEAT_SITE_URL=https://a.example\nDEADHEAT_SMTP_URL=smtps://x\nDEADHEAT_OPENID_CLIENT_SECRET=x\n"
    )
    old = "DEADHEAT_DATABASE_PASSWORD=ab12\nDEADHEAT_DATABASE_URL=postgresql://deadheat:ab12@postgres/deadheat\n"
    (tmp_path / "env").write_text(old)
    run(str(DEPLOY / "secrets"), str(tmp_path / "env"))
    assert (tmp_path / "worker.env").read_text() == "DEADHEAT_SITE_URL=https://a.example\n"
    values = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    users = {name: urlsplit(values[f"DEADHEAT_{name}_URL"]).username for name in ("DATABASE", "OWNER", "WORKER")}
    assert users == {"DATABASE": "deadheat_service", "OWNER": "deadheat_owner", "WORKER": "deadheat_worker"}
    services = services_of("compose.yml")
    urls = {name: one["environment"]["DEADHEAT_DATABASE_URL"] for name, one in services.items() if "env_file" in one}
    assert urls == {
        **dict.fromkeys(("api", "scheduler", "control"), "${DEADHEAT_DATABASE_URL}"),
        "migrate": "${DEADHEAT_OWNER_URL}",
        "worker": "${DEADHEAT_WORKER_URL}",
    }
    for worker in (services["worker"], services_of("compose.worker.yml")["worker"]):
        assert worker["env_file"] == ["${DEADHEAT_WORKER_SETTINGS:-worker.env}"]
    unit = DEPLOY / "systemd" / "deadheat-worker.service"
    assert "EnvironmentFile=/etc/deadheat/worker.env" in unit.read_text().splitlines()


def test_secrets_are_made_once_and_are_nobody_elses(tmp_path: Path) -> None:
    run(str(DEPLOY / "secrets"), str(tmp_path / "env"))
    first = (tmp_path / "env").read_text()
    run(str(DEPLOY / "secrets"), str(tmp_path / "env"))
    assert (tmp_path / "env").read_text() == first
    assert (tmp_path / "env").stat().st_mode & 0o777 == 0o600
    values = dict(line.split("=", 1) for line in first.splitlines())
    assert len(values["DEADHEAT_DATABASE_PASSWORD"]) == 48
    passwords = [value for name, value in values.items() if name.endswith("_PASSWORD")]
    assert len({*passwords}) == len(passwords) == 6


@pytest.mark.parametrize("file", ["compose.yml", "compose.worker.yml"])
def test_a_worker_in_a_container_has_its_machines_name_unless_another_is_chosen(file: str, tmp_path: Path) -> None:
    assert services_of(file)["worker"]["hostname"] == "${DEADHEAT_WORKER_NAME:-}"
    for chosen, name in (("", os.uname().nodename), ("DEADHEAT_WORKER_NAME=two\n", "two")):
        (tmp_path / "env").write_text(chosen)
        run(str(DEPLOY / "secrets"), str(tmp_path / "env"))
        values = [line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines()]
        assert [value for key, value in values if key == "DEADHEAT_WORKER_NAME"] == [name]


def packages(service: str) -> set[str]:
    lines = (DEPLOY / "services" / service / "packages").read_text().splitlines()
    return {name for line in lines if (name := line.partition("#")[0].strip())}


@cache
def in_debian() -> set[str]:
    """Return the images' packages that Debian has, by one query, because each takes a second."""
    names = set().union(*map(packages, SERVICES))
    told = subprocess.run(["apt-cache", "show", *names], capture_output=True, check=False, text=True).stdout
    return set(re.findall(r"^Package: (.+)$", told, re.MULTILINE))


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_is_made_from_debian_packages_and_of_files_that_are_there(service: str) -> None:
    folder = DEPLOY / "services" / service
    recipe = (folder / "Dockerfile").read_text().splitlines()
    assert recipe[0] == f"FROM deadheat/{service}-base"  # our own image, so that no registry is needed
    copied = [word for line in recipe if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert copied
    assert [name for name in copied if not (DEPLOY.parent / name).exists()] == []
    (sent,) = re.findall(r"tar --directory .* -c (.*) \|", (DEPLOY / "services" / "build").read_text())
    assert {Path(name).parts[0] for name in copied} <= set(sent.split()), "only what is named there reaches the engine"
    assert "USER 10001:10001" in recipe
    assert packages(service) <= in_debian()


def test_the_application_has_what_the_wheel_is_built_from() -> None:
    said = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    wheel, licences = said["tool"]["hatch"]["build"]["targets"]["wheel"], said["project"]["license-files"]
    wanted = {Path(name).parts[0] for name in (*wheel["only-include"], *wheel["force-include"], *licences)}
    recipe = (DEPLOY / "services" / "app" / "Dockerfile").read_text()
    assert wanted <= set(re.findall(r"^COPY (\S+) ", recipe, re.MULTILINE))


def test_compose_runs_only_images_of_ours_but_grafana() -> None:
    services = services_of("compose.yml")
    foreign = {name for name, service in services.items() if not service["image"].startswith("deadheat/")}
    assert foreign == {"grafana"}
    assert {service["image"].partition(":")[0].removeprefix("deadheat/") for service in services.values()} >= {
        *SERVICES
    }


def services_of(file: str) -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / file).read_text())["services"]
    return services


def test_every_folder_that_goes_into_an_image_is_there() -> None:
    (named,) = re.findall(r"^    tar .* -c (.*) \|$", (DEPLOY / "services" / "build").read_text(), re.MULTILINE)
    assert [name for name in named.split() if not (DEPLOY.parent / name).exists()] == []


def test_operators_are_told_where_each_file_goes_that_is_not_used_in_its_place() -> None:
    told = (
        (DEPLOY.parent / "docs" / "how-to" / "install-by-hand.md")
        .read_text()
        .partition("## What goes where")[2]
        .partition("\n## ")[0]
    )
    files = [
        f"deploy/{path.relative_to(DEPLOY)}" for name in ("nginx", "postgres") for path in (DEPLOY / name).iterdir()
    ]
    files += [path.name for path in (DEPLOY.parent / "dashboards" / "prometheus").glob("*.yml")]
    files += ["deploy/systemd/env.example", "deploy/systemd/*.service"]
    assert [file for file in files if f"`{file}`" not in told and not file.endswith(".test.yml")] == []
    assert {*re.findall(r"`(DEADHEAT_\w+)`", told)} <= {*re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yml").read_text())}


ROOT = DEPLOY.parent
PLAIN = "deadheat/judge:core"

QUICK = """#!/bin/sh
for last; do case $last in */root.tar) tar -cf "$last" -C / etc/hostname ;; esac; done
"""
"""Assembles a root of one file in place of mmdebstrap's, which takes a minute."""


def known(image: str) -> str:
    """Return an image's id, or "" if the engine has none of this name."""
    found = subprocess.run(["docker", "image", "inspect", "--format={{.Id}}", image], capture_output=True, check=False)
    return found.stdout.decode().strip()


def test_a_recipe_has_a_name_of_its_own_and_other_images_keep_theirs() -> None:
    assert own_image(PLAIN).startswith(f"{PLAIN}-") and own_image(PLAIN) == JUDGE_IMAGE
    assert own_image("deadheat/judge:full").startswith("deadheat/judge:full-")
    for other in (JUDGE_IMAGE, "deadheat/judge:none", "registry.example/judge:core"):
        assert own_image(other) == other


@pytest.mark.containers
def test_a_build_in_another_checkout_leaves_the_image_of_a_league_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("scripts", "deploy/images", "sandbox/images"):
        shutil.copytree(ROOT / part, tmp_path / part)
    with (tmp_path / "sandbox" / "images" / "init.c").open("a") as source:
        source.write(f"/* {tmp_path} */\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mmdebstrap").write_text(QUICK)
    (tmp_path / "bin" / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin")
    ask = f"from images import own_image; print(own_image('{PLAIN}'))"
    theirs = subprocess.check_output([sys.executable, "-c", ask], cwd=tmp_path / "sandbox", text=True).strip()
    before = known(PLAIN), known(JUDGE_IMAGE)
    assert theirs not in {JUDGE_IMAGE, PLAIN} and not known(theirs)
    try:
        run(str(tmp_path / "deploy" / "images" / "build"))
        assert known(theirs) not in {"", *before}
        assert (known(PLAIN), known(JUDGE_IMAGE)) == before
    finally:
        run("docker", "image", "rm", theirs)
