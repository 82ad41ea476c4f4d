"""deploy/images/build in two checkouts on one engine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deadheat.sandbox.images import own_image
from tests.conftest import JUDGE_IMAGE
from tests.deploy.compose import DEPLOY, run

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
