"""Scripts and the example of settings."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from deadheat.league.config import Settings
from tests.conftest import JUDGE_IMAGE
from tests.docs.settings import EXAMPLE, example

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "scripts" / "lib.sh"
NEEDED = "this kernel has AppArmor, and without its parser no container starts: apparmor\n"


def run(tmp_path: Path, script: str) -> str:
    """Return the script's output; its path is `tmp_path`, with `cat` and `dirname`."""
    (tmp_path / "cat").symlink_to("/bin/cat")
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    stub = 'need_packages() { echo "$1: ${*:2}"; return 1; }'
    return subprocess.run(
        ["/bin/bash", "-euc", f"source {LIB}; {stub}; apparmor_enabled={tmp_path}/enabled; {script}; echo on"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("enabled", "parser", "said"), [("Y\n", False, NEEDED), ("Y\n", True, ""), ("N\n", False, ""), (None, False, "")]
)
def test_the_parser_of_apparmor_is_installed_where_the_kernel_has_it_and_nothing_else_has(
    enabled: str | None, parser: bool, said: str, tmp_path: Path
) -> None:
    if enabled is not None:
        (tmp_path / "enabled").write_text(enabled)
    if parser:
        (tmp_path / "apparmor_parser").symlink_to("/bin/true")
    assert run(tmp_path, "need_apparmor_parser") == f"{said}on\n"
    (tmp_path / "cat").unlink()
    (tmp_path / "dirname").unlink()
    stubs = "id() { echo 0; }; engine_answers() { true; }; start_engine() { exit 9; }"
    assert said in run(tmp_path, f"{stubs}; root=/nowhere; ready_engine || true"), "an engine that answers is no excuse"


def test_a_checkout_is_a_distribution_so_that_no_index_is_asked_for_its_name(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "src", "docs", "requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (site_packages,) = environment.glob("lib/*/site-packages")
    backend = {"PYTHONPATH": sysconfig.get_path("purelib")}  # hatchling, which the lock files have

    def script(text: str) -> None:
        command = ["/bin/bash", "-euc", f"source {LIB}; root={tmp_path}; {text}"]
        subprocess.run(command, env={**os.environ, **backend}, check=True)

    def is_satisfied(wanted: str) -> bool:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(environment),
            "install",
            "--no-index",
            "--no-deps",
            "--dry-run",
        ]
        return subprocess.run([*pip, wanted], capture_output=True, check=False).returncode == 0

    script("! is_distribution")
    (site_packages / "deadheat-0.0.1.dist-info").mkdir()  # of an earlier version
    script("add_command; is_distribution")
    assert is_satisfied("deadheat[server]") and not is_satisfied("deadheat==0.0.1")
    assert "Provides-Extra: server" in next(site_packages.glob("deadheat-*.dist-info/METADATA")).read_text()


def test_the_example_shows_every_setting_with_its_default_and_meaning():
    text = EXAMPLE.read_text(encoding="utf-8")
    assert example(text) == text, "python -m tests.docs.settings writes it anew"
    assert text.count("#DEADHEAT_") == len(Settings.model_fields)


def test_the_example_can_be_used_as_it_is(monkeypatch):
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#DEADHEAT_"):
            name, _, value = line[1:].partition("=")
            monkeypatch.setenv(name, value)
    assert Settings() == Settings.model_construct(image=JUDGE_IMAGE)
